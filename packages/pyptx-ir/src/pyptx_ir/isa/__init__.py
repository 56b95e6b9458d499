"""Targets and instruction rows: data, not code."""
