"""Tensor maps, the kind of descriptor that TMA reads: of which Tile, in which record, and how a C program makes one."""
