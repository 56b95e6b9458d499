"""Rows of `pyptx check`: error codes, and the rules that report them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyptx_ir.syntax.nodes import Statement


@value
class CheckCode(Value):
    """One kind of error in `pyptx check`.

    `severity` is `"error"` for text that an assembler rejects or the manual forbids, `"warning"` for text that
    assembles but is probably unintended. `page` is a Markdown file for `pyptx explain`: why, an example with its
    output, and the example without the error.
    """

    name: str
    severity: str
    meaning: str
    page: Path | None = None


@value
class CheckRule(Value):
    """A rule of `pyptx check`: the statements that it checks, and its function.

    `check(walk, statement)` is called for every statement of the classes `on`. A rule with `opcodes` is called for the
    instructions that begin with one of them and are valid by themselves. A rule with neither is called once per module,
    as `check(walk)`, after all statements. `walk` is a `pyptx_ir.isa.modules.walk.Walk` with target, version and scope;
    its `report` records a `Finding`. `codes` are all codes that the rule may report.
    """

    name: str
    codes: frozenset[str]
    check: Callable[..., None]
    on: tuple[type[Statement], ...] = ()
    opcodes: tuple[str, ...] = ()
