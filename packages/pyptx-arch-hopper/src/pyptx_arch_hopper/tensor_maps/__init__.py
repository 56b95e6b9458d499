"""Tensor maps as kernel arguments: fields for a Tile, records in bundles, and C code that encodes a map."""
