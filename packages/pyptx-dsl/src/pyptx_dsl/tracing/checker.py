"""Checks of each traced instruction against the instruction table.

The result is cached by instruction form: opcode, types of the registers, shapes of the other operands. For an accepted
form, only constants with limits are checked again, and equal constants only once.
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

# For each form that an instruction matches: (operand index, permitted values) of each constant operand.
Choices: TypeAlias = "tuple[tuple[tuple[int, Limits], ...], ...]"


class AcceptedForm:
    """An accepted instruction form: limits of its constants, and texts of constants that passed these limits."""

    __slots__ = ("inside", "limits")

    def __init__(self, limits: Choices) -> None:
        """Store the limits of the instruction form's constants; no constants are checked yet."""
        self.limits = limits
        self.inside: set[str] = set()


Shape: TypeAlias = "tuple[object, ...]"
Forms: TypeAlias = "dict[Shape, AcceptedForm]"

_MOST_NUMBERS = 1 << 12
"""Maximum number of cached constants per accepted form; the cache lives until the process ends."""


@until_plugins_change()
def _accepted(_target: str, _version: tuple[int, int]) -> Forms:
    """Return this process's mutable cache of accepted instruction forms for a target and a PTX version."""
    return {}


class Declared(dict[str, "str | None"]):
    """PTX name -> register type or state space, for the names of a trace; `around` has the names of its module.

    Use `declared[name]`: None is an unknown name. Modules can have many functions, and a copy of the names in each
    would take quadratic time.
    """

    __slots__ = ("around", "banks")

    def __init__(self) -> None:
        """Start an empty map, without the names of a module."""
        super().__init__()
        self.around: Mapping[str, str] = {}
        self.banks: list[tuple[NumberedNames, str]] = []
        """Register groups whose names are not stored individually, and their register types; innermost scope last."""

    def __missing__(self, name: str) -> str | None:
        """Return the register type or state space of a name in `banks` or `around`; None for an unknown name."""
        for names, kind in reversed(self.banks):
            if name in names:
                return kind
        return self.around.get(name)


class Checker:
    """Checks the instructions of one trace.

    `declared` maps each PTX name to its kind (register type or state space), for `pyptx_ir.isa.shapes.shape_of`.
    Traces for the same target and version may share `forms`, the accepted forms.
    """

    __slots__ = ("_forms", "declared", "target", "version")

    def __init__(self, target: str, version: tuple[int, int], forms: Forms | None = None) -> None:
        """Start a checker without declared names."""
        self.target = target
        self.version = version
        self.declared = Declared()
        self._forms: Forms = {} if forms is None else forms

    def check(self, node: Instruction) -> None:
        """Raise InstructionUseError at the user's line for an invalid instruction; warn for an unknown one."""
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
                raise InstructionUseError(verdict.message, help=verdict.help)
            if whole and len(form.inside) < _MOST_NUMBERS:
                form.inside.add(numbers)

    def _judge(self, shape: Shape, node: Instruction) -> AcceptedForm:
        """Return the AcceptedForm of an instruction, cached per process; raise InstructionUseError if it is invalid.

        Constants are not checked.
        """
        accepted = _accepted(self.target, self.version)
        form = accepted.get(shape)
        if form is None:
            limits = self._limits(node)
            form = AcceptedForm(limits or ())
            if limits is not None:
                accepted[shape] = form
        return form

    def _limits(self, node: Instruction) -> Choices | None:
        """Return the limits of a valid instruction's constants; warn and return None for an unknown instruction."""
        declared = self.declared.__getitem__
        refuse_address(node, declared)
        judgement = judgement_on(node, declared, self.target, self.version)
        if judgement.diagnostic is None:
            return judgement.limits
        verdict = worded(judgement.diagnostic, node)
        if verdict.severity == "error":
            raise InstructionUseError(verdict.message, help=remedy(node, verdict, declared) or verdict.help)
        _warn(verdict)
        return None


def unchecked(_: Instruction) -> None:
    """Do not check the instruction; replaces `Checker.check` while checks are disabled."""


def _vector_key(vector: Vector, declared: Callable[[str], str | None]) -> tuple[object, ...]:
    """Return the operand kind of each vector element; for a register its type or, if undeclared, its name."""
    return tuple(
        [
            declared(each.name) or each.name if type(each) is Register else shape_of(each, declared)
            for each in vector.elements
        ]
    )


def _warn(verdict: Verdict) -> None:
    frame = user_frame()
    message = f"{verdict.message}, and is not checked\nhelp: {verdict.help}"
    if frame is None:
        warnings.warn(message, UnknownInstructionWarning, stacklevel=2)
    else:
        warnings.warn_explicit(message, UnknownInstructionWarning, frame.f_code.co_filename, frame.f_lineno)
