"""Reach: what agents read after what they saw, counted over sessions."""
