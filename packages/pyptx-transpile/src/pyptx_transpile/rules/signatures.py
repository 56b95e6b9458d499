"""Parameters of a helper for a repeated sequence: the operands that differ between its occurrences.

Registers that are consecutive in a group at each occurrence are one list argument; a vector is one argument.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate, compress
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.forms.readings import readings
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.shapes import NUMBER, SYMBOL, Leaf, Rewriting
from pyptx_transpile.printing.outlined import Argument, Parameter
from pyptx_transpile.printing.values import literal
from pyptx_transpile.reading.names import identifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_transpile.planning.shapes import Names
    from pyptx_transpile.reading.rows import Body

__all__ = ["Leaves", "Signature", "Site", "differ_too_much", "signature"]

# (minimum registers, maximum index step) of registers passed as one list argument, tried in this order.
_LISTS = ((3, 1), (2, 1), (2, 2))
_LISTS_OF_LOOPS = ((3, 8), (2, 8))  # `_LISTS` for sequences that contain loops, whose iterations use distinct registers
_LEAST_VECTOR = 3  # minimum elements of a vector operand that is passed to a helper function as one argument
_MOST, _MOST_OF_LONG = 6, 7  # maximum arguments of a helper function for a short sequence, and for a long one
_LONG = 48  # minimum instructions of a long sequence, whose helper function may have `_MOST_OF_LONG` arguments
# Names of variables in printed loops, unavailable for parameters of helper functions.
_TAKEN = ("i", "t", "u", "v", "_")

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """Occurrence of a sequence: the leaf operands that it does not declare itself, and slices of them that are vectors.

    Leaves with equal `keys` are one argument; `inner`: whether the sequence may declare some of the leaves.
    """

    leaves: tuple[Leaf, ...]
    keys: tuple[Key, ...]
    vectors: tuple[tuple[int, int], ...]
    inner: bool = False


class Leaves:
    """Cache of the leaf operands of a body's instructions."""

    def __init__(self, names: Names) -> None:
        """Store the `Names` of the body, which resolve its registers and symbols."""
        self._names = names
        self._known: dict[int, Site] = {}

    def site(self, start: int, end: int) -> Site:
        """Return the leaf operands of the statements from index `start` to before `end`."""
        leaves: list[Leaf] = []
        keys: list[Key] = []
        vectors: list[tuple[int, int]] = []
        for at in range(start, end):
            one = self._known.get(at) or self._read(at)
            if one.inner:
                one = _without(one, start, end)
            if one.vectors:
                vectors += [(len(leaves) + first, len(leaves) + last) for first, last in one.vectors]
            leaves += one.leaves
            keys += one.keys
        return Site(tuple(leaves), tuple(keys), tuple(vectors))

    def _read(self, at: int) -> Site:
        leaves: list[Leaf] = []
        vectors: list[tuple[int, int]] = []
        if self._names.body.instruction(at) is None:
            site = self._known[at] = Site((), (), ())
            return site

        def taken(leaf: Leaf) -> tree.Operand:
            leaves.append(leaf)
            return leaf.operand

        def vector(before: tree.Vector, _after: tree.Vector) -> tree.Operand:
            first = len(leaves) - len(before.elements)
            if first >= 0 and all(
                one.operand is each for one, each in zip(leaves[first:], before.elements, strict=True)
            ):
                vectors.append((first, len(leaves)))
            return before

        Rewriting(self._names, taken, vector).parts(at)
        inner = any(leaf.declared is not None and leaf.declared.is_inner for leaf in leaves)
        site = self._known[at] = Site(tuple(leaves), tuple(map(_key, leaves)), tuple(vectors), inner)
        return site


def _without(site: Site, start: int, end: int) -> Site:
    """Return an occurrence without the leaves that the slice declares, and without vectors that contain such leaves."""
    kept = [leaf.declared is None or not start <= leaf.declared.at < end for leaf in site.leaves]
    numbers = list(accumulate(kept, initial=0))
    vectors = [
        (numbers[first], numbers[last])
        for first, last in site.vectors
        if numbers[last] - numbers[first] == last - first
    ]
    return Site(tuple(compress(site.leaves, kept)), tuple(compress(site.keys, kept)), tuple(vectors))


def _key(leaf: Leaf) -> Key:
    """Return a key that leaves share if one argument can replace them."""
    if leaf.declared is not None:
        return leaf.declared.name, leaf.declared.number, leaf.declared.at
    if isinstance(leaf.operand, tree.Immediate):
        return (literal(leaf.operand, leaf.opcode),)
    return (leaf.operand.name,)


@dataclass(frozen=True, slots=True)
class ArgumentColumns:
    """Columns of leaves that form one argument: a list of `width` group registers, one leaf, or a vector."""

    columns: tuple[int, ...]
    offsets: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Number of registers in the list argument, including registers that the helper does not use."""
        return self.offsets[-1] + 1 if self.offsets else 0


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters of a helper, and the call arguments for each occurrence of its sequence.

    `names`: per leaf of the first occurrence its parameter register; None if the leaf is constant. `whole`: by the
    register of a vector's first element, the register that represents the vector.
    """

    parameters: tuple[Parameter, ...]
    arguments: tuple[tuple[Argument, ...], ...]
    names: tuple[str | None, ...]
    whole: Mapping[str, str]


class Columns:
    """Leaf operands of all occurrences: leaves that are equal to each other in every occurrence form one column."""

    def __init__(self, bodies: Sequence[Body], sites: Sequence[Site], *, loops: bool = False) -> None:
        """Group the leaves of equal-shaped occurrences in `bodies`; `loops`: list arguments may skip more registers."""
        self.bodies, self.sites = bodies, sites
        self._ways = _LISTS_OF_LOOPS if loops else _LISTS
        known: dict[tuple[Key, ...], int] = {}
        self.of: list[int] = []
        self.rows: list[tuple[Leaf, ...]] = []
        leaves = zip(*[site.leaves for site in sites], strict=True)
        for keys, row in zip(zip(*[site.keys for site in sites], strict=True), leaves, strict=True):
            column = known.setdefault(keys, len(known))
            self.of.append(column)
            if column == len(self.rows):
                self.rows.append(row)
        self.keys = list(known)
        is_long = len({leaf.at for leaf in sites[0].leaves}) >= _LONG
        self.most = _MOST_OF_LONG if is_long else _MOST
        """Maximum number of arguments of the helper."""

    def given(self) -> list[ArgumentColumns]:
        """Return the helper's arguments, each with the columns that it replaces; as few arguments as possible."""
        open_ = [column for column in dict.fromkeys(self.of) if self._differs(column)]
        vectors = list(self._vectors())
        inside = {column for vector in vectors for column in vector}
        others = [column for column in open_ if column not in inside]
        given: list[ArgumentColumns] = []
        for least, step in self._ways:
            given = [*[ArgumentColumns(vector) for vector in vectors], *self._lists(others, least, step)]
            if len(given) <= self.most:
                break
        return given

    def _differs(self, column: int) -> bool:
        """Return whether a column's leaves need an argument: constants or symbols equal in all occurrences do not."""
        return self.rows[column][0].declared is not None or len(set(self.keys[column])) > 1

    def _vectors(self) -> Iterator[tuple[int, ...]]:
        """Yield the columns of each vector operand whose registers occur in no other operand, unless all are equal."""
        found = [tuple(self.of[first:end]) for first, end in self.sites[0].vectors if end - first >= _LEAST_VECTOR]
        uses: defaultdict[int, set[tuple[int, ...]]] = defaultdict(set)
        for vector in found:
            for column in vector:
                uses[column].add(vector)
        within = {
            at for first, end in self.sites[0].vectors if end - first >= _LEAST_VECTOR for at in range(first, end)
        }
        alone = {column for at, column in enumerate(self.of) if at not in within}
        for vector in dict.fromkeys(found):
            registers = all(self.rows[column][0].declared is not None for column in vector)
            several = len(set(vector)) > 1
            if registers and several and all(len(uses[column]) == 1 and column not in alone for column in vector):
                yield vector

    def _lists(self, columns: Sequence[int], least: int, step: int) -> Iterator[ArgumentColumns]:
        """Yield list arguments of `least` or more registers, at most `step` apart; one argument per other column."""
        tied: defaultdict[object, list[tuple[int, int]]] = defaultdict(list)
        for column in columns:
            tied[self._tie(column)].append((self._number(column), column))
        for key, members in tied.items():
            run: list[tuple[int, int]] = []
            for member in sorted(members) if key is not None else ():
                if run and member[0] - run[-1][0] > step:
                    yield from _run(run, least)
                    run = []
                run.append(member)
            yield from _run(run, least)
        yield from (ArgumentColumns((column,)) for _, column in tied[None])

    def _tie(self, column: int) -> object:
        """Return a key that two columns share if the index distance of their registers is equal in all occurrences.

        None unless all registers of the column are in register groups.
        """
        banks: list[object] = []
        first = self.rows[column][0].declared
        for leaf in self.rows[column]:
            if first is None or first.number is None or leaf.declared is None or leaf.declared.number is None:
                return None
            banks += leaf.declared.name, leaf.declared.at, leaf.declared.number - first.number
        return tuple(banks)

    def _number(self, column: int) -> int:
        declared = self.rows[column][0].declared
        return 0 if declared is None or declared.number is None else declared.number


def _run(run: Sequence[tuple[int, int]], least: int) -> Iterator[ArgumentColumns]:
    """Yield a run of register columns as one list argument, or one argument per column if the run is below `least`."""
    if len(run) < least:
        yield from (ArgumentColumns((column,)) for _, column in run)
    else:
        yield ArgumentColumns(tuple([column for _, column in run]), tuple([number - run[0][0] for number, _ in run]))


def differ_too_much(bodies: Sequence[Body], sites: Sequence[Site], most: int, *, loops: bool) -> bool:
    """Return whether a helper for these occurrences, and so for more occurrences, needs more than `most` arguments."""
    columns = Columns(bodies, sites, loops=loops)
    return len(columns.given()) > min(columns.most, most)


def signature(bodies: Sequence[Body], sites: Sequence[Site], main: int, most: int, *, loops: bool) -> Signature | None:
    """Return a helper's parameters and its arguments at each occurrence; None for no parameters or too many.

    `main` is the index of the instruction in the first occurrence whose operands name the parameters. With `loops`,
    list arguments cover the registers of all iterations.
    """
    columns = Columns(bodies, sites, loops=loops)
    given = columns.given()
    if not 0 < len(given) <= min(columns.most, most):
        return None
    given.sort(key=lambda each: _order(columns, each, main))
    parameters: list[Parameter] = []
    names: dict[int, str] = {}
    whole: dict[str, str] = {}
    for each in given:
        name = identifier(_wanted(columns, each, main), (*_TAKEN, *(one.name for one in parameters)))
        stem = f"%{name}$"
        numbers = each.offsets or range(len(each.columns))
        names |= {column: f"{stem}{number}" for column, number in zip(each.columns, numbers, strict=True)}
        is_vector = not each.offsets and len(each.columns) > 1
        if is_vector:
            # The vector is passed whole, even if a later element is the same register.
            whole[names[each.columns[0]]] = stem
        alone: dict[str, int | None] = {stem if is_vector else f"{stem}0": None}
        registers = {f"{stem}{number}": number for number in each.offsets} or alone
        parameters.append(Parameter(name, _annotation(columns, each), registers))
    arguments = [tuple([_argument(columns, each, site) for each in given]) for site in range(len(sites))]
    return Signature(tuple(parameters), tuple(arguments), tuple([names.get(column) for column in columns.of]), whole)


def _argument(columns: Columns, given: ArgumentColumns, site: int) -> Argument:
    leaves = [columns.rows[column][site] for column in given.columns]
    first = leaves[0]
    if given.offsets:
        return Argument(first.operand, count=given.width)
    if len(leaves) == 1:
        return Argument(first.operand, first.opcode)
    return Argument(tree.Vector(tuple([leaf.operand for leaf in leaves])), first.opcode)


def _annotation(columns: Columns, given: ArgumentColumns) -> str:
    column, *others = given.columns
    if others:
        return "list[reg.Reg]"
    first = columns.rows[column][0]
    if first.declared is not None:
        return "reg.Reg"
    texts = [str(key[0]) for key in columns.keys[column]] if first.type == NUMBER else ["''"]
    kinds = {"str" if text[0] in "\"'" else "float" if set(text) & set(".en") else "int" for text in texts}
    return " | ".join(sorted(kinds))


def _uses(columns: Columns, given: ArgumentColumns) -> Iterator[Leaf]:
    """Yield the leaves of the first occurrence that an argument replaces, in text order."""
    wanted = set(given.columns)
    return (leaf for leaf, column in zip(columns.sites[0].leaves, columns.of, strict=True) if column in wanted)


def _order(columns: Columns, given: ArgumentColumns, main: int) -> tuple[int, int, int]:
    """Return the sort key of an argument: its operand index in the instruction at `main`, else its text position."""
    uses = list(_uses(columns, given))
    in_main = [leaf.number for leaf in uses if leaf.at == main and leaf.number is not None]
    return (0, in_main[0], 0) if in_main else (1, uses[0].at, uses[0].number or 0)


def _wanted(columns: Columns, given: ArgumentColumns, main: int) -> str:
    """Return the preferred name of a parameter: a list's register group, else the PTX manual's name of the operand."""
    uses = list(_uses(columns, given))
    leaf = next((each for each in uses if each.at == main), uses[0])
    if given.offsets and leaf.declared is not None:
        return leaf.declared.name
    if leaf.type == SYMBOL:
        return "symbol"
    role = "p" if leaf.number is None else _role(columns.bodies[0].branch(leaf.at), leaf)
    if leaf.type == NUMBER and len(role) == 1:
        return "number"
    return role


def _role(node: nodes.Instruction, leaf: Leaf) -> str:
    """Return the PTX manual's name of the operand that contains a leaf."""
    operand = node.operands[leaf.number or 0]
    if leaf.type == NUMBER and isinstance(operand, tree.Address):
        return "offset"
    reading = next(readings(node), None)
    names = () if reading is None else tuple(reading.operands)
    return names[leaf.number or 0] if len(names) == len(node.operands) else "a"
