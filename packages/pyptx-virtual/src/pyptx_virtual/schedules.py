"""Schedules of the launches of the virtual device."""

from __future__ import annotations

from pyptx_sim.exploration import Schedule


def schedules(count: int) -> tuple[Schedule, ...]:
    """Return `count` schedules: seeds from 0, each with asynchronous operations that complete early, then late."""
    return tuple(Schedule(number // 2, number % 2 == 1) for number in range(count))
