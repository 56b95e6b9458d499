"""Tensor maps, the descriptor kind of TMA: their fields for a Tile, their records, and the C code that encodes them."""
