"""Layouts of matrices in tensor memory, and of moves to and from it: plain data for the simulator and the DSL."""
