"""Rows of the benchmarks: a file per subject, each with its `CASES`."""
