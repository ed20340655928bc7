"""What flows save on recorded sessions: ``python -m benchmarks.flows`` measures it and writes the page."""
