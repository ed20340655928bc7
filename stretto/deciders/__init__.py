"""Deciders: which lookup to make, or none."""
