"""Kinds of operands: one row per kind, by its name in the instruction table."""
