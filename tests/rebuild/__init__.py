"""Everything that a compiler writes can be written by hand: trees are printed as Python, run, and compared."""
