"""How well the compiler finds what depends on what: ``python -m benchmarks.compiler`` measures it and writes the page."""
