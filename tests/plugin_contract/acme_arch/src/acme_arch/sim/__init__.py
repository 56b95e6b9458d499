"""Simulator extension of acme_1; only the simulator imports it."""
