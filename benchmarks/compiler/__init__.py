"""How good the compiler is: ``python -m benchmarks.compiler`` measures it and writes the page."""
