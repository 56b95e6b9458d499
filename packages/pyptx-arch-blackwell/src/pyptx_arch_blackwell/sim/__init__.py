"""Blackwell's simulator extension, based on `pyptx_sim.extension` only."""
