"""What follows what: steps as symbols, the back-off habit, reach counts, and the concentration they share."""
