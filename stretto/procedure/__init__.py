"""Procedures: whole tasks, writes included, that run without a model: file, engine, router, and the tree kind."""
