"""Words that bulk and tensor copies have in common: memory ordering, reports, cache policies, sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_hopper.table.bulk_copy import SLOTS
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.spelling import choice
from pyptx_dsl.registers.operands import as_integer

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["NEAR", "SCOPES", "add_hint", "copied_bytes", "order", "reported"]

SCOPES = ("cta", "cluster", "gpu", "sys")
NEAR = ("cta", "cluster")
"""The scopes of copies inside a cluster."""
_UNIT = 16
_REPORTS = tuple(word.removeprefix("mbarrier::report::") for word in SLOTS["report"])


def order(what: str, sem: str | None, scope: str | None, scopes: tuple[str, ...] = SCOPES) -> tuple[str, ...]:
    """Return the words of a memory ordering: none, `weak`, or `relaxed` with a scope. Raise OperandError otherwise."""
    if (sem == "relaxed") != (scope is not None):
        raise OperandError(
            f"{what}: sem={sem!r} and scope={scope!r} do not go together", hint=f'sem="relaxed", scope="{scopes[-1]}"'
        )
    if sem is None:
        return ()
    chosen = choice("sem", sem, ("weak", "relaxed"))
    return (chosen,) if scope is None else (chosen, choice("scope", scope, scopes))


def reported(report: str | None) -> tuple[str, ...]:
    """Return the word that says what the mbarrier is told of bytes that are not valid."""
    return () if report is None else (f"mbarrier::report::{choice('report', report, _REPORTS)}",)


def add_hint(words: list[str], operands: list[object], policy: Reg | None) -> None:
    """Add a cache policy to the words and the operands, if there is one."""
    if policy is not None:
        words.append("L2::cache_hint")
        operands.append(policy)


def copied_bytes(size: object) -> object:
    """Refuse a constant size that no bulk copy has; one in a register is the user's promise."""
    number = as_integer(size)
    if number is not None and (number % _UNIT or number < 0):
        raise OperandError(f"a bulk copy of {size!r} bytes", hint=f"it copies multiples of {_UNIT}")
    return size
