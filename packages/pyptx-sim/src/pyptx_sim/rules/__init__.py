"""Checkers of simulated runs, and the checker rules of base PTX; `RaceChecker` also reports rules of plugins."""

from pyptx_sim.rules.races import RaceChecker

__all__ = ["RaceChecker"]
