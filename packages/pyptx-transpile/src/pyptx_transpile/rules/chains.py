"""Rewrites of alternative blocks that join at one label: `ptx.if_(…)`, `ptx.elif_(…)` and `ptx.else_()`.

`elif_` replaces an `if_` that is the only statement of an `else_`: it starts with the condition, and its blocks end at
the same label as the `else_`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.printing.layout import call
from pyptx_transpile.rules.conditions import Predicate, predicates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.layout import Expression
    from pyptx_transpile.reading.rows import Body, Jump

__all__ = ["ELIF", "Chain", "are_ways", "branch_rewrite", "defines_label", "is_forward", "join_of"]

_LEAVES = frozenset({"bra", "brx", "exit", "ret"})
_FEWEST = 2  # minimum conditions of a chain that is printed with `elif_`


def is_forward(body: Body, jump: Jump) -> bool:
    """Return whether a branch goes forward to a label in its own scope."""
    return jump.target > jump.at and body.scopes[jump.at] == body.scopes[jump.target]


def join_of(body: Body, jump: Jump) -> int | None:
    """Return the join label of both paths, if the fall-through path ends in a branch past the taken path; else None."""
    last = body.jump_at(jump.target - 1)
    if last is None or last.guarded or last.target <= jump.target or not is_forward(body, last):
        return None
    if body.scopes[last.target] != body.scopes[jump.at]:
        return None
    before = body.instruction(last.at - 1)
    falls = before is None or before.guard is not None or before.opcode[0] not in _LEAVES
    return last.target if falls and last.at > jump.at + 1 else None


def are_ways(body: Body, jump: Jump, join: int) -> bool:
    """Return whether branches enter fall-through and taken path only at the start of the taken path."""
    entered = all(jump.at <= other.at < jump.target for other in body.jumps_to(jump.target))
    return entered and body.is_closed(jump.at, jump.target) and body.is_closed(jump.target, join)


def defines_label(body: Body, plan: RewritePlan, at: int, label: int) -> bool:
    """Return whether the branch at `at` may define `label`: no branch to the label precedes `at`."""
    return label not in plan.contested and all(jump.at >= at for jump in body.jumps_to(label))


@dataclass(frozen=True, slots=True)
class Chain:
    """Blocks with a common join label, one per condition, executed if the condition's branch is not taken.

    The label at `join` is defined by the chain if `defines`. With `has_else`, a last block is executed if all branches
    are taken.
    """

    conditions: tuple[Predicate, ...]
    join: int
    has_else: bool
    defines: bool

    def ways(self, body: Body) -> tuple[tuple[int, int], ...]:
        """Return the slices of the blocks: from after the condition's branch to before the branch to the join label."""
        starts = [condition.at + 1 for condition in self.conditions]
        skips = [self.skip(body, number) for number in range(len(starts))]
        if self.has_else:
            return (*((start, skip - 1) for start, skip in zip(starts, skips, strict=True)), (skips[-1] + 1, self.join))
        *early, last = zip(starts, skips, strict=True)
        return (*((start, skip - 1) for start, skip in early), last)

    def skip(self, body: Body, number: int) -> int:
        """Return the index of the label after the block with this number."""
        jump = body.jump_at(self.conditions[number].at)
        if jump is None:
            raise TypeError(f"no branch to a label at {self.conditions[number].at}")
        return jump.target


def branch_rewrite(body: Body, rule: str, chain: Chain) -> Rewrite:
    """Return the rewrite that prints a `Chain` of blocks."""
    ways = chain.ways(body)
    count = len(chain.conditions)

    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        for number, slot in enumerate(slots):
            if number:
                printer.deviation(chain.skip(body, number - 1) - 1)
            with printer.block(_header(printer, chain, number), chain.join if number == bound else -1):
                printer.slot(slot)
                if number < count - 1 or (number < count and chain.has_else):
                    printer.deviation(chain.skip(body, number))
                elif chain.defines:
                    printer.deviation(chain.join)

    bound = _first_left(body, chain)
    return Rewrite(
        rule,
        chain.conditions[0].start,
        chain.join + chain.defines,
        write,
        ways,
        exits=chain.join,
        labels=_labels(body, chain),
        jumps=_jumps(body, chain),
        binds="done",
    )


def _first_left(body: Body, chain: Chain) -> int:
    """Return the number of the first block that contains a branch to the join label; the last block if none does."""
    *early, _ = ways = chain.ways(body)
    jumps = body.jumps_to(chain.join)
    left = (number for number, (start, end) in enumerate(early) if any(start <= jump.at < end for jump in jumps))
    return next(left, len(ways) - 1)


def _labels(body: Body, chain: Chain) -> tuple[int, ...]:
    """Return the indices of the labels that the chain's Python blocks define."""
    skips = [chain.skip(body, number) for number in range(len(chain.conditions))]
    return (*[skip for skip in skips if skip != chain.join], *([chain.join] if chain.defines else []))


def _jumps(body: Body, chain: Chain) -> tuple[int, ...]:
    """Return the branches of a chain: the conditional ones of its conditions, and those at the ends of its blocks."""
    places = [condition.at for condition in chain.conditions]
    skips = [chain.skip(body, number) for number in range(len(places) - (not chain.has_else))]
    return (*places, *[skip - 1 for skip in skips])


def _header(printer: BodyPrinter, chain: Chain, number: int) -> Expression:
    """Return the `with` header of a block; for the first block, print the formatting of the branch before the block."""
    body = printer.body
    if number == len(chain.conditions):
        return call("with ptx.else_", _ending(printer, chain, number))
    condition = chain.conditions[number]
    name = keywords = printer.label("label", chain.skip(body, number))
    if "uni" in body.branch(condition.at).opcode:
        keywords = [*keywords, "uniform=True"]
    if name and chain.skip(body, number) == chain.join and not number and not chain.defines:
        keywords = [*keywords, "define_label=False"]
    keywords = [*keywords, *_ending(printer, chain, number)]
    if number:
        return call("with ptx.elif_", [condition.whole(printer, negated=True), *keywords])

    def line(pred: str) -> str:
        return f"with ptx.if_({', '.join([pred, *keywords])})"

    return line(condition.first(printer, line, negated=True))


def _ending(printer: BodyPrinter, chain: Chain, number: int) -> list[str]:
    """Return header keywords for the join label, and for the previous block's branch to that label."""
    body = printer.body
    ways = chain.ways(body)
    if len(ways) == 1:
        return []
    first = 0 if _first_left(body, chain) == 0 else 1
    name = keywords = printer.label("end_label", chain.join) if number == first else []
    if number and "uni" in body.branch(chain.skip(body, number - 1) - 1).opcode:
        keywords = [*keywords, "end_uniform=True"]
    if name and not chain.defines:
        keywords = [*keywords, "define_end=False"]
    return keywords


# --- two or more conditions -------------------------------------------------------------------------


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield rewrites for each chain of two or more conditions, outer chains first: with and without the join label."""
    taken: set[int] = set()
    for jump in body.jumps:
        if jump.at in taken:
            continue
        for first in predicates(body, jump.at) if jump.guarded and is_forward(body, jump) else ():
            chain = _chain(body, plan, jump, first)
            if chain is None:
                break
            taken.update(condition.at for condition in chain.conditions)
            if defines_label(body, plan, jump.at, chain.join):
                yield branch_rewrite(body, "elif", chain)
            yield branch_rewrite(body, "elif", Chain(chain.conditions, chain.join, chain.has_else, defines=False))


def _chain(body: Body, plan: RewritePlan, jump: Jump, first: Predicate) -> Chain | None:
    """Return the chain that starts with a branch; None if no other condition follows its first block."""
    conditions, join, has_else = [first], join_of(body, jump), True
    if join is None:
        return None
    now: Jump | None = jump
    while now is not None and has_else:
        if now.target in plan.contested or not are_ways(body, now, join):
            return None
        following = _next(body, now, join)
        if following is None:
            break
        conditions.append(following)
        now = body.jump_at(following.at)
        has_else = now is not None and now.target != join
    return Chain(tuple(conditions), join, has_else, defines=True) if len(conditions) >= _FEWEST else None


def _next(body: Body, jump: Jump, join: int) -> Predicate | None:
    """Return the guard of the branch that starts the taken path of `jump`; None unless its paths join at `join`."""
    start = jump.target + 1
    for at in (start, start + 1):
        other = body.jump_at(at)
        if other is not None:
            condition, *_ = predicates(body, at) if other.guarded and is_forward(body, other) else (None,)
            ends = other.target == join or join_of(body, other) == join
            said = not any(map(body.deviates, (jump.target - 1, start, at)))
            return condition if condition is not None and condition.start == start and ends and said else None
    return None


ELIF = SugarRule(
    name="elif",
    summary="forward branches to a common label as `if_`, `elif_` and `else_` blocks",
    before="@%p1 bra $L1;\n\tmov.b32 %r1, 1;\n\tbra.uni $L3;\n$L1:\n\t@%p2 bra $L2;\n\tmov.b32 %r1, 2;\n\t"
    "bra.uni $L3;\n$L2:\n\tmov.b32 %r1, 3;\n$L3:",
    after='with ptx.if_(~p[1], label="$L1"):\n    ptx.inst.mov.b32(r[1], 1)\n'
    'with ptx.elif_(~p[2], label="$L2", end_label="$L3", end_uniform=True):\n    ptx.inst.mov.b32(r[1], 2)\n'
    "with ptx.else_(end_uniform=True):\n    ptx.inst.mov.b32(r[1], 3)",
    find=find,
)
