"""Memory: arenas of bytes, valid addresses, and memory accesses of instructions."""
