"""Layouts of a PTX module: parameters, variables in shared memory, fragments of matrix instructions.

Manual: "State Spaces, Types, and Variables", "Matrix Fragments".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyptx_dsl.contract.tables import PARAMETER
from pyptx_ir.drawing import notebook, stacked, table, text_lines
from pyptx_ir.fragments.drawing import head_of, steps_of
from pyptx_ir.fragments.instructions import fragments_in
from pyptx_ir.isa.modules.sizes import storage_of
from pyptx_ir.syntax.nodes import Function, Instruction, Variable
from pyptx_ir.syntax.source import visible
from pyptx_ir.syntax.walk import walk
from pyptx_ir.terminal import aligned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyptx_dsl.shared_memory.tiles import SharedTile
    from pyptx_ir.drawing import Drawing, Markup
    from pyptx_ir.fragments import Fragment
    from pyptx_ir.plugins.rows import SharedVariable
    from pyptx_ir.syntax.nodes import Module

_WIDEST: Final = 160  # letters of a line of text
_PLACED: Final = ("offset", "bytes", "alignment", "type", "name")
_USED: Final = ("instruction", "operands", "fragment")


@dataclass(frozen=True, slots=True)
class Placed:
    """A parameter or variable: offset and size in bytes; None if the module does not determine them."""

    name: str
    type: str
    offset: int | None
    bytes: int | None
    alignment: int

    @property
    def row(self) -> tuple[int | str, ...]:
        """Cells of the table; an unknown offset or size is `?`."""
        unknown = ("?" if each is None else each for each in (self.offset, self.bytes))
        return (*unknown, self.alignment, self.type, visible(self.name))


@dataclass(frozen=True, slots=True)
class Used:
    """A matrix instruction, and the fragment that some of its operands have."""

    opcode: str
    operands: tuple[str, ...]
    fragment: Fragment

    @property
    def row(self) -> tuple[str, ...]:
        """Cells of the table."""
        return self.opcode, ", ".join(self.operands), self.fragment.title


@dataclass(frozen=True, slots=True)
class ModuleLayout:
    """Parameters of each entry, variables in shared memory, and matrix instructions of a module, each opcode once.

    Offsets of parameters are those of a C structure. Offsets of static shared variables follow the order of
    declaration; ptxas may choose others. `dynamic` are named parts of dynamic shared memory, which follows the static
    variables. `arrays` are the rows of the parameters of a kernel of the DSL, with their Tiles; `tiles` are its
    shared tiles, each once.
    """

    parameters: tuple[tuple[str, tuple[Placed, ...]], ...]
    shared: tuple[Placed, ...]
    dynamic: tuple[Placed, ...]
    matrices: tuple[Used, ...]
    arrays: tuple[Sequence[object], ...] = ()
    tiles: tuple[SharedTile, ...] = ()

    @property
    def fragments(self) -> tuple[Fragment, ...]:
        """Fragments of the matrix instructions, each once."""
        return tuple(dict.fromkeys(each.fragment for each in self.matrices))

    def tables(self) -> Iterator[tuple[str, Sequence[str], Sequence[Sequence[object]]]]:
        """Yield the title, the names of the columns and the rows of each table that has rows."""
        if self.arrays:
            yield "arrays and numbers", PARAMETER, self.arrays
        for entry, placed in self.parameters:
            yield f"parameters of {visible(entry)}", _PLACED, [each.row for each in placed]
        for title, variables in (("shared memory", self.shared), ("dynamic shared memory", self.dynamic)):
            if variables:
                yield title, _PLACED, [each.row for each in variables]
        if self.matrices:
            yield "matrix instructions", _USED, [each.row for each in self.matrices]

    def __str__(self) -> str:
        """Return tables, shared tiles and fragments as text; of a fragment with many columns, the steps of its bits."""
        parts = ["\n".join(_aligned(*each)) for each in self.tables()]
        return "\n\n".join([*parts, *(each.picture() for each in self.tiles), *map(_drawn, self.fragments)])

    def to_svg(self) -> Drawing:
        """Return the tables, the shared tiles and the fragments as one SVG."""
        lines = [line for each in self.tables() for line in (*_aligned(*each), "")]
        return stacked(text_lines(*lines), *self._drawings())

    def _repr_html_(self) -> Markup:
        """Return the tables, the shared tiles and the fragments for notebooks."""
        return notebook(*(table(*each) for each in self.tables()), *self._drawings())

    def _drawings(self) -> Iterator[Drawing]:
        yield from (each.to_svg() for each in self.tiles)
        yield from (each.to_svg() for each in self.fragments)


def layout_of(
    module: Module,
    dynamic: Sequence[SharedVariable] = (),
    arrays: Iterable[Sequence[object]] = (),
    tiles: Iterable[SharedTile] = (),
) -> ModuleLayout:
    """Return the layouts of a module.

    `dynamic` are the named parts of its dynamic shared memory, `arrays` the rows of `contract.tables.parameters`, and
    `tiles` the shared tiles of a kernel of the DSL.
    """
    nodes = list(walk(module))
    entries = [node for node in nodes if isinstance(node, Function) and node.kind == "entry"]
    instructions = (node for node in nodes if isinstance(node, Instruction))
    opcodes = {node.opcode: node for node in instructions}
    return ModuleLayout(
        tuple((entry.name, tuple(_parameters(entry))) for entry in entries),
        tuple(_variables([node for node in nodes if isinstance(node, Variable) and _is_shared(node)])),
        tuple(Placed(each.name, "b8", each.offset, each.size, _power(each.offset)) for each in dynamic),
        tuple(used for node in opcodes.values() for used in _used(node)),
        tuple(arrays),
        tuple(dict.fromkeys(tiles)),
    )


def _parameters(entry: Function) -> Iterator[Placed]:
    end: int | None = 0
    for each in entry.parameters or ():
        stored = storage_of("param", each, each.dimensions)
        start = None if end is None else -(-end // stored.alignment) * stored.alignment
        yield Placed(each.name, each.type, start, stored.size, stored.alignment)
        end = None if start is None or stored.size is None else start + stored.size


def _is_shared(node: Variable) -> bool:
    return node.space.partition("::")[0] == "shared"


def _variables(nodes: Sequence[Variable]) -> Iterator[Placed]:
    """Yield the variables in shared memory; `.extern` arrays have no size and an unknown offset."""
    end = 0
    for node in nodes:
        for each in node.declarators:
            stored = storage_of("shared", node, each.dimensions)
            if stored.size is None:
                yield Placed(each.name, node.type, None, None, stored.alignment)
                continue
            start = -(-end // stored.alignment) * stored.alignment
            yield Placed(each.name, node.type, start, stored.size, stored.alignment)
            end = start + stored.size


def _power(offset: int) -> int:
    """Return the largest power of two up to 1024 that divides an offset."""
    return min(offset & -offset, 1024) if offset else 1024


def _used(node: Instruction) -> Iterator[Used]:
    """Yield the distinct fragments of an instruction; accumulators C and D often have the same one."""
    merged: dict[object, list[tuple[str, Fragment]]] = {}
    for operand, each in fragments_in(node).items():
        key = (each.rows, each.columns, each.bits, each.lanes, each.elements, each.width, each.products)
        merged.setdefault(key, []).append((operand, each))
    for same in merged.values():
        yield Used(".".join(node.opcode), tuple(operand for operand, _ in same), same[0][1])


def _drawn(fragment: Fragment) -> str:
    text = str(fragment)
    wide = max(map(len, text.splitlines())) > _WIDEST
    return "\n".join((head_of(fragment), *steps_of(fragment))) if wide else text


def _aligned(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table; numbers are right-aligned."""
    right = [column for column in range(len(head)) if all(_is_number(row[column]) for row in rows)]
    yield title
    yield from (f"  {line}" for line in aligned([head, *(list(map(str, row)) for row in rows)], right))


def _is_number(cell: object) -> bool:
    return isinstance(cell, int) or cell == "?"
