"""Executable axioms of the memory model, for small programs: the reference with which tests compare the checker."""
