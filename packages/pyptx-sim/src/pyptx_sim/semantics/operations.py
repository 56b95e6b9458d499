"""Construction of an `Operation` from an instruction's form: its operands and types in the instruction table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_sim.errors import MissingSemantics
from pyptx_sim.operation import Operation
from pyptx_sim.program.constants import integer_constant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pyptx_ir.isa.binding import Bound
    from pyptx_sim.operation import Compute, Unspecified


def operation(
    form: Bound,
    compute: Compute,
    *,
    warp: bool = False,
    unread: Collection[str] = (),
    unspecified: Unspecified | None = None,
) -> Operation:
    """Return the `Operation` of function `compute`, which receives one array per register that the form reads.

    `warp` and `unspecified` are as in `Operation`. `unread`: names of operands that `compute` does not receive, because
    they are known constants. Raise MissingSemantics if the row of the instruction table does not specify a type.
    """
    places = list(enumerate(form.places.items()))
    written = [(index, name) for index, (name, place) in places if place.written]
    read = [(index, name) for index, (name, place) in places if place.read and name not in unread]
    return Operation(
        _types(form, (name for _, name in written)),
        _types(form, (name for _, name in read)),
        compute,
        warp=warp,
        places=(tuple([index for index, _ in written]), tuple([index for index, _ in read])),
        unspecified=unspecified,
    )


def _types(form: Bound, names: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        types = form.types[name]
        if types is None:
            raise MissingSemantics(
                f"no type for operand {name} ({form.places[name].kind}) in instruction-table row {form.row.syntax!r}",
                help="bind the instruction to an Operation: Semantics(opcode, bind=...)",
            )
        found += types
    return tuple(found)


def constant(form: Bound, name: str) -> int | None:
    """Return the value of an operand that is an integer constant; None for any other operand."""
    return integer_constant(form.operands[name])
