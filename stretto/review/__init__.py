"""Reviewing flows: pure functions that return data, each with a renderer."""
