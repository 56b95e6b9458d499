"""Write PTX kernels as Python functions: one call emits one instruction."""

__tracebackhide__ = True
