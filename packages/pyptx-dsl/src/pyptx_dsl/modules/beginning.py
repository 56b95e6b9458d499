"""`module(…)`: creation of a builder of a PTX module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.modules.builder import ModuleBuilder
from pyptx_dsl.registers.operands import as_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.syntax.style import Style

__all__ = ["module"]


def module(
    *,
    version: tuple[int, int] | None = None,
    target: str | Sequence[str] | None = None,
    address_size: int | None = 64,
    unchecked: bool = False,
    tail: str | None = None,
    style: Style | str | None = None,
    labels: str | None = None,
) -> ModuleBuilder:
    """Start a PTX module, to be written statement by statement.

    `target` is a name, or a list of a name and options (`["sm_90", "debug"]`). An omitted directive is not emitted; add
    it with `m.version(…)`, `m.target(…)` and `m.address_size(…)` at its position. Without a version, the address size
    is omitted too. `unchecked` disables checks of instructions against the table, for targets and forms that it lacks.
    `tail` is the text after the last statement, a newline by default. `style` is the default style of `m.ptx()`.
    `labels` is the pattern for unnamed labels of functions: `"$L__BB{function}_{block}"` as in LLVM, with the numbers
    of the function (among functions with bodies) and of the basic block; `{label}` counts labels, from 1. Raises
    ArchError for an unknown target, and OperandError for a pattern without a block or label number. Manual: "PTX Module
    Directives".
    """
    builder = ModuleBuilder(unchecked=unchecked, tail=tail, style=style, labels=labels)
    if version is not None:
        match version:
            case (major, minor):
                builder.version(major, minor)
            case _:
                raise OperandError(f"version must be a pair of numbers, got {version!r}", help="write version=(8, 7)")
    if target is not None:
        builder.target(*(as_items(target) or (target,)))
    if version is not None and target is not None and address_size is not None:
        builder.address_size(address_size)
    return builder
