"""Blackwell plugin of pyptx: rows of the instruction table."""

__tracebackhide__ = True
