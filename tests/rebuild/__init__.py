"""Everything that a compiler writes can be written by hand: PTX trees are printed as Python, rebuilt, compared."""
