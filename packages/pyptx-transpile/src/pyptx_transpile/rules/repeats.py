"""The same statements again and again, with other numbers: a `for` of Python, whose numbers are steps or a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes
from pyptx_transpile.layout import Group, call
from pyptx_transpile.plan import Claim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_transpile.body_printer import BodyPrinter
    from pyptx_transpile.plan import Plan, Slot
    from pyptx_transpile.rows import Body

__all__ = ["REPEAT", "runs_of"]

_LONGEST = 64  # items of one turn
_CANDIDATES = 5  # lengths of a turn that are tried at one place
_LEAST_SAVED, _LEAST_SAVED_BY_TABLES = 3, 6  # lines of Python
_MOST_TABLES = 3
_FEW = 4  # turns that are looked at first; more are where these have few tables
_WIDEST_TABLE = 80  # columns
_SHORTEST_RUN, _LONGEST_CYCLE = 4, 8  # numbers
_NAMES = ("i", "t", "u", "v")
_OPEN, _CLOSE = 1, 2  # the shapes of braces
# In PTX: the number of a register, and a literal that stands by itself. In Python: literals outside of strings.
_IN_PTX = re.compile(r"(?<=%)([A-Za-z_$]*?)(\d+)(?![\w$])|(?<![\w$.%])(-?\d+)(?![\w$.])", re.ASCII)
_IN_PYTHON = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<![\w.])(-?\d+)(?![\w.])""", re.ASCII)
_SLICE = re.compile(r"\[([^\[\]]*\b[ituv]\b[^\[\]]*)\]", re.ASCII)
_COUNTED = re.compile(r"\bi\b", re.ASCII)
_KINDS = (nodes.Instruction, nodes.Block, nodes.RegisterDeclaration)


@dataclass(frozen=True, slots=True)
class Turns:
    """`count` turns of `length` items from `start` on, with so many columns of numbers that are no steps."""

    start: int
    length: int
    count: int
    tables: int
    saved: int


def find(body: Body, plan: Plan) -> Iterator[Claim]:
    """Yield the runs of turns that save most, from the top down."""
    shapes, numbers = _shapes(body, plan)
    next_like = _next_like(shapes)
    at = 0
    while at < len(shapes):
        best = _best(shapes, numbers, next_like, at)
        if best is None:
            at += 1
            continue
        start = body.start + best.start
        yield _claim(start, best.length, best.count)
        at += best.length * best.count


def _shapes(body: Body, plan: Plan) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return a number for what each item is but for its numbers, and these; 0 for what is never in a turn."""
    known = {"{": _OPEN, "}": _CLOSE}
    shapes: list[int] = []
    numbers: list[tuple[int, ...]] = []
    owned = {at for claim in plan.claims() for at in _own(claim)}
    for at in range(body.start, body.end):
        item = body.items[at]
        opaque = at in owned or body.jump_at(at) is not None or body.deviates(at)
        plain = item.kind == "}" or isinstance(item.node, _KINDS)
        if opaque or not plain or (item.kind == "RegisterDeclaration" and item.depth == 1):
            shapes.append(0)
            numbers.append(())
            continue
        text = item.canonical() if item.kind not in {"{", "}"} else item.kind
        found: list[int] = []

        def taken(match: re.Match[str], found: list[int] = found) -> str:
            found.append(int(match[2] or match[3]))
            return f"{match[1] or ''}#"

        shapes.append(known.setdefault(_IN_PTX.sub(taken, text), len(known) + 1))
        numbers.append(tuple(found))
    return shapes, numbers


def _own(claim: Claim) -> Iterator[int]:
    at = claim.start
    for start, end in claim.inner:
        yield from range(at, start)
        at = end
    yield from range(at, claim.end)


def _next_like(shapes: Sequence[int]) -> list[int]:
    """Return, for each place, the next one of the same shape; the end if there is none."""
    last: dict[int, int] = {}
    found = [len(shapes)] * len(shapes)
    for at in range(len(shapes) - 1, -1, -1):
        found[at] = last.get(shapes[at], len(shapes))
        last[shapes[at]] = at
    return found


def _best(shapes: Sequence[int], numbers: Sequence[tuple[int, ...]], next_like: Sequence[int], at: int) -> Turns | None:
    """Return the turns from a place on that save most."""
    best: Turns | None = None
    if not shapes[at]:
        return None
    like = next_like[at]
    for _ in range(_CANDIDATES):
        length = like - at
        if length > _LONGEST or like >= len(shapes):
            break
        for turns in _turns(shapes, numbers, at, length):
            if best is None or turns.saved > best.saved:
                best = turns
        like = next_like[like]
    return best


def _turns(shapes: Sequence[int], numbers: Sequence[tuple[int, ...]], at: int, length: int) -> Iterator[Turns]:
    """Yield the turns of a length: as many as are alike, and as many as have steps alone."""
    most, count = _FEW, _count(shapes, at, length, _FEW)
    if count < 2 or not _is_balanced(shapes[at : at + length]):
        return
    columns = _columns(numbers, at, length, count)
    while count == most and len({tuple(each) for each in columns if _stepped(each) < count}) <= _MOST_TABLES:
        most *= 4
        count = _count(shapes, at, length, most)
        columns = _columns(numbers, at, length, count)
    stepped = min((_stepped(column) for column in columns), default=count)
    for turns in {count, stepped}:
        tables = len({tuple(column[:turns]) for column in columns if _stepped(column[:turns]) < turns})
        saved = length * (turns - 1) - 1 - tables
        if turns >= 2 and tables <= _MOST_TABLES and saved >= (_LEAST_SAVED_BY_TABLES if tables else _LEAST_SAVED):
            yield Turns(at, length, turns, tables, saved)


def _count(shapes: Sequence[int], at: int, length: int, most: int) -> int:
    """Return how many turns of a length are alike from a place on."""
    last = min(len(shapes) - length, at + (most - 1) * length)
    end = at
    while end < last and shapes[end] == shapes[end + length] and shapes[end]:
        end += 1
    return (end - at) // length + 1


def _columns(numbers: Sequence[tuple[int, ...]], at: int, length: int, count: int) -> list[list[int]]:
    """Return each number of a turn as it is in all turns."""
    return [
        [numbers[at + turn * length + place][number] for turn in range(count)]
        for place in range(length)
        for number in range(len(numbers[at + place]))
    ]


def _is_balanced(shapes: Sequence[int]) -> bool:
    depth = 0
    for shape in shapes:
        depth += (shape == _OPEN) - (shape == _CLOSE)
        if depth < 0:
            return False
    return depth == 0


def _stepped(column: Sequence[int]) -> int:
    """Return how many numbers from the first on have the same step."""
    for at in range(2, len(column)):
        if column[at] - column[at - 1] != column[1] - column[0]:
            return at
    return len(column)


def _claim(start: int, length: int, count: int) -> Claim:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        turns = [printer.lines(at, at + length) for at in range(start, start + length * count, length)]
        loop = _loop(turns)
        if loop is None:
            for line in [line for turn in turns for line in turn]:
                printer.page.rebroken(line)
            return
        names, values, lines = loop
        with printer.page.block(values, before=f"for {names} in "):
            for line in lines:
                printer.page.rebroken(line)

    return Claim("repeat", start, start + length * count, write, opens=1, names=_NAMES)


def _loop(turns: Sequence[Sequence[str]]) -> tuple[str, Group, list[str]] | None:
    """Return the names and the values of a `for`, and the lines of its block, if turns differ in numbers alone."""
    first = turns[0]
    if any(len(turn) != len(first) for turn in turns):
        return None
    tables: dict[tuple[int, ...], str] = {}
    lines: list[str] = []
    for number in range(len(first)):
        line = _merged([turn[number] for turn in turns], tables)
        if line is None:
            return None
        lines.append(line)
    if len(tables) > _MOST_TABLES:
        return None
    counted = any(_COUNTED.search(_IN_PYTHON.sub("", line)) for line in lines)
    return (*_header(len(turns), tables, counted=counted), lines)


def _merged(lines: Sequence[str], tables: dict[tuple[int, ...], str]) -> str | None:
    """Return one line for those of all turns; None if more than numbers differs."""
    pieces = [_IN_PYTHON.split(line) for line in lines]
    texts = {tuple([piece for at, piece in enumerate(row) if at % 3 != 2]) for row in pieces}
    if len(texts) != 1:
        return None
    merged = list(pieces[0])
    for at in range(2, len(merged), 3):
        column = tuple([int(row[at]) for row in pieces if row[at] is not None])
        if column:
            merged[at] = _number(column, tables)
    return _SLICE.sub(_spaced, "".join([piece for piece in merged if piece is not None]))


def _spaced(index: re.Match[str]) -> str:
    """Return an index with blanks around the colons between expressions, as formatters put them."""
    return f"[{index[1].replace(':', ' : ')}]"


def _number(column: tuple[int, ...], tables: dict[tuple[int, ...], str]) -> str:
    """Return the expression of a number that is another one in each turn."""
    start, step = column[0], column[1] - column[0]
    if _stepped(column) < len(column):
        if column not in tables and len(tables) < len(_NAMES) - 1:
            tables[column] = _NAMES[1 + len(tables)]
        return tables.get(column, "?")
    if step == 0:
        return str(start)
    times = "i" if abs(step) == 1 else f"{abs(step)} * i"
    if start == 0:
        return times if step > 0 else f"-{times}"
    return f"{start} {'+' if step > 0 else '-'} {times}"


def _header(count: int, tables: dict[tuple[int, ...], str], *, counted: bool) -> tuple[str, Group]:
    if not tables:
        return "i" if counted else "_", call("range", [str(count)])
    names = list(tables.values())
    bound, values = ", ".join(names), _values(list(tables))
    if not counted:
        return bound, values
    return f"i, {bound if len(names) == 1 else f'({bound})'}", call("enumerate", [values])


def _values(columns: Sequence[tuple[int, ...]]) -> Group:
    """Return the rows of a table if they fit on a line, else its columns, in which runs of numbers are short."""
    rows = [str(row[0]) if len(row) == 1 else f"({', '.join(map(str, row))})" for row in zip(*columns, strict=True)]
    if len(", ".join(rows)) <= _WIDEST_TABLE:
        return Group("(", tuple(rows), ")")
    short = [Group("(", tuple(runs), ",)" if len(runs) == 1 else ")") for runs in map(runs_of, columns)]
    return short[0] if len(short) == 1 else call("zip", [*short, "strict=True"])


def runs_of(column: Sequence[int]) -> list[str]:
    """Return the numbers of a column; those that have a step, or come again and again, as one item."""
    found: list[str] = []
    at = 0
    while at < len(column):
        text, length = max((_row(column[at:]), _cycle(column[at:])), key=lambda run: run[1])
        found.append(text)
        at += length
    return found


def _row(column: Sequence[int]) -> tuple[str, int]:
    """Return the numbers at the beginning that have a step, and how many they are; one if they are too few."""
    length = _stepped(column)
    step = column[1] - column[0] if length >= _SHORTEST_RUN else 0
    if step == 0:
        return str(column[0]), 1
    more = "" if step == 1 else f", {step}"
    return f"*range({column[0]}, {column[0] + step * length}{more})", length


def _cycle(column: Sequence[int]) -> tuple[str, int]:
    """Return the numbers at the beginning that come again and again, and how many they are in all."""
    best = "", 0
    for period in range(1, _LONGEST_CYCLE + 1):
        same = (one == other for one, other in zip(column, column[period:], strict=False))
        turns = 1 + sum(takewhile(bool, same)) // period
        if turns * period > max(best[1], _SHORTEST_RUN - 1, 2 * period):
            best = f"*[{', '.join(map(str, column[:period]))}] * {turns}", turns * period
    return best


REPEAT = SugarRule(
    name="repeat",
    summary="the same statements with other numbers, in steps or by a table",
    before="add.s32 %r0, %r0, 1;\n\tadd.s32 %r1, %r1, 3;\n\tadd.s32 %r2, %r2, 5;\n\tadd.s32 %r3, %r3, 7;"
    "\n\tadd.s32 %r4, %r4, 9;",
    after="for i in range(5):\n    ptx.inst.add.s32(r[i], r[i], 1 + 2 * i)",
    find=find,
)
