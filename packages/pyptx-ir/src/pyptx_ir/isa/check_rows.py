"""Rows of `pyptx check`: what may be wrong with a module, and the rules that find it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.nodes import Statement


@value
class CheckCode(Value):
    """One kind of mistake, as `pyptx check` names it.

    `severity` is `"error"` for what an assembler refuses or the manual forbids, `"warning"` for what assembles and is
    hardly meant.
    """

    name: str
    severity: str
    meaning: str


@value
class CheckRule(Value):
    """A rule of `pyptx check`: what it looks at, and the function that does.

    `check(walk, statement)` is called for every statement of the kinds `on`; of a rule with `opcodes`, for the
    instructions that begin with one of them and are right by themselves. A rule with neither is called once for a
    module, as `check(walk)`, when all of it has been visited. `walk` is a `pyptx_ir.isa.modules.walk.Walk`: it knows
    target, version and scope, and what is wrong goes to its `report`. `codes` are all that the rule may report.
    """

    name: str
    codes: frozenset[str]
    check: Callable[..., None]
    on: tuple[type[Statement], ...] = ()
    opcodes: tuple[str, ...] = ()
