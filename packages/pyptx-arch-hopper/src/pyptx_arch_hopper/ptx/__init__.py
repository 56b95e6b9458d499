"""Hopper's additions to `ptx`: one file per chapter of the manual, named like those of `table`."""
