"""What the library saves on recorded sessions: ``python -m benchmarks.results`` measures it and writes the page."""
