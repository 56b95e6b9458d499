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
from pyptx_ir.plugins.caches import until_plugins_change
from pyptx_ir.syntax.operands import Address, Immediate, Register, Vector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyptx_dsl.registers.handle import NumberedNames
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


Shape: TypeAlias = "tuple[object, ...]"
Forms: TypeAlias = "dict[Shape, AcceptedForm]"

_MOST_NUMBERS = 1 << 12
"""So many numbers are remembered of a form, which lives as long as the process."""


@until_plugins_change()
def _accepted(_target: str, _version: tuple[int, int]) -> Forms:
    """Return what has been accepted in this process for a target and a version, to be added to."""
    return {}


class Declared(dict[str, "str | None"]):
    """What each name of a trace is; of a name that it has not, what `around`, the names of its module, say.

    Ask by `declared[name]`: None is a name that nobody knows. Most modules have many functions, and copying the names
    into each would take time that grows with the square of them.
    """

    __slots__ = ("around", "banks")

    def __init__(self) -> None:
        """Know nothing, and nothing around."""
        super().__init__()
        self.around: Mapping[str, str] = {}
        self.banks: list[tuple[NumberedNames, str]] = []
        """Banks whose names are not stored here, and what they are; the innermost last."""

    def __missing__(self, name: str) -> str | None:
        """Return what a large bank or the module says of a name."""
        for names, kind in reversed(self.banks):
            if name in names:
                return kind
        return self.around.get(name)


class Checker:
    """The checks of one trace. `declared` says what each of its names is, as `pyptx_ir.isa.shapes.shape_of` asks.

    Traces for the same target and version may share `forms`, what has been accepted.
    """

    __slots__ = ("_forms", "declared", "target", "version")

    def __init__(self, target: str, version: tuple[int, int], forms: Forms | None = None) -> None:
        """Start with nothing declared."""
        self.target = target
        self.version = version
        self.declared = Declared()
        self._forms: Forms = {} if forms is None else forms

    def check(self, node: Instruction) -> None:
        """Raise InstructionUseError at the user's line for an instruction that is wrong; warn of an unknown one."""
        declared = self.declared.__getitem__
        key: list[object] = [node.opcode]
        add = key.append
        numbers, whole = "", True
        for operand in node.operands:
            if type(operand) is Register:
                add(declared(operand.name) or operand.name)
            elif type(operand) is Immediate and operand.text.isdecimal():
                add(0)
                numbers += operand.text + " "
            elif type(operand) is Vector:
                add(_vector_key(operand, declared))
                whole = False
            else:
                add(shape_of(operand, declared))
                whole = whole and type(operand) is Address
        shape = tuple(key)
        form = self._forms.get(shape)
        if form is None:
            form = self._forms[shape] = self._judge(shape, node)
        if form.limits and not (whole and numbers in form.inside):
            verdict = out_of_range(node, form.limits)
            if verdict is not None:
                raise InstructionUseError(verdict.message, hint=verdict.hint)
            if whole and len(form.inside) < _MOST_NUMBERS:
                form.inside.add(numbers)

    def _judge(self, shape: Shape, node: Instruction) -> AcceptedForm:
        """Return the form of an instruction that is right but for its constants, if no other trace knows it yet."""
        accepted = _accepted(self.target, self.version)
        form = accepted.get(shape)
        if form is None:
            limits = self._limits(node)
            form = AcceptedForm(limits or ())
            if limits is not None:
                accepted[shape] = form
        return form

    def _limits(self, node: Instruction) -> Choices | None:
        """Return the limits of the constants of an instruction that is right but for them; None after a warning."""
        declared = self.declared.__getitem__
        refuse_address(node, declared)
        judgement = judgement_on(node, declared, self.target, self.version)
        if judgement.diagnostic is None:
            return judgement.limits
        verdict = worded(judgement.diagnostic, node)
        if verdict.severity == "error":
            raise InstructionUseError(verdict.message, hint=remedy(node, verdict, declared) or verdict.hint)
        _warn(verdict)
        return None


def unchecked(_: Instruction) -> None:
    """Let an instruction pass, in the place of `Checker.check`."""


def _vector_key(vector: Vector, declared: Callable[[str], str | None]) -> tuple[object, ...]:
    """Return what a vector's elements are: of registers the type or, undeclared, the name."""
    return tuple(
        [
            declared(each.name) or each.name if type(each) is Register else shape_of(each, declared)
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
