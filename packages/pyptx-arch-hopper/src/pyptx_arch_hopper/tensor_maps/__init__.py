"""Tensor maps as kernel arguments: fields for a Tile, JSON in kernel bundles, and C code that encodes a map."""
