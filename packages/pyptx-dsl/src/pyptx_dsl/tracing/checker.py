"""Holding each instruction of a trace against the instruction table.

What has been accepted once is accepted again by its form alone: opcode, types of the registers, shapes of the rest.
Only constants that have limits are looked at, unless a form had the same numbers before.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.errors import InstructionUseError, UnknownInstructionWarning
from pyptx_dsl.origin import user_frame
from pyptx_dsl.tracing.address_faults import refuse_address, remedy
from pyptx_ir.isa.check import Verdict, judgement_on, out_of_range, worded
from pyptx_ir.isa.shapes import shape_of
from pyptx_ir.syntax.operands import Address, Immediate, Register, Vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.isa.limits import Limits
    from pyptx_ir.syntax.nodes import Instruction

# The limits of an instruction's constants, one set for each form that it fits.
Choices: TypeAlias = "tuple[tuple[tuple[int, Limits], ...], ...]"


class AcceptedForm:
    """An accepted form: the limits of its constants, and the numbers, in decimal, that were found inside of them."""

    __slots__ = ("inside", "limits")

    def __init__(self, limits: Choices) -> None:
        """No numbers have been seen."""
        self.limits = limits
        self.inside: set[str] = set()


Forms: TypeAlias = "dict[tuple[object, ...], AcceptedForm]"


class Checker:
    """The checks of one trace. `declared` says what each of its names is, as `pyptx_ir.isa.shapes.shape_of` asks.

    Traces for the same target and version may share `forms`, what has been accepted.
    """

    __slots__ = ("_forms", "declared", "target", "version")

    def __init__(self, target: str, version: tuple[int, int], forms: Forms | None = None) -> None:
        """Start with nothing declared."""
        self.target = target
        self.version = version
        self.declared: dict[str, str] = {}
        self._forms: Forms = {} if forms is None else forms

    def check(self, node: Instruction) -> None:
        """Raise InstructionUseError at the user's line for an instruction that is wrong; warn of an unknown one."""
        declared = self.declared.get
        key: list[object] = [node.opcode]
        numbers, whole = "", True
        for operand in node.operands:
            if type(operand) is Register:
                key.append(declared(operand.name, operand.name))
            elif type(operand) is Immediate and operand.text.isdecimal():
                key.append(0)
                numbers += operand.text + " "
            elif type(operand) is Vector:
                key.append(_vector_key(operand, declared))
                whole = False
            else:
                key.append(shape_of(operand, declared))
                whole = whole and type(operand) is Address
        shape = tuple(key)
        form = self._forms.get(shape)
        if form is None:
            form = self._forms[shape] = AcceptedForm(self._judge(node))
        if form.limits and not (whole and numbers in form.inside):
            verdict = out_of_range(node, form.limits)
            if verdict is not None:
                raise InstructionUseError(verdict.message, hint=verdict.hint)
            if whole:
                form.inside.add(numbers)

    def _judge(self, node: Instruction) -> Choices:
        """Return the limits of the constants of an instruction that is right but for them."""
        refuse_address(node, self.declared.get)
        judgement = judgement_on(node, self.declared.get, self.target, self.version)
        if judgement.diagnostic is None:
            return judgement.limits
        verdict = worded(judgement.diagnostic, node)
        if verdict.severity == "error":
            raise InstructionUseError(verdict.message, hint=remedy(node, verdict, self.declared.get) or verdict.hint)
        _warn(verdict)
        return ()


def _vector_key(vector: Vector, declared: Callable[..., str | None]) -> tuple[object, ...]:
    """Return what a vector's elements are: of registers the type or, undeclared, the name."""
    return tuple(
        [
            declared(each.name, each.name) if type(each) is Register else shape_of(each, declared)
            for each in vector.elements
        ]
    )


def _warn(verdict: Verdict) -> None:
    frame = user_frame()
    message = f"{verdict.message}, and is not checked\nhint: {verdict.hint}"
    if frame is None:
        warnings.warn(message, UnknownInstructionWarning, stacklevel=2)
    else:
        warnings.warn_explicit(message, UnknownInstructionWarning, frame.f_code.co_filename, frame.f_lineno)
