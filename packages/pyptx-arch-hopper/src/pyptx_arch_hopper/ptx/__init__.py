"""Hopper's functions in `ptx`: one module per chapter of the manual, named like the modules of `table`."""
