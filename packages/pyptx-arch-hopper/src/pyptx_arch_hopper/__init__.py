"""Hopper's part of pyptx, a plugin: rows of the instruction table."""

__tracebackhide__ = True
