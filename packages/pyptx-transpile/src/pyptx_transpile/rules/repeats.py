"""Rewrites of repeated statements that differ in numbers to a Python `for` over arithmetic sequences or a table.

Loops may be nested. Iterations start where the fewest registers are live across the boundary, so that an iteration uses
the values that it computes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes, spell
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.reading.operand_registers import registers_of
from pyptx_transpile.reading.rows import spelling_of
from pyptx_transpile.rules.turns import MOST_TABLES, NAMES, lines_of_table, looped, stepped

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.page import Page
    from pyptx_transpile.reading.rows import Body
    from pyptx_transpile.rules.turns import Loop

__all__ = ["REPEAT"]

_LONGEST = 64  # maximum statements and braces of one iteration of a printed loop
_CANDIDATES = 5  # maximum number of iteration lengths tried for a loop that begins at one statement
# Minimum lines that a printed loop saves: without tables of numbers, with tables.
_LEAST_SAVED, _LEAST_SAVED_BY_TABLES = 2, 5
_MOST_STEPS_OF_TWO = 4  # maximum number of distinct steps of the numbers in a printed loop of two iterations
_FEW = 4  # number of iterations compared first; more are compared if these need at most MOST_TABLES tables of numbers
_OPEN, _CLOSE = 1, 2  # `shape_number`s of braces
# Matches the numbers that a loop may count in a statement: of a register (in an array, after its name: %sums0_1), of a
# helper function's parameter register, and a literal that is a whole token.
_NUMBER = re.compile(
    r"(?<=%)([A-Za-z_$]*?|[A-Za-z][\w$]*_)(\d+)(?![\w$])|(?<=\w\$)(\d+)(?![\w$])|(?<![\w$.%])(-?\d+)(?![\w$.])",
    re.ASCII,
)
# Matches the name of a debug label: the text before its last number, and that number.
_NUMBERED = re.compile(r"([^\"{}\\]*?)(0|[1-9]\d*)", re.ASCII)
_NOTHING: tuple[str, tuple[int, ...]] = "", ()
_RESULTS = (tree.Register, tree.Vector)  # classes of operands that may be an instruction's result

Parts: TypeAlias = "dict[int, tuple[str, tuple[int, ...]]]"
"""Cached text of an operand without numbers, and its numbers, by `id` of the operand."""


@dataclass(frozen=True, slots=True)
class Run:
    """Possible loop from index `start`: `count` iterations of `length` statements and braces, inside `level` loops.

    `saved`: Python lines that the loop saves. `handed`: registers that are live across iterations.
    """

    start: int
    length: int
    count: int
    level: int
    saved: int
    handed: int = 0

    @property
    def end(self) -> int:
        """Index after the loop's last iteration."""
        return self.start + self.length * self.count

    @property
    def worth(self) -> int:
        """Saved Python lines minus registers live across iterations, which cannot be inlined in expressions."""
        return self.saved - self.handed


@dataclass(slots=True)
class Items:
    """Items (statements and braces) of a body, numbered in `shapes` by their text without its numbers.

    `shapes` is 0 for items that cannot be in a loop iteration. `numbers` are the numbers in the texts. `next_like` is
    the index of the next item of the same shape; the end if there is none.
    """

    body: Body
    shapes: list[int] = field(default_factory=list[int])
    numbers: list[tuple[int, ...]] = field(default_factory=list["tuple[int, ...]"])
    next_like: list[int] = field(default_factory=list[int])

    def read(self, plan: RewritePlan) -> None:
        """Compute the shapes and numbers of the statements and braces that no rule has rewritten."""
        owned = {at for rewrite in plan.rewrites() for at in rewrite.own()}
        known: dict[Hashable, int] = {"{": _OPEN, "}": _CLOSE}
        parts: Parts = {}
        for at in range(self.body.start, self.body.end):
            text, numbers = _NOTHING if at in owned else self._read(at, parts)
            self.shapes.append(0 if text == "" else known.setdefault(text, len(known) + 1))
            self.numbers.append(numbers)
        last: dict[int, int] = {}
        self.next_like = [len(self.shapes)] * len(self.shapes)
        for at in range(len(self.shapes) - 1, -1, -1):
            self.next_like[at] = last.get(self.shapes[at], len(self.shapes))
            last[self.shapes[at]] = at

    def _read(self, at: int, parts: Parts) -> tuple[Hashable, tuple[int, ...]]:
        """Return a statement's text without its numbers, and the numbers; `_NOTHING` if no iteration may contain it."""
        item = self.body.items[at]
        node = item.node
        refused = self.body.row.refused.get(at)
        if self.body.deviates(at) and (
            refused is None or item.leading_trivia is not None or spelling_of(item) is not None
        ):
            return _NOTHING
        if isinstance(node, nodes.Instruction):
            text, numbers = _NOTHING if self.body.jump_at(at) else _instruction(node, parts)
            return (text, numbers) if refused is None else ((text, refused), numbers)
        if isinstance(node, nodes.Label):
            return self._label(at, node.name)
        if item.kind in {"{", "}"}:
            return item.kind, ()
        is_read = isinstance(node, nodes.Loc) or (isinstance(node, nodes.RegisterDeclaration) and item.depth > 1)
        return _without_numbers(item.canonical()) if is_read else _NOTHING

    def _label(self, at: int, name: str) -> tuple[str, tuple[int, ...]]:
        """Return the text of a debug label without its number, and the number."""
        found = _NUMBERED.fullmatch(name)
        if found is None or not self.body.marks(at):
            return _NOTHING
        return f"{found[1]}#:", (int(found[2]),)

    def columns(self, start: int, length: int, count: int) -> list[tuple[int, ...]]:
        """Return a column for each number in the text of an iteration: the values of that number in all iterations."""
        end = start + length * count
        return [
            column
            for place in range(start, start + length)
            for column in zip(*self.numbers[place:end:length], strict=True)
        ]

    def count(self, start: int, end: int, length: int, most: int) -> int:
        """Return how many iterations of `length` statements have equal shapes from index `start` on, at most `most`."""
        last = min(end - length, start + (most - 1) * length)
        at = start
        while at < last and self.shapes[at] == self.shapes[at + length] and self.shapes[at]:
            at += 1
        return (at - start) // length + 1

    def is_repeated(self, start: int, length: int, end: int) -> bool:
        """Return whether two iterations of `length` statements and braces from index `start` have equal shapes."""
        turn = self.shapes[start : start + length]
        behind = start + 2 * length
        return behind <= end and turn == self.shapes[start + length : behind] and 0 not in turn

    def is_balanced(self, start: int, length: int) -> bool:
        """Return whether an iteration contains the matching brace of each of its braces."""
        depth = 0
        for shape in self.shapes[start : start + length]:
            depth += (shape == _OPEN) - (shape == _CLOSE)
            if depth < 0:
                return False
        return depth == 0

    def handed(self, start: int, end: int, length: int) -> list[int]:
        """Return how many registers are live across iterations that start at `start` + 0 to `length - 1`."""
        written: dict[str, int] = {}
        uses: dict[tuple[str, int], int] = {}
        for at in range(start, min(start + 2 * length, end)):
            node = self.body.items[self.body.start + at].node
            if not isinstance(node, nodes.Instruction):
                continue
            names, first = registers_of(node)
            if not first or type(node.operands[0]) not in _RESULTS:
                first = 0
            for name in names[first:] if node.guard is None else (*names[first:], node.guard.register):
                if name in written:
                    uses[name, written[name]] = at
            for name in names[:first]:
                written[name] = at
        found = [0] * length
        for (_, first_at), last_at in uses.items():
            for cut in range(first_at + 1, min(last_at, first_at + length) + 1):
                found[(cut - start) % length] += 1
        return found


def _instruction(node: nodes.Instruction, parts: Parts) -> tuple[Hashable, tuple[int, ...]]:
    """Return an instruction's text without numbers, and the numbers; `parts` caches operands."""
    guard = None if node.guard is None else _without_numbers(f"@{'!' * node.guard.negated}{node.guard.register}")
    texts: list[Hashable] = [node.opcode, None if guard is None else guard[0]]
    numbers = () if guard is None else guard[1]
    for operand in node.operands:  # equal operands are one object in a parsed tree
        part = parts.get(id(operand))
        if part is None:
            part = parts[id(operand)] = _without_numbers(spell(operand))
        texts.append(part[0])
        numbers += part[1]
    return tuple(texts), numbers


@lru_cache(maxsize=1 << 14)
def _without_numbers(text: str) -> tuple[str, tuple[int, ...]]:
    numbers: list[int] = []

    def taken(match: re.Match[str]) -> str:
        numbers.append(int(match[2] or match[3] or match[4]))
        return f"{match[1] or ''}#"

    return _NUMBER.sub(taken, text), tuple(numbers)


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield the possible loops that save most lines, in text order, each followed by the loops nested in it."""
    items = Items(body)
    items.read(plan)
    for run in _runs(items, 0, len(items.shapes), 0):
        yield _rewrite(body.start + run.start, run)


def _runs(items: Items, start: int, end: int, level: int) -> Iterator[Run]:
    """Yield the possible loops between the indices `start` and `end`, and the loops nested in them."""
    at = start
    while at < end:
        best = _best(items, at, end, level)
        if best is None:
            at += 1
            continue
        yield from _runs(items, at, best.start, level)
        yield best
        yield from _inside(items, best)
        at = best.end


def _inside(items: Items, outer: Run) -> Iterator[Run]:
    """Yield, for each iteration of a loop, those nested loops that all iterations contain."""
    level = outer.level + 1
    if level == len(NAMES):
        return
    starts = range(outer.start, outer.end, outer.length)
    for run in _runs(items, outer.start, outer.start + outer.length, level):
        places = [at + run.start - outer.start for at in starts]
        if len({_steps(items.columns(at, run.length, run.count)) for at in places}) == 1:
            yield from (Run(at, run.length, run.count, run.level, run.saved) for at in places)


def _steps(columns: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple([tuple([number - column[0] for number in column]) for column in columns])


def _best(items: Items, at: int, end: int, level: int) -> Run | None:
    """Return the possible loop near an index that saves most lines; it may start up to one iteration later."""
    best: Run | None = None
    like = items.next_like[at] if items.shapes[at] else end
    for _ in range(_CANDIDATES):
        length = like - at
        if length > _LONGEST or like >= end:
            break
        if items.is_repeated(at, length, end):
            for run in _of_length(items, at, end, length, level):
                if best is None or run.worth > best.worth:
                    best = run
        like = items.next_like[like]
    return best


def _of_length(items: Items, at: int, end: int, length: int, level: int) -> Iterator[Run]:
    """Yield loops with iterations of `length` statements, from `at` and from the start with fewest live registers."""
    handed = items.handed(at, end, length)
    late = min(range(length), key=handed.__getitem__)
    for start in {at, at + late}:
        if items.is_balanced(start, length):
            yield from _turns(items, Run(start, length, 1, level, 0, handed[start - at]), end)


def _turns(items: Items, one: Run, end: int) -> Iterator[Run]:
    """Yield the loop `one` with all iterations of equal shape, and with as many iterations as need no table."""
    most, count = _FEW, items.count(one.start, end, one.length, _FEW)
    columns = items.columns(one.start, one.length, count)
    steps = list(map(stepped, columns))
    while count == most and len(_tables(columns, steps, count)) <= MOST_TABLES:
        most *= 4
        count = items.count(one.start, end, one.length, most)
        columns = items.columns(one.start, one.length, count)
        steps = list(map(stepped, columns))
    for turns in {count, min(steps, default=count)}:
        tables = _tables(columns, steps, turns)
        saved = one.length * (turns - 1) - 1 - len(tables)
        least = _LEAST_SAVED_BY_TABLES if tables else _LEAST_SAVED
        if turns < 2 or len(tables) > MOST_TABLES or saved < least:
            continue
        if turns == 2 and len({column[1] - column[0] for column in columns}) > _MOST_STEPS_OF_TWO:
            continue
        saved -= lines_of_table(list(tables)) if tables else 0
        if saved >= least:
            yield Run(one.start, one.length, turns, one.level, saved, one.handed)


def _tables(columns: Sequence[tuple[int, ...]], steps: Sequence[int], turns: int) -> dict[tuple[int, ...], None]:
    """Return the distinct columns of numbers that need a table; `steps` has each column's arithmetic prefix length."""
    return {each[:turns]: None for each, step in zip(columns, steps, strict=True) if step < turns}


def _rewrite(start: int, run: Run) -> Rewrite:
    end = start + run.length * run.count

    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        turns = [printer.apart(slot) for slot in slots]
        loop = looped([turn.unindented() for turn in turns], run.level)
        # A named register cannot be indexed by a loop counter: print registers as elements of their group.
        if loop is None:
            with printer.registers.numbered() as others:
                turns = [printer.apart(slot) for slot in slots] if others else turns
            loop = looped([turn.unindented() for turn in turns], run.level)
        if loop is None or not _saves(loop, turns) or (REPEAT.name, start, end) in printer.unrolled:
            _print_all(printer.page, turns)
        else:
            _print(printer.page, loop)

    turns = tuple([(at, at + run.length) for at in range(start, end, run.length)])
    return Rewrite(
        "repeat", start, end, write, turns, names=NAMES[run.level], repeats=True, like=(run.length, run.count)
    )


def _saves(loop: Loop, turns: Sequence[Page]) -> bool:
    """Return whether a loop has fewer statements than its unrolled iterations, which other rules may have shortened."""
    return len(loop.lines) + 1 < sum(len(turn.lines) for turn in turns)


def _print(page: Page, loop: Loop) -> None:
    if page.owner is not None:
        page.folded.add(page.owner)
    with page.block(loop.over, before=loop.header()):
        for line in loop.lines:
            page.rebroken(line)


def _print_all(page: Page, turns: Sequence[Page]) -> None:
    for turn in turns:
        for line, owner in zip(turn.unindented(), turn.owners, strict=True):
            with page.of(owner):
                page.rebroken(line)


REPEAT = SugarRule(
    name="repeat",
    summary="statements repeated with changing numbers as a Python loop, by steps or a table",
    before="add.s32 %r0, %r0, 1;\n\tadd.s32 %r1, %r1, 3;\n\tadd.s32 %r2, %r2, 5;\n\tadd.s32 %r3, %r3, 7;"
    "\n\tadd.s32 %r4, %r4, 9;",
    after="for i in range(5):\n    ptx.inst.add.s32(r[i], r[i], 1 + 2 * i)",
    find=find,
)
