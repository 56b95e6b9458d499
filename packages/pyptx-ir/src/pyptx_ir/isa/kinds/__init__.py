"""Kinds of instruction operands, by their names in the instruction table: one `Kind` for each."""
