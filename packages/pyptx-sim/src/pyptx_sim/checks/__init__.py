"""Checkers: they watch a run through `pyptx_sim.observer` and report findings."""
