"""Rewrites of repeated sequences in a module's bodies to one helper function, with a call at each occurrence.

Typical sequences are scopes of inline assembly. The helper's body is the first occurrence, with parameters for the
operands that differ. Other rules rewrite that body like any other.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.drafts import rewritten
from pyptx_transpile.planning.plan import Rewrite, planned
from pyptx_transpile.planning.shapes import NUMBER, SYMBOL, Leaf, Names, Rewriting
from pyptx_transpile.printing.outlined import Helper
from pyptx_transpile.printing.page import Page
from pyptx_transpile.reading.names import Naming, identifier
from pyptx_transpile.reading.rows import Body, Row
from pyptx_transpile.rules.expression_trees import call_width
from pyptx_transpile.rules.function_names import docstring, main, stem
from pyptx_transpile.rules.sequences import repeated
from pyptx_transpile.rules.signatures import Leaves, differ_too_much, signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.outlined import Argument
    from pyptx_transpile.rules.sequences import Repeated
    from pyptx_transpile.rules.signatures import Signature, Site

__all__ = ["FUNCTION", "Survey"]

_LEAST = 3  # minimum instructions of a repeated sequence (not a `{ }` scope) that becomes a helper function
# Minimum lines that a helper function saves: for a repeated sequence, for a `{ }` scope.
_LEAST_SAVED, _LEAST_SAVED_BY_SCOPE = 3, 1
_AROUND = 2  # lines of a helper function's header and docstring
_LEAST_OF_SCOPE = 2  # minimum instructions of a repeated `{ }` scope that becomes a helper function
_ANY = 1 << 30  # maximum arguments of a helper function for one inline assembly statement: no limit
_FEW = 4  # number of occurrences of a repeated sequence that are compared first
_WIDTH = 100  # maximum columns of a helper function call that is printed on one line


def find(_body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield the helper calls that the module's `Survey` found for this body."""
    yield from plan.calls


def _least(helper: Helper, calls: Sequence[int], fewer: int, most: float) -> int | None:
    """Return the minimum number of calls with which a helper saves Python lines; None if no number of calls does.

    `calls` has the number of lines of each call. Printed without the helper, an occurrence has `fewer` lines less than
    the helper's body, and after other rewrites at most about `most` lines.
    """
    page = Page()
    helper.write(page, Naming())
    lines = len(page.lines)
    gained = int(min(lines - _AROUND - fewer, most) * len(calls)) - sum(calls)
    if gained <= 0:
        return None
    wanted = lines + _least_saved(is_scope=_is_scope(helper.body))
    return max(2, -(-wanted * len(calls) // gained))


def _least_saved(*, is_scope: bool) -> int:
    return _LEAST_SAVED_BY_SCOPE if is_scope else _LEAST_SAVED


def _may_save(body: Body, found: Repeated, calls: Sequence[int], *, is_scope: bool) -> bool:
    """Return whether a helper may save Python lines if no rule rewrites its body: a first estimate."""
    lines = _AROUND
    for at in range(found.sites[0], found.sites[0] + found.length):
        node = body.instruction(at)
        if node is None:
            lines += body.items[at].kind != "}"
        else:
            is_long = call_width(body, at, turn=False) > _WIDTH
            lines += body.deviates(at) + (len(node.operands) + 2 if is_long else 1)
    gained = (lines - _AROUND) * len(calls) - sum(calls)
    return gained >= lines + _least_saved(is_scope=is_scope)


def _saved_by_loops(rewrites: Iterable[Rewrite]) -> int:
    """Return the approximate lines that the loops among rewrites save; loops nested in other loops do not count."""
    saved = end = 0
    for rewrite in rewrites:
        if rewrite.repeats and rewrite.start >= end:
            saved, end = saved + rewrite.end - rewrite.inner[0][1] - 1, rewrite.end
    return saved


def _is_scope(body: Body) -> bool:
    """Return whether a body is one `{ }` scope, such as that of one inline assembly statement."""
    return body.row.ends.get(body.start) == body.end - 1


class Survey:
    """Search for repeated sequences in all bodies of a module, and the helper functions for them."""

    def __init__(self, plans: Mapping[int, RewritePlan], rules: Sequence[SugarRule], taken: Iterable[str]) -> None:
        """Find repeated sequences that agree with the bodies' rewrites; helpers do not get the names in `taken`."""
        self._plans, self._starts, self._rules = plans, sorted(plans), rules
        self._loops = {start: [each for each in plan.rewrites() if each.repeats] for start, plan in plans.items()}
        self._names = {start: Names(plan.body) for start, plan in plans.items()}
        self._leaves = {start: Leaves(names) for start, names in self._names.items()}
        self._taken = list(taken)
        self.calls: dict[int, list[Rewrite]] = {}
        """Rewrites that call helpers, by start index of the calling function body."""
        if plans:
            size = len(next(iter(plans.values())).body.items)
            self._estimate = _Estimate(plans, size)
            repeated(plans, self._names, size, self._estimate.saved, self._take)

    def _take(self, found: Repeated) -> bool:
        """Create a helper for a sequence; return whether the helper saves enough lines with few enough parameters."""
        names = [self._names[self._starts[bisect_right(self._starts, site) - 1]] for site in found.sites]
        bodies = [each.body for each in names]
        loops, few = self._looped(found), bodies[:_FEW]
        places = [at for at in range(found.sites[0], found.sites[0] + found.length) if bodies[0].instruction(at)]
        instructions = [bodies[0].branch(at) for at in places]
        is_scope = bodies[0].row.ends.get(found.sites[0]) == found.sites[0] + found.length - 1
        most = _ANY if is_scope else len(instructions)
        if most < _LEAST or (
            len(bodies) > _FEW and differ_too_much(few, self._sites(few, found), most, loops=loops > 0)
        ):
            return False
        given = signature(bodies, self._sites(bodies, found), places[main(instructions)], most, loops=loops > 0)
        if given is None:
            return False
        name = _name(instructions, self._taken)
        calls = [_width(name, given.arguments[each]) for each in found.printed]
        if not loops and not _may_save(bodies[0], found, calls, is_scope=is_scope):
            return False
        body = _template(names[0], found, self._sites(bodies[:1], found)[0], given)
        helper = Helper(name, given.parameters, docstring(instructions), body, planned(body, self._rules))
        fewer = loops - _saved_by_loops(helper.plan.rewrites())
        least = _least(helper, calls, fewer, self._estimate.lines(found.sites[0], found.length))
        if least is None or len(found.printed) < least:
            return False
        helper = replace(helper, least=least)
        self._taken.append(name)
        for one, site, arguments in zip(bodies, found.sites, given.arguments, strict=True):
            rewrite = _call(helper, site, site + found.length, arguments)
            self.calls.setdefault(one.start, []).append(rewrite)
        return True

    def _looped(self, found: Repeated) -> int:
        """Return the lines that the loops in a sequence's first occurrence save."""
        start = found.sites[0]
        loops = self._loops[self._starts[bisect_right(self._starts, start) - 1]]
        return _saved_by_loops(each for each in loops if start <= each.start and each.end <= start + found.length)

    def _sites(self, bodies: Sequence[Body], found: Repeated) -> list[Site]:
        """Return a `Site` for each of the first occurrences of a sequence; `bodies` are the bodies around them."""
        return [
            self._leaves[body.start].site(at, at + found.length) for body, at in zip(bodies, found.sites, strict=False)
        ]


def _name(instructions: Sequence[nodes.Instruction], taken: Sequence[str]) -> str:
    """Return a free helper name, with a type or a number appended if the name is taken."""
    plain = identifier(stem(instructions))
    more = f"{plain}_{instructions[main(instructions)].opcode[-1]}"
    return plain if plain not in taken else identifier(more, taken)


def _width(name: str, arguments: Sequence[Argument]) -> int:
    """Return the approximate number of Python lines of a helper call."""
    return 1 if len(name) + sum(each.width() + 2 for each in arguments) <= _WIDTH else 1 + len(arguments)


def _call(helper: Helper, start: int, end: int, arguments: Sequence[Argument]) -> Rewrite:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        helper.write_call(printer, arguments)

    return Rewrite("function", start, end, write, opens=0, names=(helper.name,), helper=helper, like=helper.name)


class _Estimate:
    """Estimate of the Python lines that a helper saves, before the helper is created."""

    def __init__(self, plans: Mapping[int, RewritePlan], size: int) -> None:
        """Count the Python lines and the instructions before each statement and brace of the module."""
        lines, counts = [0.0] * (size + 1), [0] * (size + 1)
        self._ends = next(iter(plans.values())).body.row.ends
        for plan in plans.values():
            for at in range(plan.body.start, plan.body.end):
                lines[at + 1] = (plan.body.items[at].kind != "}") + plan.body.deviates(at)
                counts[at + 1] = plan.body.instruction(at) is not None
            for rewrite in plan.rewrites():
                if not rewrite.inner and rewrite.end > rewrite.start + 1:
                    share = rewrite.lines / (rewrite.end - rewrite.start)
                    lines[rewrite.start + 1 : rewrite.end + 1] = [share] * (rewrite.end - rewrite.start)
        self._lines, self._counts = list(accumulate(lines)), list(accumulate(counts))

    def lines(self, start: int, length: int) -> float:
        """Return the number of Python lines of a sequence without helper."""
        return self._lines[start + length] - self._lines[start]

    def saved(self, start: int, length: int, count: int) -> float:
        """Return the Python lines that a helper for a sequence with `count` occurrences saves; 0 if too few."""
        end = start + length
        if count < 2 or self._counts[end] - self._counts[start] < _LEAST_OF_SCOPE:
            return 0
        saved = (count - 1) * self.lines(start, length) - count - _AROUND
        return saved if saved >= _least_saved(is_scope=self._ends.get(start) == end - 1) else 0


def _template(names: Names, found: Repeated, site: Site, given: Signature) -> Body:
    """Return a helper's body: the statements of the first occurrence, with registers for the parameters."""
    start, end = found.sites[0], found.sites[0] + found.length
    replaced = iter(given.names)

    def change(leaf: Leaf) -> tree.Operand:
        if leaf.declared is not None and start <= leaf.declared.at < end:
            return leaf.operand
        name = next(replaced)
        return leaf.operand if name is None else tree.Register(name)

    def vector(_before: tree.Vector, after: tree.Vector) -> tree.Operand:
        first = after.elements[0] if after.elements else None
        whole = given.whole.get(first.name) if isinstance(first, tree.Register) else None
        return after if whole is None else tree.Register(whole)

    rewriting = Rewriting(names, change, vector)
    statements = _statements(names.body, start, end, rewriting)
    declarations = _declarations(site, given)
    function = nodes.Function("func", "", body=nodes.Block((*declarations, *statements)))
    row = Row(nodes.Module((function,)), part_of=names.body.row)
    first = 2 + len(declarations)
    refused = names.body.row.refused
    row.refused = {first + at - start: refused[at] for at in range(start, end) if at in refused}
    return Body(row, first, row.ends[1], declared=2)


def _statements(body: Body, start: int, end: int, rewriting: Rewriting) -> list[nodes.Statement]:
    """Return the statements of a slice with their leaf operands replaced by `names`."""
    found: list[nodes.Statement] = []
    at = start
    while at < end:
        item = body.items[at]
        if item.kind == "{":
            close = body.row.ends[at]
            inner = _statements(body, at + 1, close, rewriting)
            found.append(
                nodes.Block(
                    tuple(inner), leading_trivia=item.leading_trivia, closing_trivia=body.items[close].leading_trivia
                )
            )
            at = close
        elif isinstance(item.node, nodes.Instruction):
            found.append(rewriting.instruction(at))
        elif item.node is not None:
            found.append(rewritten(item.node, item.leading_trivia, item.raw))
        at += 1
    return found


def _declarations(site: Site, given: Signature) -> list[nodes.RegisterDeclaration]:
    """Return declarations of the parameters' registers: register groups of the types at the first occurrence."""
    banks: dict[str, tuple[str, int]] = {}
    for leaf, name in zip(site.leaves, given.names, strict=True):
        if name is not None and leaf.type not in {NUMBER, SYMBOL}:
            bank, _, number = name.rpartition("$")
            banks[f"{bank}$"] = leaf.type, max(int(number) + 1, banks.get(f"{bank}$", ("", 0))[1])
    return [
        nodes.RegisterDeclaration(kind, (nodes.RegisterName(bank, count),)) for bank, (kind, count) in banks.items()
    ]


FUNCTION = SugarRule(
    name="function",
    summary="a repeated instruction sequence, such as a scope of inline assembly, as a function and its calls",
    before="\n\t".join(
        [
            f"{{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %r{at}, 0;\n\t@p shfl.sync.idx.b32 %r{at}, %r0, 0, 31, -1;\n\t}}"
            f"\n\t{other}.b32 %r0, %r{at};"
            for at, other in ((1, "not"), (2, "brev"), (3, "cnot"))
        ]
    ),
    after="shfl_idx(r[1], r[0])\nptx.inst.not_.b32(r[0], r[1])\nshfl_idx(r[2], r[0])\nptx.inst.brev.b32(r[0], r[2])\n"
    "shfl_idx(r[3], r[0])\nptx.inst.cnot.b32(r[0], r[3])",
    find=find,
)
