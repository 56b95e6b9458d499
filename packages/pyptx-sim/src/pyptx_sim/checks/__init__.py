"""Checkers: they watch a run through `pyptx_sim.observer` and report findings."""

from pyptx_sim.checks.registry import OBSERVERS, RULES

__all__ = ["OBSERVERS", "RULES"]
