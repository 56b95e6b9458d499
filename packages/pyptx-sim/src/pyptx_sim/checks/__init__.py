"""Checkers: they watch a run through `pyptx_sim.observer` and report findings."""

from pyptx_sim.checks.races import RACE_RULES, RaceChecker

OBSERVERS = (RaceChecker,)
RULES = RACE_RULES

__all__ = ["OBSERVERS", "RULES", "RaceChecker"]
