"""Write PTX kernels as Python functions: one call, one instruction."""

__tracebackhide__ = True
