"""Corpus kernels with inputs and independent references: the rows of `test_compiled_kernels`."""
