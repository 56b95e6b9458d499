"""Blackwell plugin of pyptx: instruction table, `ptx` functions, simulator semantics and transpiler rules."""

__tracebackhide__ = True
