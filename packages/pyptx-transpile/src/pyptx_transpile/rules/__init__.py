"""Rewrite rules of the transpiler, one file for each kind; `table` has the order in which they run."""
