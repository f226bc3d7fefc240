"""Aggregates that are classes in Python: their code, what they keep, and how their methods run."""
