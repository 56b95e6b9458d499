"""Runs of a program on the simulator, compared with the reference implementation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim import run

from .ordering import UndefinedError
from .printing import ptx
from .programs import VARIABLES
from .reference import Outcome, outcome
from .warp_statements import UNDEFINED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .programs import Program

STEP_LIMIT: Final = 50_000
Schedule = tuple[int, bool]


def schedules(number: int, count: int) -> tuple[Schedule, ...]:
    """Return `count` schedules: in order, with delayed completion, and random ones, every third one delayed."""
    first = ((0, False), (0, True))
    rest = tuple((1 + number * 7 + turn, turn % 3 == 2) for turn in range(count))
    return (*first, *rest)[:count] if count > 3 else ((0, bool(number % 2)), *rest)[:count]


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing schedule, and the difference of its results from those of the reference implementation."""

    schedule: Schedule
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"seed {self.schedule[0]}{', late' * self.schedule[1]}: {self.kind}: {self.detail}"


def failure(program: Program, those: Sequence[Schedule], expected: Outcome | None = None) -> Failure | None:
    """Return the first failure of a program under these schedules, or None."""
    expected = expected or outcome(program)
    text, inputs = ptx(program), np.array(program.inputs(), np.uint32)
    for schedule in those:
        found = _compared(program, text, inputs, schedule, expected)
        if found is not None:
            return found
    return None


def fails_alike(program: Program, found: Failure) -> bool:
    """Return whether a program fails with the kind of `found`; for "missed", the results must be undefined."""
    try:
        expected = outcome(program)
    except UndefinedError:
        return False
    other = failure(program, [found.schedule], expected) if expected.defined == (found.kind != "missed") else None
    return other is not None and other.kind == found.kind


def lines_of(text: str, register: str) -> list[int]:
    """Return the numbers of the lines of a text that name a register."""
    return [number for number, line in enumerate(text.splitlines(), 1) if f"%{register}" in line]


def _compared(program: Program, text: str, inputs: np.ndarray, schedule: Schedule, expected: Outcome) -> Failure | None:
    out = np.zeros((len(inputs), len(VARIABLES)), np.uint32)
    memory = np.zeros(program.memory, np.uint32)
    seed, delay_async = schedule
    try:
        result = run(
            *(text,), grid=program.ctas, block=program.threads, args=[inputs, out, memory], step_limit=STEP_LIMIT,
            seed=seed, delay_async=delay_async,
        )  # fmt: skip
    except Exception as error:  # noqa: BLE001 - whatever it raises is a fault of the simulator
        return Failure(schedule, "raises", f"{type(error).__name__}: {error}")
    wrong = _differences("result", expected.results, out.tolist()) + _differences(
        "memory", [[word] for word in expected.memory], [[word] for word in memory.tolist()]
    )
    said = [each for each in result.findings if each.severity != "note"]
    if wrong:
        return Failure(schedule, "wrong", f"{wrong[0]}, and {len(wrong) - 1} more; findings: {[f.rule for f in said]}")
    lines = [] if expected.defined else lines_of(text, UNDEFINED)
    found = [each for each in said if each.line in lines and each.severity == "error"]
    others = [each for each in said if each not in found]
    if others:
        return Failure(schedule, "finding", str(others[0]))
    return None if expected.defined or found else Failure(schedule, "missed", "no finding at the undefined read")


def _differences(what: str, expected: Sequence[Sequence[int | None]], got: Sequence[Sequence[int]]) -> list[str]:
    return [
        f"{what} {row}[{at}] is {is_}, not {want}"
        for row, (wanted, had) in enumerate(zip(expected, got, strict=True))
        for at, (want, is_) in enumerate(zip(wanted, had, strict=True))
        if want is not None and want != is_
    ]
