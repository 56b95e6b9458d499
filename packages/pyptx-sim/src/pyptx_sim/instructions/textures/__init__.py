"""Textures and surfaces. Manual: "Texture Instructions", "Surface Instructions"."""
