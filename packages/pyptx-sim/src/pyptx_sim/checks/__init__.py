"""Checkers of runs, and the rules of ordinary PTX. `RaceChecker` may report rules of plugins as well."""

from pyptx_sim.checks.race.races import RaceChecker

__all__ = ["RaceChecker"]
