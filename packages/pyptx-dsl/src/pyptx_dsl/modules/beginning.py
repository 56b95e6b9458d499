"""`module(…)`: where a module of PTX begins."""

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
    """Begin a module of PTX, to be written statement by statement.

    `target` is a name, or a list of a name and options (`["sm_90", "debug"]`). What is not given is left out, to be
    written by `m.version(…)`, `m.target(…)` and `m.address_size(…)` where it is to stand; without a version there is no
    address size either. `unchecked` holds no instruction against the table, for targets and forms that it has not.
    `tail` is what stands behind the last statement, a newline if nothing is said. `style` is how `m.ptx()` writes it,
    if it is asked for no other. `labels` is what the labels of functions are called that have no names of their own:
    `"$L__BB{function}_{block}"` as LLVM names them, by the number of the function among those with bodies and that of
    the basic block; `{label}` counts labels, from 1. Raise ArchError for a target that nobody knows, and OperandError
    for labels that count neither. Manual: "PTX Module Directives".
    """
    builder = ModuleBuilder(unchecked=unchecked, tail=tail, style=style, labels=labels)
    if version is not None:
        match version:
            case (major, minor):
                builder.version(major, minor)
            case _:
                raise OperandError(f"version={version!r} is no pair of numbers", hint="write version=(8, 7)")
    if target is not None:
        builder.target(*(as_items(target) or (target,)))
    if version is not None and target is not None and address_size is not None:
        builder.address_size(address_size)
    return builder
