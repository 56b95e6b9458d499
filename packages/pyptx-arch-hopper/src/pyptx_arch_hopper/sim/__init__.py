"""Hopper's simulator extension; only the simulator loads it."""
