"""Instructions without an effect here. Manual: "Miscellaneous Instructions" (9.7.19); the engine has the others."""

from __future__ import annotations

from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.forms import Match, form


def _nothing(*_sources: Array) -> tuple[Array, ...]:
    return ()


def _event(match: Match) -> Operation:
    """Bind pmevent: it triggers performance monitors, of which there are none."""
    match.expect_operands(1)
    return Operation((), ("u32",), _nothing)


FORMS = (form("pmevent{.mask}", _event),)
