"""Memory: byte arrays (arenas) of the state spaces, valid addresses, and memory accesses of instructions."""
