"""Round-trip properties L1 and L2 of one module, with their run time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyptx_ir.syntax import PtxSyntaxError, decode, emit, parse, spell


@dataclass(frozen=True, slots=True)
class Outcome:
    """Round-trip result of a module: the fault (`""` if none), and the seconds of parsing and emitting."""

    fault: str
    parsing: float
    emitting: float


def judge(data: bytes, name: str) -> Outcome:
    """Check `emit(parse(text)) == text` (L1) and `parse(spell(tree)) == tree` (L2) for one module."""
    text = decode(data)
    started = time.perf_counter()
    try:
        tree = parse(text, name)
    except PtxSyntaxError as error:
        return Outcome(f"does not parse: {error}", time.perf_counter() - started, 0.0)
    parsed = time.perf_counter()
    again = emit(tree)
    emitted = time.perf_counter()
    fault = "" if again == text else f"L1: {first_difference(text, again)}"
    if not fault:
        canonical = spell(tree)
        try:
            fault = "" if parse(canonical, name) == tree else "L2: the canonical text parses to a different tree"
        except PtxSyntaxError as error:
            fault = f"L2: the canonical text does not parse: {error}"
    return Outcome(fault, parsed - started, emitted - parsed)


def first_difference(text: str, other: str) -> str:
    """Return the first line that differs between two texts, in both versions."""
    lines, others = text.split("\n"), other.split("\n")
    for number, (line, changed) in enumerate(zip(lines, others, strict=False), 1):
        if line != changed:
            return f"line {number}: {line[:120]!r} became {changed[:120]!r}"
    return f"{len(lines)} lines became {len(others)}"
