"""Registers: what they are, what operators on them emit, and how values become operands."""
