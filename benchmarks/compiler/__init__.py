"""How well the compiler finds what depends on what: ``python -m benchmarks.compiler`` measures and writes the page."""
