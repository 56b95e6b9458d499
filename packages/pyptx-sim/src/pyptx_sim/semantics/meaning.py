"""What a row of semantics says of one instruction, as the operation that the engine runs.

A row that binds instructions says it itself. Of one that is a function alone, the instruction's row of the table says
the rest: which operands are read and written, and with which types.
"""

from __future__ import annotations

import inspect
from functools import lru_cache, partial
from typing import TYPE_CHECKING, cast

import numpy as np

from pyptx_ir.isa.binding import bound
from pyptx_ir.isa.check import patterns_of
from pyptx_sim.errors import MissingSemantics, ProgramError
from pyptx_sim.operation import Operation
from pyptx_sim.semantics.errors import NoSemantics

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.isa.binding import Bound
    from pyptx_ir.isa.patterns import Place
    from pyptx_ir.plugins.rows import Semantics
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_sim.operation import Compute

_KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


def operation_of(semantics: Semantics, instruction: Instruction, declared: Callable[[str], str | None]) -> Operation:
    """Return what semantics say of an instruction; `declared` is as in `pyptx_ir.isa.shapes.shape_of`.

    Raise MissingSemantics where the instruction's row does not tell what they leave to it.
    """
    if semantics.bind is None:
        return _derived(semantics, instruction, declared)
    operation = semantics.bind(instruction)
    if not isinstance(operation, Operation):
        name = type(operation).__name__
        raise ProgramError(f"the semantics of {semantics.opcode} bind to {name}, not to an Operation")
    return operation


def _derived(semantics: Semantics, instruction: Instruction, declared: Callable[[str], str | None]) -> Operation:
    """Return the operation of a function, with the operands and types of the row that the instruction is a form of."""
    form = bound(instruction, declared)
    if form is None:
        raise NoSemantics(instruction, "no row of the instruction table has this form of it")
    written = [(index, place) for index, place in enumerate(form.places.values()) if place.written]
    read = [(index, place) for index, place in enumerate(form.places.values()) if place.read]
    return Operation(
        _types(form, written),
        _types(form, read),
        _with_words(semantics, form),
        places=(tuple([index for index, _ in written]), tuple([index for index, _ in read])),
    )


def _types(form: Bound, places: list[tuple[int, Place]]) -> tuple[str, ...]:
    found: list[str] = []
    for _, place in places:
        types = form.types[place.name]
        if types is None:
            raise MissingSemantics(
                f"the row {form.row.syntax!r} does not tell the type of {place.name}, which is {place.kind}",
                hint="bind the instruction to an Operation: Semantics(opcode, bind=...)",
            )
        found += types
    return tuple(found)


def _with_words(semantics: Semantics, form: Bound) -> Compute:
    """Return the function with the words of the slots that it asks for."""
    compute = cast("Compute", semantics.compute)
    asked = _keyword_only(compute)
    for name in asked:
        if name not in form.words and not _is_slot(name, form.row.opcode):
            raise MissingSemantics(
                f"what computes {semantics.opcode} asks for the word of {name}, which is a slot of none of its rows"
            )
    return partial(compute, **{name: form.words.get(name, "") for name in asked}) if asked else compute


def _is_slot(name: str, opcode: str) -> bool:
    return any(item.name == name for pattern in patterns_of(opcode) for item in pattern.items)


@lru_cache(maxsize=256)
def _keyword_only(compute: Compute) -> tuple[str, ...]:
    """Return the names of a function's keyword-only parameters; NumPy's own functions ask for no words."""
    if isinstance(compute, np.ufunc):
        return ()
    parameters = inspect.signature(compute).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is _KEYWORD_ONLY)
