"""`make bench-peers`: the same queries here, in DuckDB and in Flink SQL, in turns in one run."""
