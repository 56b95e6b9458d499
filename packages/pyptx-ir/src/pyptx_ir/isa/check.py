"""Checking one instruction against the table: modifiers, operands, target and version.

An opcode that no row knows passes unchecked, and so does what the chapters list as partly covered. The verdict depends
on the opcode and on the operands' shapes alone, and is computed once for each.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.errors import InstructionError
from pyptx_ir.isa.fitting import Fault, fault_in
from pyptx_ir.isa.matching import match_modifiers, missing_items, unknown_words
from pyptx_ir.isa.patterns import Pattern, compile_row
from pyptx_ir.isa.shapes import Shape, shape_of
from pyptx_ir.isa.table.words import WORDS
from pyptx_ir.isa.targets import TARGETS, find_target, includes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.nodes import Instruction

# What the table describes; a module of a later version may use forms that it does not have yet.
TABLE_VERSION = (9, 0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why an instruction is refused."""

    message: str
    hint: str | None = None
    operand: int | None = None


def check_instruction(
    instruction: Instruction,
    register_type: Callable[[str], str | None],
    target: str,
    version: tuple[int, int],
) -> None:
    """Raise InstructionError if `instruction` is not legal PTX for `target` and `version`.

    `register_type(name)` returns the declared type (`"u32"`) of a register, an empty string for a vector register, and
    None for a name that it does not know.
    """
    shapes = tuple(shape_of(operand, register_type) for operand in instruction.operands)
    verdict = judge(instruction.opcode, shapes, target, version)
    if verdict is None:
        return
    from pyptx_ir.syntax.spelling import spell

    message = verdict.message
    if verdict.operand is not None:
        message = message.replace("{operand}", spell(instruction.operands[verdict.operand]))
    raise InstructionError(message, hint=verdict.hint, operand=verdict.operand)


@functools.lru_cache(maxsize=1 << 16)
def judge(opcode: tuple[str, ...], shapes: tuple[Shape, ...], target: str, version: tuple[int, int]) -> Verdict | None:
    """Return why an instruction of this opcode and these operand shapes is refused, or None."""
    patterns = patterns_of(opcode[0])
    if not patterns or is_partial(opcode):
        return None
    early = _early_word(opcode, target, version)
    if early is not None:
        return early
    matches = [
        (pattern, filled) for pattern in patterns if (filled := match_modifiers(pattern, opcode[1:])) is not None
    ]
    if not matches:
        return None if version > TABLE_VERSION else _misspelt(opcode, patterns)
    available = [match for match in matches if _unavailable(match[0], target, version) is None]
    name = ".".join(opcode)
    if not available:
        return _unavailable(_closest(matches, shapes)[0], target, version, name)
    faults: list[tuple[Fault, Pattern]] = []
    for pattern, filled in available:
        fault = fault_in(pattern, filled, shapes)
        if fault is None:
            return None
        faults.append((fault, pattern))
    fault, pattern = max(faults, key=lambda found: _progress(found[0]))
    return _misused(name, pattern, fault)


@functools.cache
def patterns_of(opcode: str) -> tuple[Pattern, ...]:
    """Return the rows of an instruction, taken apart."""
    from pyptx_ir.plugins.manager import manager

    return tuple(compile_row(row) for row in manager().instructions_of(opcode))


def is_partial(opcode: tuple[str, ...]) -> bool:
    """Tell whether the table knows that it does not know all forms of `opcode`."""
    from pyptx_ir.isa.table.chapters import PARTIAL

    words = set(opcode[1:])
    if any(word.endswith("]") for word in words):
        return True  # the numbered constant banks of PTX before 2.2: ld.const[3]
    return any(opcode[0] == name and words.issuperset(marks) for name, *marks in PARTIAL)


def _closest(
    matches: list[tuple[Pattern, dict[str, str]]], shapes: tuple[Shape, ...]
) -> tuple[Pattern, dict[str, str]]:
    """Prefer, among forms that the target lacks, the one that the operands fit."""
    return next((match for match in matches if fault_in(*match, shapes) is None), matches[0])


def _unavailable(pattern: Pattern, target: str, version: tuple[int, int], name: str | None = None) -> Verdict | None:
    row = pattern.row
    name = name or row.opcode
    if version < row.since:
        return _needs_version(name, row.since, version)
    if row.before and version >= row.before[1] and includes(target, row.before[0]):
        return Verdict(
            f"{name} is gone from {row.before[0]} on; the target is {target}", f"use {row.opcode}.sync, with a mask"
        )
    if row.targets and not any(includes(target, need) for need in row.targets):
        return _needs_target(name, row.targets, target)
    return None


def _early_word(opcode: tuple[str, ...], target: str, version: tuple[int, int]) -> Verdict | None:
    """Return why a word that makes demands whatever the instruction can't be used yet."""
    for word in opcode[1:]:
        since, need = WORDS.get(word, ((1, 0), ""))
        if version < since:
            return _needs_version(f".{word} of {'.'.join(opcode)}", since, version)
        if need and not includes(target, need):
            return _needs_target(f".{word} of {'.'.join(opcode)}", (need,), target)
    return None


def _needs_version(name: str, since: tuple[int, int], version: tuple[int, int]) -> Verdict:
    return Verdict(
        f"{name} needs PTX {since[0]}.{since[1]}; this module is version {version[0]}.{version[1]}",
        f"ask for version=({since[0]}, {since[1]}) or later",
    )


def _needs_target(name: str, targets: tuple[str, ...], target: str) -> Verdict:
    wanted = " or ".join(targets)
    first = find_target(targets[0])
    later = " or later" if first in TARGETS and first.kind != "arch" else ""
    return Verdict(f"{name} needs {wanted}{later}; the target is {target}", f"choose arch={targets[0]!r}")


def _misspelt(opcode: tuple[str, ...], patterns: tuple[Pattern, ...]) -> Verdict:
    words = opcode[1:]
    name = ".".join(opcode)
    best = min(patterns, key=lambda pattern: len(unknown_words(pattern, words)) + len(missing_items(pattern, words)))
    hint = f"the form is {best.row.syntax}"
    unknown = [word for word in words if all(word in unknown_words(pattern, words) for pattern in patterns)]
    if unknown:
        return Verdict(f"{name}: {opcode[0]} has no modifier .{unknown[0]}", _with_values(hint, best))
    unfit = unknown_words(best, words)
    if unfit:
        return Verdict(f"{name}: .{unfit[0]} does not go with the other modifiers", _with_values(hint, best))
    missing = missing_items(best, words)
    if missing:
        choices = " or ".join(f".{word}" for word in sorted(missing[0].words)[:6])
        return Verdict(f"{name} lacks a modifier: {choices}", hint)
    return Verdict(f"{name}: these modifiers do not go together, or not in this order", _with_values(hint, best))


def _with_values(hint: str, pattern: Pattern) -> str:
    slots = [f".{name} is {' '.join(values)}" for name, values in pattern.row.slots]
    return "; ".join([hint, *slots])


def _misused(name: str, pattern: Pattern, fault: Fault) -> Verdict:
    hint = f"the form is {pattern.row.syntax}"
    if fault.operand is None:
        return Verdict(f"{name} {fault.message}; it takes {fault.wanted}", hint)
    ordinal = f"operand {fault.operand + 1} of {name}"
    return Verdict(f"{ordinal}, `{{operand}}`, is {fault.message}; it must be {fault.wanted}", hint, fault.operand)


def _progress(fault: Fault) -> int:
    """Rank faults: the form whose operands fit the longest is the one that was meant."""
    return -1 if fault.operand is None else fault.operand
