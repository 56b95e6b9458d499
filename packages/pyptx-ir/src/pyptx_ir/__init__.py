"""The core of pyptx: syntax tree, targets, instruction table, plugins, toolchain."""

__tracebackhide__ = True
