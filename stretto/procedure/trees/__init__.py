"""Tree procedures, the original's kind: at each place of a run a decision tree says which call comes next."""
