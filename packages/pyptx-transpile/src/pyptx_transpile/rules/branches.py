"""Rewrites of guarded forward branches to `with ptx.if_(…)`, and `with ptx.else_(…)` if both paths have code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.rules.chains import Chain, are_ways, branch_rewrite, defines_label, is_forward, join_of
from pyptx_transpile.rules.conditions import predicates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.planning.plan import Rewrite, RewritePlan
    from pyptx_transpile.reading.rows import Body, Jump

__all__ = ["IF"]

_MOST_SHARED = 3  # maximum branches to one label that are printed as nested blocks; more are printed as one `ptx.block`


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield rewrites for each guarded forward branch, short branches first: with `else_` if possible, then without."""
    jumps = [jump for jump in body.jumps if jump.guarded and is_forward(body, jump)]
    for jump in sorted(jumps, key=lambda jump: (jump.target - jump.at, jump.at)):
        yield from _alternatives(body, plan, jump)


def _alternatives(body: Body, plan: RewritePlan, jump: Jump) -> Iterator[Rewrite]:
    join = join_of(body, jump)
    if join is not None and jump.target not in plan.contested and are_ways(body, jump, join):
        for defines in (True, False) if defines_label(body, plan, jump.at, join) else (False,):
            for predicate in predicates(body, jump.at):
                yield branch_rewrite(body, "if", Chain((predicate,), join, has_else=True, defines=defines))
    if body.is_closed(jump.at, jump.target) and len(body.jumps_to(jump.target)) <= _MOST_SHARED:
        for defines in (True, False) if defines_label(body, plan, jump.at, jump.target) else (False,):
            for predicate in predicates(body, jump.at):
                yield branch_rewrite(body, "if", Chain((predicate,), jump.target, has_else=False, defines=defines))


IF = SugarRule(
    name="if",
    summary="a forward branch as an `if_` block, with an optional `else_` block",
    before="@%p1 bra $L__BB0_2;\n\tmov.b32 %r1, 7;\n$L__BB0_2:",
    after="with ptx.if_(~p[1]):\n    ptx.inst.mov.b32(r[1], 7)",
    find=find,
)
