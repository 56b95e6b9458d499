"""Registers: Python handles, the PTX that their operators emit, and conversion of Python values to operands."""
