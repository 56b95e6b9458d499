"""Rewrite rules, one file for each kind; `table` has their order."""
