"""Search for statement sequences that occur several times in a module, equal except for their leaf operands.

Statements are numbered by shape. Windows with power-of-two lengths are ranked by prefix doubling, as in the
construction of suffix arrays. Consecutive positions of one rank, compared as far as they are equal, give the
candidates. Candidates that save most Python lines are chosen first, at all positions that no chosen sequence contains.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from pyptx_ir.syntax import nodes
from pyptx_transpile.planning.shapes import Shapes
from pyptx_transpile.reading.rows import spelling_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from pyptx_transpile.planning.plan import Rewrite, RewritePlan
    from pyptx_transpile.planning.shapes import Names
    from pyptx_transpile.reading.rows import Body

__all__ = ["Repeated", "repeated"]

# Candidate sequences are compared by windows of 1 to `2**7` statements or braces, so they have fewer than 256.
_LEVELS = 7
_LEAST_ITEMS = 3
_MOST_LENGTHS = 16  # maximum lengths tried for sequences that begin with the same window of `2**n` statements
_NAMING = (nodes.RegisterDeclaration, nodes.Variable, nodes.Label)  # classes of statements that declare PTX names
_NUMBERS = "I"  # type code of `array.array` for 4-byte numbers, which save memory for long modules
_KINDS = (nodes.Instruction, nodes.Loc, *_NAMING)


@dataclass(frozen=True, slots=True)
class Repeated:
    """Repeated sequence of `length` statements and braces, with the start index of each occurrence, in module order.

    `printed` has the indices into `sites` of the occurrences that are printed: in a loop, only those in the first
    iteration.
    """

    length: int
    sites: tuple[int, ...]
    printed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Iteration:
    """Iteration `number`, up to before index `behind`, of the loop rewrite with indices `start` to before `end`."""

    start: int
    end: int
    number: int
    behind: int


class Statements:
    """Items (statements and braces) of a module's bodies by index, with the constraints on repeated sequences of items.

    `shapes` are equal if items differ only in leaf operands, 0 for items that no sequence may contain. A sequence with
    the item `at` must contain `first[at]` to before `last[at]`. It contains a loop rewrite with all its iterations, or
    is inside one iteration. `turns` has the iterations around an item, outermost first. `loops` maps starts of loop
    rewrites to ends.
    """

    def __init__(self, plans: Mapping[int, RewritePlan], names: Mapping[int, Names], size: int) -> None:
        """Assign numbers to the shapes of statements; a sequence must contain a rewrite wholly or not at all."""
        self.shapes = [0] * size
        self.first, self.last = list(range(size)), list(range(1, size + 1))
        self.turns: list[tuple[Iteration, ...]] = [()] * size
        self.loops: dict[int, int] = {}
        known: dict[Hashable, int] = {}
        numbers: dict[Hashable, int] = {}
        for plan in plans.values():
            self._number(names[plan.body.start], known, numbers)
            for jump in plan.body.jumps:
                self._join(min(jump.at, jump.target), max(jump.at, jump.target) + 1)
            for rewrite in plan.rewrites():  # `rewrites` yields an outer rewrite before the rewrites nested in it
                if rewrite.repeats:
                    self._turn(rewrite)
                    continue
                for at in rewrite.own():
                    self._bind(at, rewrite.start, rewrite.end)
        places = zip(self.first, self.last, self.turns, strict=True)
        self._bound = bytes([last - first > 1 or turns != () for first, last, turns in places])
        """Byte per statement or brace: 1 if in a loop, or if a sequence that contains it must contain its neighbors."""
        self._ties = list(self._tied_rows(size))
        self._ends = [end for _, end, _, _ in self._ties]

    def _number(self, names: Names, known: dict[Hashable, int], numbers: dict[Hashable, int]) -> None:
        body, shapes = names.body, Shapes(names, numbers)
        for at in range(body.start, body.end):
            scope = body.scopes[at]
            if body.items[at].kind == "{":
                self._join(at, body.row.ends[at] + 1)
            elif isinstance(body.items[at].node, _NAMING) and scope >= body.start:
                self._bind(at, scope, body.row.ends[scope] + 1)
            what = _shape(body, at, shapes)
            if what is not None:
                self.shapes[at] = known.setdefault(what, len(known) + 1)

    def _turn(self, rewrite: Rewrite) -> None:
        self.loops.setdefault(rewrite.start, rewrite.end)
        for number, (start, end) in enumerate(rewrite.inner):
            turn = Iteration(rewrite.start, rewrite.end, number, end)
            around, inside = None, tuple[Iteration, ...]()
            for at in range(start, end):
                if self.turns[at] is not around:
                    around = self.turns[at]
                    inside = (*around, turn)
                self.turns[at] = inside

    def _join(self, start: int, end: int) -> None:
        """Require that a sequence with the first or last statement of the slice `start` to `end` contains the slice."""
        self._bind(start, start, end)
        self._bind(end - 1, start, end)

    def _bind(self, at: int, start: int, end: int) -> None:
        self.first[at] = min(self.first[at], start)
        self.last[at] = max(self.last[at], end)

    def _tied_rows(self, size: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield the bounds of maximal index ranges whose statements a sequence may contain only with a larger slice.

        The bounds of that slice follow in the same tuple.
        """
        at = 0
        while at < size:
            begin, first, last = at, self.first[at], self.last[at]
            at += 1
            if last - first > 1:
                while at < size and self.first[at] == first and self.last[at] == last:
                    at += 1
                yield begin, at, first, last

    def whole(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the bounds of the largest subslices that divide neither a slice of `_tied_rows` nor a loop."""
        if self._bound.find(1, start, end) < 0:
            yield start, end
            return
        begin = start
        for at, behind, first, last in self._tied(start, end):
            if first < begin or last > end:
                if at > begin:
                    yield from self._in_turns(begin, at)
                begin = behind
        if end > begin:
            yield from self._in_turns(begin, end)

    def is_whole(self, start: int, end: int) -> bool:
        """Return whether a slice contains each slice of `_tied_rows` and each loop wholly or not at all."""
        if self._bound.find(1, start, end) < 0:
            return True
        whole = all(first >= start and last <= end for _, _, first, last in self._tied(start, end))
        return whole and self._cut(start, end) is None

    def printed(self, sites: Sequence[int]) -> list[int]:
        """Return the indices into `sites` of occurrences that are printed: in a loop, only in the first iteration."""
        return [number for number, at in enumerate(sites) if not any(turn.number for turn in self.turns[at])]

    def _in_turns(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the bounds of subslices that contain whole loops, or that are inside a loop's first iteration."""
        while start < end:
            first = self.turns[start]
            again = next((turn for turn in first if turn.number), None)
            cut = again.end if again is not None else self._cut(start, end)
            if cut is None:
                yield start, end
                return
            if again is None and cut > start:
                yield from self._in_turns(start, min(cut, end))
            start = cut

    def _cut(self, start: int, end: int) -> int | None:
        """Return the first index at which a slice must be cut to keep a loop whole; None if all its loops are whole."""
        first, last = self.turns[start], self.turns[end - 1]
        if not first and not last:
            return None
        common = 0
        while common < min(len(first), len(last)) and first[common] == last[common]:
            common += 1
        for turn in first[common:]:
            if turn.start < start or turn.end > end:
                return turn.behind
        for turn in last[common:]:
            if turn.start < start or turn.end > end:
                return turn.start
        return None

    def _tied(self, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield the tuples of `_tied_rows` whose index range overlaps the indices `start` to before `end`."""
        for index in range(bisect_right(self._ends, start), len(self._ties)):
            tie = self._ties[index]
            if tie[0] >= end:
                return
            yield tie


def _shape(body: Body, at: int, shapes: Shapes) -> Hashable | None:
    """Return the shape of a statement or brace; None if a helper cannot contain it, such as a label of the function."""
    item = body.items[at]
    node = item.node
    own = (item.leading_trivia, spelling_of(item), at in body.row.refused) if body.deviates(at) else None
    if isinstance(node, nodes.Instruction):
        if _is_of_function(body, at, node):
            return None
        return shapes.shape(at) if own is None else (shapes.shape(at), own)
    if item.kind in {"{", "}"}:
        return item.kind, own
    if not isinstance(node, _KINDS) or (item.depth == 1 and not isinstance(node, nodes.Loc)):
        return None
    return node, own


def _is_of_function(body: Body, at: int, node: nodes.Instruction) -> bool:
    """Return whether an instruction accesses a parameter of the function, exits it, or branches to its labels."""
    if node.opcode[0] in {"bra", "brx", "ret", "exit"}:
        jump = body.jump_at(at)
        return jump is None or body.items[jump.target].depth == 1
    return node.opcode[:2] in {("ld", "param"), ("st", "param")} and body.items[at].depth == 1


def repeated(
    plans: Mapping[int, RewritePlan],
    names: Mapping[int, Names],
    size: int,
    saved: Callable[[int, int, int], float],
    taken: Callable[[Repeated], bool],
) -> None:
    """Find the disjoint sequences for which helper functions save lines, in descending order of saved lines.

    `saved` returns the lines saved for the start, length and number of occurrences of a sequence; worthless if not
    positive. `taken` gets a sequence and returns whether a helper replaces it, so that no later sequence overlaps it.
    """
    statements = Statements(plans, names, size)
    ranks = _ranks(statements.shapes)
    windows = [_places(rank) for rank in ranks]
    free = bytearray(b"\1") * size

    def sites(start: int, length: int) -> tuple[int, ...]:
        return tuple(_sites(statements, ranks, windows, free, start, length))

    heap: list[tuple[float, int, int]] = []
    for start, length in _candidates(statements, ranks, windows):
        worth = saved(start, length, len(statements.printed(sites(start, length))))
        if worth > 0:
            heap.append((-worth, start, length))
    heapq.heapify(heap)
    while heap:
        promised, start, length = heapq.heappop(heap)
        found = sites(start, length)
        printed = tuple(statements.printed(found))
        worth = saved(start, length, len(printed)) if len(printed) > 1 else 0
        if worth < -promised:
            if worth > 0:
                heapq.heappush(heap, (-worth, start, length))
            continue
        if taken(Repeated(length, found, printed)):
            for site in found:
                free[site : site + length] = bytes(length)


def _ranks(shapes: Sequence[int]) -> list[array[int]]:
    """Return, by level and index, a number that equal windows of `2**level` shapes share; 0 if a window occurs once."""
    size = len(shapes)
    rank, places = _counted(size, {at: shape for at, shape in enumerate(shapes) if shape})
    ranks = [rank]
    for level in range(_LEVELS):
        half = 1 << level
        pairs: dict[tuple[int, int], int] = {}
        wider = {
            at: pairs.setdefault((rank[at], rank[at + half]), len(pairs) + 1)
            for at in places
            if at + half < size and rank[at + half]
        }
        rank, places = _counted(size, wider)
        ranks.append(rank)
    return ranks


def _counted(size: int, numbers: Mapping[int, int]) -> tuple[array[int], list[int]]:
    """Return the window number by index (0 for a window that occurs once), and the indices of repeated windows."""
    counts = Counter(numbers.values())
    rank, places = array(_NUMBERS, bytes(size * array(_NUMBERS).itemsize)), list[int]()
    for at, number in numbers.items():
        if counts[number] > 1:
            rank[at] = number
            places.append(at)
    return rank, places


def _places(rank: Sequence[int]) -> dict[int, array[int]]:
    """Return, by the nonzero number that equal windows share, the indices at which these windows start."""
    places: defaultdict[int, array[int]] = defaultdict(lambda: array(_NUMBERS))
    for at, each in enumerate(rank):
        if each:
            places[each].append(at)
    return places


def _candidates(
    statements: Statements, ranks: Sequence[Sequence[int]], windows: Sequence[Mapping[int, Sequence[int]]]
) -> Iterator[tuple[int, int]]:
    """Yield the start and length of each sequence that may occur several times, without duplicates."""
    seen: defaultdict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    for start, end in _pieces(statements, ranks, windows):
        length = end - start
        level = length.bit_length() - 1
        if length < _LEAST_ITEMS:
            continue
        key = length, ranks[level][end - (1 << level)]
        others = seen[level, ranks[level][start]]
        if key not in others and len(others) < _MOST_LENGTHS:
            others.add(key)
            yield start, length


def _pieces(
    statements: Statements, ranks: Sequence[Sequence[int]], windows: Sequence[Mapping[int, Sequence[int]]]
) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the longest slices that recur later with equal shapes, and of whole scopes and loops."""
    shapes = statements.shapes
    for level, places in enumerate(windows[1:], 1):
        wider = ranks[level + 1] if level < _LEVELS else ()
        for group in places.values():
            before = {shapes[at - 1] for at in group}
            if len(before) == 1 and 0 not in before:
                continue  # the statements before these windows are equal too, so a longer sequence starts earlier
            for at, like in pairwise(group):
                if wider and wider[at] and wider[at] == wider[like] and shapes[at - 1] != shapes[like - 1]:
                    continue  # the sequences at `at` and `like` are compared with windows of twice this length
                common = _common(ranks, at, like)
                yield from statements.whole(at, at + common)
                if common > like - at:  # sequences of `common` statements at `at` and `like` would overlap
                    yield from statements.whole(at, like)
    for at, end in chain(enumerate(statements.last), statements.loops.items()):
        if end > at + 1 and statements.first[at] == at and shapes[at]:
            level = (end - at).bit_length() - 1
            if level < len(ranks) and ranks[level][at] and ranks[level][end - (1 << level)]:
                yield at, end


def _common(ranks: Sequence[Sequence[int]], at: int, like: int) -> int:
    """Return how many shapes from index `at` equal the shapes from index `like`, up to the maximum sequence length."""
    length = 0
    for level in range(len(ranks) - 1, -1, -1):
        rank = ranks[level]
        if like + length < len(rank) and rank[at + length] and rank[at + length] == rank[like + length]:
            length += 1 << level
    return length


def _sites(
    statements: Statements,
    ranks: Sequence[Sequence[int]],
    windows: Sequence[Mapping[int, Sequence[int]]],
    free: bytearray,
    start: int,
    length: int,
) -> Iterator[int]:
    """Yield the start of each occurrence of a sequence that overlaps no other occurrence and no earlier sequence."""
    level = length.bit_length() - 1
    behind = length - (1 << level)
    wanted, end = ranks[level][start + behind], 0
    for at in windows[level][ranks[level][start]]:
        if at < end or ranks[level][at + behind] != wanted or free.find(0, at, at + length) >= 0:
            continue
        if statements.is_whole(at, at + length):
            yield at
            end = at + length
