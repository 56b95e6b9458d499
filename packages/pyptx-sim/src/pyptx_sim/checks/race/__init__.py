"""The race checker of warps, and what it knows."""
