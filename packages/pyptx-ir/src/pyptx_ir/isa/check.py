"""Check one instruction against the instruction table: modifiers, operands, constants, target and version.

Apart from the values of constants, the result depends only on the opcode and the operand shapes, by which it is
cached. `pyptx_ir.isa.modules` checks whole files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.constant_values import constant_value, fault_of_integer
from pyptx_ir.isa.errors import InstructionError
from pyptx_ir.isa.fitting import fault_in, limits_in
from pyptx_ir.isa.form_diagnostics import (
    MODIFIER,
    FormDiagnostic,
    lives_elsewhere,
    misspelt,
    misused,
    unavailable,
    unknown,
    unready_register,
    unready_unified,
    unready_word,
)
from pyptx_ir.isa.matching import match_modifiers
from pyptx_ir.isa.patterns import Pattern, compile_row
from pyptx_ir.isa.shapes import Shape, shape_of
from pyptx_ir.plugins.caches import until_plugins_change
from pyptx_ir.syntax.operands import Immediate, Register, Vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.isa.fitting import OperandFault
    from pyptx_ir.isa.limits import Limits
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand

# PTX version that the instruction table describes; a module of a later version may use forms that the table lacks.
TABLE_VERSION = (9, 5)

# Matching takes more than quadratic time in the number of modifiers; the longest opcodes in tests/oracle/forms have 17.
MOST_WORDS = 64

IMMEDIATE_RANGE = "immediate-range"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An error of an instruction.

    `code` is the class of the fault, `operand` the index of the faulty operand, if any. `severity` is `"error"`, or
    `"warning"` for an instruction not in the table. `in_file` is the help for authors of PTX, used if `help` refers to
    the Python of a kernel.
    """

    code: str
    message: str
    help: str | None = None
    operand: int | None = None
    severity: str = "error"
    in_file: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """Result for opcode and operand shapes: a diagnostic, or the limits of constant operands.

    There is one set of limits for each form that opcode and operands match: the constants must satisfy one set.
    `limits` is empty if one of those forms accepts any constants.
    """

    diagnostic: FormDiagnostic | None
    limits: tuple[tuple[tuple[int, Limits], ...], ...] = ()


def check_instruction(
    instruction: Instruction,
    declared: Callable[[str], str | None],
    target: str,
    version: tuple[int, int],
) -> None:
    """Raise InstructionError if `instruction` is not legal PTX for `target` and `version`.

    An instruction that is not in the instruction table passes; use `verdict_on` to detect it. `declared` is as in
    `shape_of`.
    """
    verdict = verdict_on(instruction, declared, target, version)
    if verdict is not None and verdict.severity == "error":
        raise InstructionError(verdict.message, help=verdict.help, operand=verdict.operand, code=verdict.code)


def verdict_on(
    instruction: Instruction,
    declared: Callable[[str], str | None],
    target: str,
    version: tuple[int, int],
    address_size: int = 64,
) -> Verdict | None:
    """Return the error of `instruction` on `target` in PTX `version`, or None; `declared` is as in `shape_of`."""
    return verdict_by(judgement_on(instruction, declared, target, version, address_size), instruction)


def verdict_by(judgement: Judgement, instruction: Instruction) -> Verdict | None:
    """Return the `Verdict` on an instruction from the `Judgement` on its shapes and the values of its constants."""
    if judgement.diagnostic is not None:
        return worded(judgement.diagnostic, instruction)
    return out_of_range(instruction, judgement.limits) if judgement.limits else None


def judgement_on(
    instruction: Instruction,
    declared: Callable[[str], str | None],
    target: str,
    version: tuple[int, int],
    address_size: int = 64,
) -> Judgement:
    """Check all of `instruction` except the values of constants; `declared` is as in `shape_of`."""
    shapes = tuple([shape_of(operand, declared) for operand in instruction.operands])
    judgement = judge(instruction.opcode, shapes, target, version, address_size)
    if judgement.diagnostic is not None:
        return judgement
    for index, (operand, shape) in enumerate(zip(instruction.operands, shapes, strict=True)):
        if shape[0] == "special" and isinstance(operand, Register):
            early = unready_register(operand.name, index, target, version)
            if early is not None:
                return Judgement(early)
        if shape[0] == "unified" and (early := unready_unified(instruction.opcode, target, version)):
            return Judgement(early)
    return judgement


def out_of_range(instruction: Instruction, choices: tuple[tuple[tuple[int, Limits], ...], ...]) -> Verdict | None:
    """Return an error on the last excluded constant, if each set of limits in `choices` excludes a constant."""
    outside: list[tuple[int, Limits, str]] = []
    for limits in choices:
        for index, limit in limits:
            fault = _fault(instruction.operands[index], limit)
            if fault is not None:
                outside.append((index, *fault))
                break
        else:
            return None
    index, limit, value = max(outside, key=lambda each: each[0])
    name = ".".join(instruction.opcode)
    message = f"operand {index + 1} of {name}, `{value}`, is out of range; it must be {limit}"
    return Verdict(IMMEDIATE_RANGE, message, operand=index)


def _fault(operand: Operand, limit: Limits) -> tuple[Limits, str] | None:
    """Return the limits that a constant exceeds, and the constant's text; for a vector, of its first such element.

    A literal without a value, such as one of more than 64 bits, exceeds all limits.
    """
    if isinstance(operand, Vector):
        faults = (_fault(part, own) for part, own in zip(operand.elements, limit.elements, strict=True))
        return next((fault for fault in faults if fault is not None), None)
    value = constant_value(operand)
    if value is None and isinstance(operand, Immediate) and fault_of_integer(operand.text):
        return limit, operand.text
    return None if value is None or limit.allow(value) else (limit, str(value))


def worded(diagnostic: FormDiagnostic, instruction: Instruction) -> Verdict:
    """Return a diagnostic as the `Verdict` on one instruction, with the faulty operand's text in the message."""
    message = diagnostic.message
    if diagnostic.operand is not None:
        from pyptx_ir.syntax.spelling import spell

        message = message.replace("{operand}", spell(instruction.operands[diagnostic.operand]))
    return Verdict(
        diagnostic.code, message, diagnostic.help, diagnostic.operand, diagnostic.severity, diagnostic.in_file
    )


@until_plugins_change(maxsize=1 << 16)
def judge(
    opcode: tuple[str, ...], shapes: tuple[Shape, ...], target: str, version: tuple[int, int], address_size: int = 64
) -> Judgement:
    """Check an instruction with this opcode and these operand shapes; `address_size` is in bits."""
    if not _rows_of(opcode[0]):
        return Judgement(unknown(opcode))
    if len(opcode) > MOST_WORDS:
        message = f"too many modifiers: {opcode[0]} has {len(opcode) - 1}, no instruction has {MOST_WORDS}"
        return Judgement(FormDiagnostic(MODIFIER, message, "remove modifiers that are not in the manual"))
    if names_a_bank(opcode):
        return Judgement(None)
    matches = forms_of(opcode)
    if not matches:
        beyond = version > TABLE_VERSION or lives_elsewhere(opcode, patterns_of(opcode[0]))
        return Judgement(unknown(opcode) if beyond else _misspelt(opcode))
    early = unready_word(opcode, target, version)
    if early is not None:
        return Judgement(early)
    available = [match for match in matches if unavailable(match[0].row, opcode, target, version) is None]
    if not available:
        closest = _fitting(matches, shapes, address_size) or matches[0][0]
        return Judgement(unavailable(closest.row, opcode, target, version))
    faults = [(fault_in(pattern, filled, shapes, address_size), pattern, filled) for pattern, filled in available]
    fits = [(pattern, filled) for fault, pattern, filled in faults if fault is None]
    if fits:
        limits = tuple(limits_in(pattern, filled, shapes) for pattern, filled in fits)
        return Judgement(None, () if () in limits else limits)
    meant = _fitting(matches, shapes, address_size)
    if meant is not None:  # only instruction forms of other targets or PTX versions accept these operands
        return Judgement(unavailable(meant.row, opcode, target, version))
    found = [(fault, pattern) for fault, pattern, _ in faults if fault is not None]
    fault, pattern = max(found, key=lambda each: _progress(each[0]))
    return Judgement(misused(opcode, pattern, fault))


@until_plugins_change(maxsize=1 << 12)
def forms_of(opcode: tuple[str, ...]) -> list[tuple[Pattern, dict[str, str]]]:
    """Return the instruction rows that have this opcode as a form, each with the modifiers that fill its slots."""
    words = opcode[1:]
    meant = (compile_row(row) for row in _rows_of(opcode[0]) if _may_hold(row, words))
    found = ((pattern, match_modifiers(pattern, words)) for pattern in meant)
    return [(pattern, filled) for pattern, filled in found if filled is not None]


def _may_hold(row: InstructionRow, words: tuple[str, ...]) -> bool:
    """Return whether an instruction row has all these modifiers: a quick filter, so that few rows are compiled."""
    syntax, slots = row.syntax, row.slots
    return all(word in syntax or any(word in choices for _, choices in slots) for word in words)


@until_plugins_change(maxsize=1 << 12)
def _misspelt(opcode: tuple[str, ...]) -> FormDiagnostic:
    return misspelt(opcode, patterns_of(opcode[0]))


@until_plugins_change()
def patterns_of(opcode: str) -> tuple[Pattern, ...]:
    """Return the compiled rows of the instruction table for an instruction's opcode."""
    return tuple(compile_row(row) for row in _rows_of(opcode))


@until_plugins_change()
def _rows_of(opcode: str) -> tuple[InstructionRow, ...]:
    from pyptx_ir.plugins.manager import manager

    return manager().instructions_of(opcode)


def names_a_bank(opcode: tuple[str, ...]) -> bool:
    """Return whether a modifier is a numbered constant bank of PTX before 2.2, absent from the table."""
    return any(word.endswith("]") for word in opcode[1:])  # such as `ld.const[3]`, which loads from constant bank 3


def _fitting(
    matches: list[tuple[Pattern, dict[str, str]]], shapes: tuple[Shape, ...], address_size: int
) -> Pattern | None:
    """Return the first form of the opcode that the operands match, regardless of its target and version."""
    fitting = (pattern for pattern, filled in matches if fault_in(pattern, filled, shapes, address_size) is None)
    return next(fitting, None)


def _progress(fault: OperandFault) -> int:
    """Return the rank of a form's fault, its operand index: the form with the highest rank is assumed to be meant."""
    return -1 if fault.operand is None else fault.operand
