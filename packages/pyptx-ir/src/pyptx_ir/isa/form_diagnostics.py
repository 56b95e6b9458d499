"""Messages for rejected instructions: the fault, and the closest valid form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyptx_ir.isa.matching import match_modifiers, missing_items, unknown_words
from pyptx_ir.isa.patterns import compile_row
from pyptx_ir.isa.special_registers import special_register_rows
from pyptx_ir.isa.table.words import WORDS
from pyptx_ir.isa.target_rows import TARGETS
from pyptx_ir.isa.targets import includes
from pyptx_ir.plugins.caches import until_plugins_change
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.suggestions import close_names

if TYPE_CHECKING:
    from pyptx_ir.isa.fitting import OperandFault
    from pyptx_ir.isa.patterns import Pattern
    from pyptx_ir.isa.rows import InstructionRow

UNKNOWN_INSTRUCTION = "unknown-instruction"
MODIFIER = "modifier"
MISSING_MODIFIER = "missing-modifier"
TARGET = "target"
VERSION = "version"
REMOVED = "removed"

_MOST_CHOICES = 6  # maximum number of modifiers listed in a help text


@dataclass(frozen=True, slots=True)
class FormDiagnostic:
    """Reason for which instructions of one opcode and one list of operand shapes are rejected.

    `{operand}` in the message is replaced by the text of operand number `operand`. `in_file` is the help for authors of
    PTX, used if `help` refers to the Python of a kernel.
    """

    code: str
    message: str
    help: str | None = None
    operand: int | None = None
    severity: str = "error"
    in_file: str | None = None


def unknown(opcode: tuple[str, ...]) -> FormDiagnostic:
    """Return the warning for an instruction that no row of the instruction table describes."""
    from pyptx_ir.plugins.homes import home_of_instruction, install_hint

    message = f"{'.'.join(opcode)} is not in the instruction table"
    home = home_of_instruction(opcode)
    if home is not None:
        help = f"install {home}, which provides it: {install_hint(home)}"
        return FormDiagnostic(UNKNOWN_INSTRUCTION, message, help, severity="warning")
    close = close_names(opcode[0], _known_opcodes(), most=1)
    meant = f"did you mean {close[0]}? " if close else ""
    return FormDiagnostic(
        UNKNOWN_INSTRUCTION,
        message,
        f"{meant}for an instruction that only ptxas knows, use ptx.raw, which is not checked",
        severity="warning",
        in_file=f"{meant}in a Python kernel, use ptx.raw for an instruction that only ptxas knows; it is not checked",
    )


@until_plugins_change()
def _known_opcodes() -> tuple[str, ...]:
    from pyptx_ir.plugins.manager import manager

    return tuple(sorted({row.opcode for row in manager().instructions()}))


def unknown_hint(opcode: tuple[str, ...]) -> str | None:
    """Return help for an instruction whose name is not in the instruction table; None if it is."""
    from pyptx_ir.plugins.manager import manager

    if manager().instructions_of(opcode[0]):
        return None
    return unknown(opcode).help


def lives_elsewhere(opcode: tuple[str, ...], patterns: tuple[Pattern, ...]) -> bool:
    """Return whether the opcode belongs to a pyptx package that is not installed: `patterns` has none of its rows."""
    from pyptx_ir.plugins.homes import words_of_home

    key = words_of_home(opcode)
    _, _, word = key.partition(" .")
    if word:
        return not any(word in item.words for pattern in patterns for item in pattern.items)
    return bool(key) and not any(pattern.row.syntax.startswith(key) for pattern in patterns)


def unavailable(
    row: InstructionRow, opcode: tuple[str, ...], target: str, version: tuple[int, int]
) -> FormDiagnostic | None:
    """Return why the forms of an instruction row are unavailable for this target or version, or None."""
    if row.before and version >= max(row.since, row.before[1]) and includes(target, row.before[0]):
        return _removed(row, opcode, row.before, target)
    return _unready(".".join(opcode), row.since, row.targets, target, version)


def _removed(
    row: InstructionRow, opcode: tuple[str, ...], before: tuple[str, tuple[int, int]], target: str
) -> FormDiagnostic:
    """Return the PTX version or target that removed a form, and the replacement of the form."""
    name = ".".join(opcode)
    first, (major, minor) = before
    if ".sync" not in row.syntax:
        message = f"{name} was removed in {first}; the target is {target}"
        return FormDiagnostic(REMOVED, message, f"use {row.opcode}.sync with a membermask")
    from pyptx_ir.plugins.manager import manager

    today = tuple(compile_row(other) for other in manager().instructions_of(row.opcode) if not other.before)
    return FormDiagnostic(REMOVED, f"{name} was removed in PTX {major}.{minor}", misspelt(opcode, today).help)


def unready_word(opcode: tuple[str, ...], target: str, version: tuple[int, int]) -> FormDiagnostic | None:
    """Return why this target or version lacks one of the opcode's modifiers (see `WORDS`), or None."""
    for word in opcode[1:]:
        since, need = WORDS.get(word, ((1, 0), ""))
        found = _unready(f".{word} of {'.'.join(opcode)}", since, tuple(need.split()), target, version)
        if found is not None:
            return found
    return None


def unready_unified(opcode: tuple[str, ...], target: str, version: tuple[int, int]) -> FormDiagnostic | None:
    """Return why this target or version lacks `[a].unified`, or None. Manual: the notes at the end of ld."""
    return _unready(f".unified of {'.'.join(opcode)}", (8, 0), ("sm_90",), target, version)


def unready_register(name: str, operand: int, target: str, version: tuple[int, int]) -> FormDiagnostic | None:
    """Return why this target or version lacks the special register `name` in operand number `operand`, or None."""
    rows = special_register_rows()
    row = rows.get(name) or rows[f"{name}.x"]  # vectors such as %tid have rows for their components only
    diagnostic = _unready(name, row.since, (row.target,) if row.target else (), target, version)
    return diagnostic and replace(diagnostic, operand=operand)


def _unready(
    name: str, since: tuple[int, int], targets: tuple[str, ...], target: str, version: tuple[int, int]
) -> FormDiagnostic | None:
    """Return why `name` is unavailable, or None; the message has both target and version if both are wrong."""
    lacks_target = bool(targets) and not any(includes(target, need) for need in targets)
    wanted = _needs_target(name, targets, target) if lacks_target else None
    if version >= since:
        return wanted
    least, have = (f"{each[0]}.{each[1]}" for each in (since, version))
    if wanted is None:
        return FormDiagnostic(
            VERSION,
            f"{name} needs PTX {least}; this module is version {have}",
            f"pass version=({since[0]}, {since[1]}) or later",
            in_file=f"write .version {least} or later",
        )
    return replace(
        wanted,
        code=VERSION,
        message=f"{name} needs PTX {least} and {_listed(targets)}; this module is version {have}, the target {target}",
        help=f"{wanted.help}, and version=({since[0]}, {since[1]}) or later",
        in_file=f"{wanted.in_file}, and .version {least} or later",
    )


def _needs_target(name: str, targets: tuple[str, ...], target: str) -> FormDiagnostic:
    message = f"{name} needs {_listed(targets)}; the target is {target}"
    fitting = _sibling(targets, target) or targets[0]
    return FormDiagnostic(TARGET, message, f"pass arch={fitting!r}", in_file=f"write .target {fitting}")


def _listed(targets: tuple[str, ...]) -> str:
    """Return the targets that have a form, as text: `sm_90 or later`, `sm_90a or sm_100a`."""
    first = find_target(targets[0])
    return " or ".join(targets) + (" or later" if first in TARGETS and first.kind == "plain" else "")


def _sibling(targets: tuple[str, ...], target: str) -> str | None:
    """Return a target of the same device that supports a form: sm_90a for sm_90."""
    number = find_target(target).number
    same = [row.name for row in TARGETS if row.number == number and row.name != target]
    return next((name for name in same if any(includes(name, need) for need in targets)), None)


def misspelt(opcode: tuple[str, ...], patterns: tuple[Pattern, ...]) -> FormDiagnostic:
    """Return which modifier is unknown, misplaced or missing, compared with the closest instruction row."""
    words = opcode[1:]
    name = ".".join(opcode)
    best = min(patterns, key=lambda pattern: len(unknown_words(pattern, words)) + len(missing_items(pattern, words)))
    form = f"use the form {best.row.syntax}"
    known = frozenset[str]().union(*(pattern.vocabulary for pattern in patterns))
    unknown_everywhere = [word for word in words if word not in known]
    if unknown_everywhere:
        close = close_names(unknown_everywhere[0], sorted(known), most=1)
        meant = f"did you mean .{close[0]}? " if close else ""
        message = f"{name}: {opcode[0]} has no modifier .{unknown_everywhere[0]}"
        return FormDiagnostic(MODIFIER, message, meant + _with_values(form, best))
    completions = _completions(opcode, patterns)
    if completions is not None:
        lacking, pattern = completions
        return _lacking(name, lacking, f"use the form {pattern.row.syntax}")
    unfit = unknown_words(best, words)
    if unfit:
        message = f"{name}: .{unfit[0]} cannot be combined with the other modifiers"
        return FormDiagnostic(MODIFIER, message, _with_values(form, best))
    missing = missing_items(best, words)
    if missing:
        return _lacking(name, sorted(missing[0].words), form)
    message = f"{name}: invalid combination or order of modifiers"
    return FormDiagnostic(MODIFIER, message, _with_values(form, best))


def _completions(opcode: tuple[str, ...], patterns: tuple[Pattern, ...]) -> tuple[list[str], Pattern] | None:
    """Return the modifiers of which any one completes an incomplete opcode, and the form that it completes."""
    words = opcode[1:]
    for pattern in patterns:
        if unknown_words(pattern, words):
            continue
        for item in pattern.items:
            places = [(word, at) for word in sorted(item.words - set(words)) for at in range(len(words) + 1)]
            whole = [
                word for word, at in places if match_modifiers(pattern, (*words[:at], word, *words[at:])) is not None
            ]
            if whole:
                return list(dict.fromkeys(whole)), pattern
    return None


def _lacking(name: str, choices: list[str], form: str) -> FormDiagnostic:
    more = " or …" if len(choices) > _MOST_CHOICES else ""
    listed = " or ".join(f".{word}" for word in choices[:_MOST_CHOICES]) + more
    return FormDiagnostic(MISSING_MODIFIER, f"{name} lacks a modifier: {listed}", form)


def _with_values(form: str, pattern: Pattern) -> str:
    slots = [f".{name} is {' '.join(values)}" for name, values in pattern.row.slots]
    return "; ".join([form, *slots])


def misused(opcode: tuple[str, ...], pattern: Pattern, fault: OperandFault) -> FormDiagnostic:
    """Return the diagnostic for an operand that the instruction row `pattern` does not accept."""
    name = ".".join(opcode)
    help = f"use the form {pattern.row.syntax}"
    if fault.operand is None:
        return FormDiagnostic(fault.code, f"{name} {fault.message}; it takes {fault.wanted}", help)
    ordinal = f"operand {fault.operand + 1} of {name}"
    message = f"{ordinal}, `{{operand}}`, is {fault.message}; it must be {fault.wanted}"
    return FormDiagnostic(fault.code, message, help, fault.operand)
