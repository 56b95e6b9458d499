"""Run PTX on a CPU, and find its races, deadlocks and stray accesses."""

from __future__ import annotations

from pyptx_sim.arguments import Uninitialised
from pyptx_sim.findings import Finding
from pyptx_sim.result import Result, Statistics
from pyptx_sim.run import run

__all__ = ["Finding", "Result", "Statistics", "Uninitialised", "run"]
