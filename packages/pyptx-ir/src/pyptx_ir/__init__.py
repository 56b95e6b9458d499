"""The core of pyptx: syntax tree, targets and instruction rows, plugins, toolchain."""

__tracebackhide__ = True
