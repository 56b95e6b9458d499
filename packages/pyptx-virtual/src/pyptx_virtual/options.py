"""Values of options of `pyptx run` and `pytest --pyptx`."""

from __future__ import annotations

import argparse
from typing import Final

from pyptx_sim.exploration import Schedule

_SIZES: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def schedules(count: int) -> tuple[Schedule, ...]:
    """Return `count` schedules: seeds from 0, each with asynchronous operations that complete early, then late."""
    return tuple(Schedule(number // 2, number % 2 == 1) for number in range(count))


def memory_size(text: str) -> int:
    """Return a number of bytes given as `4096`, `512M` or `16G`; raise ArgumentTypeError for any other text."""
    unit = text[-1:].upper() if text[-1:].upper() in _SIZES else ""
    number = text[: len(text) - len(unit)]
    if not number.isdecimal() or not int(number):
        raise argparse.ArgumentTypeError(f"must be a size such as 512M or 16G, got {text!r}")
    return int(number) * _SIZES[unit]
