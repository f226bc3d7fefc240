"""Millstream: continuous queries on Spark, in one language."""
