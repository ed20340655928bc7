"""Recorded sessions: read from logs, exports and results files, held as episodes."""
