"""Contract of a kernel: its arrays, its parameters, and its launch."""
