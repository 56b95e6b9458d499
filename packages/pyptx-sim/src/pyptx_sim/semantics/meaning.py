"""Binding of an instruction to its `Operation` by the `Semantics` rows of its opcode."""

from __future__ import annotations

import inspect
from functools import lru_cache, partial
from typing import TYPE_CHECKING, cast

import numpy as np

from pyptx_ir.isa.check import patterns_of
from pyptx_sim.errors import MissingSemantics, ProgramError
from pyptx_sim.operation import Operation
from pyptx_sim.semantics.errors import NoSemantics
from pyptx_sim.semantics.operations import operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.isa.binding import Bound
    from pyptx_ir.plugins.semantics import Semantics
    from pyptx_sim.operation import Compute

_KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


def operation_of(semantics: Sequence[Semantics], form: Bound) -> Operation:
    """Return the `Operation` of a bound instruction, by the `Semantics` rows of its opcode.

    Raise NoSemantics if no row applies to the manual section of the instruction's form.
    """
    meant = _meant(semantics, form)
    if meant.bind is None:
        return operation(form, _with_words(meant, form))
    found = meant.bind(form)
    if not isinstance(found, Operation):
        raise ProgramError(f"semantics of {meant.opcode}: expected an Operation, got {type(found).__name__}")
    return found


def _meant(semantics: Sequence[Semantics], form: Bound) -> Semantics:
    """Return the `Semantics` row for the form's section of the manual; if there is none, the row without a section."""
    for section in (form.row.manual, ""):
        for each in semantics:
            if each.manual == section:
                return each
    raise NoSemantics(form.instruction)


def _with_words(semantics: Semantics, form: Bound) -> Compute:
    """Return a row's function, with keyword-only parameters bound to the instruction's modifiers of these names."""
    compute = cast("Compute", semantics.compute)
    asked = _keyword_only(compute)
    for name in asked:
        if name not in form.words and not _is_slot(name, form.row.opcode):
            raise MissingSemantics(f"semantics of {semantics.opcode}: unknown modifier slot {name!r}")
    return partial(compute, **{name: form.word(name) for name in asked}) if asked else compute


def _is_slot(name: str, opcode: str) -> bool:
    return any(item.name == name for pattern in patterns_of(opcode) for item in pattern.items)


@lru_cache(maxsize=256)
def _keyword_only(compute: Compute) -> tuple[str, ...]:
    """Return the names of a function's keyword-only parameters; none for NumPy's ufuncs."""
    if isinstance(compute, np.ufunc):
        return ()
    parameters = inspect.signature(compute).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is _KEYWORD_ONLY)
