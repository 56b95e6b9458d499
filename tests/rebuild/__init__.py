"""The law that anything which a compiler writes can be written by hand: trees printed as Python, run, and compared."""
