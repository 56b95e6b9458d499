"""Registers: handles, the PTX that their operators emit, and conversion of values to operands."""
