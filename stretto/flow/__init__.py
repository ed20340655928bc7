"""The flow: what was learned from sessions, as a value, as a file, and as a program that runs."""
