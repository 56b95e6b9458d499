"""Which checkers there are, and the rules that they report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_sim.checks.races import RACE_RULES, RaceChecker

if TYPE_CHECKING:
    from pyptx_sim.observer import ObserverFactory

OBSERVERS: tuple[ObserverFactory, ...] = (RaceChecker,)
RULES: frozenset[str] = RACE_RULES
