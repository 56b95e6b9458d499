"""Lowering of modules to a program: resolve names, place variables, form basic blocks. Nothing is executed."""
