"""The syntax lines of the table, taken apart once.

An operand's *kind* follows from its name (`[a]` an address, `p` and `q` predicates, `d`, `a`, … the slot `dtype`,
`atype`, … or else `type`, or the type that the line spells out) unless the row says otherwise, with one of

    type          the name of a slot, or a type itself: a register or literal of exactly that type
    wide(type)    twice its width        relaxed(type)   at least its width, as ld, st and cvt allow
    pointer       a register that can hold an address
    int32         a 32-bit integer, whatever the type suffix says: shift amounts, masks, barrier numbers
    imm           an integer constant    label, symbol, list, any
    vec(kind)     a vector of as many as the modifier v2, v4 or v8 says, or one operand without it
    n*kind        a vector of n

and behind it `or _` (the sink is allowed), `or !` (a negated predicate is), `or symbol` (a variable's name is),
`or special` (a special register is), or `with WORD` (present exactly if the modifier is).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.scalar_types import TYPES

if TYPE_CHECKING:
    from pyptx_ir.isa.rows import InstructionRow

_GROUP = re.compile(r"\{((?:\.[\w:]+)+)\}|\.([\w:]+)")
_OPERAND = re.compile(
    r"\{(?P<vector>\w+)(?:, \w+)+\}"
    r"|(?P<optional>\{, )?(?P<bracket>\[)?(?P<name>\w+)\]?(?:\{\|(?P<maybe>\w+)\}|\|(?P<second>\w+))?"
)


@dataclass(frozen=True, slots=True)
class Item:
    """One dotted word of a syntax line: what it may be. Items of one optional `group` come together or not at all."""

    name: str
    words: frozenset[str]
    group: int
    optional: bool


@dataclass(frozen=True, slots=True)
class Place:
    """One operand of a syntax line. `second` is the kind of a pair's second half, which may be `optional_second`."""

    name: str
    kind: str
    optional: bool = False
    needs: str = ""
    sink: bool = False
    negated: bool = False
    symbol: bool = False
    special: bool = False
    written: bool = False
    second: str = ""
    optional_second: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """A row taken apart."""

    row: InstructionRow
    items: tuple[Item, ...]
    places: tuple[Place, ...]


@functools.cache
def compile_row(row: InstructionRow) -> Pattern:
    """Take a row's syntax line apart."""
    head, _, tail = row.syntax.partition(" ")
    items = tuple(_items(head, dict(row.slots)))
    return Pattern(row, items, tuple(_places(tail, row, items)))


def _items(head: str, slots: dict[str, tuple[str, ...]]) -> list[Item]:
    found: list[Item] = []
    start = len(head.split(".", 1)[0].split("{", 1)[0])
    for group, match in enumerate(_GROUP.finditer(head, start)):
        names = (match[1] or match[2]).strip(".").split(".")
        found += [Item(name, frozenset(slots.get(name, (name,))), group, match[1] is not None) for name in names]
    return found


def _places(tail: str, row: InstructionRow, items: tuple[Item, ...]) -> list[Place]:
    kinds = dict(row.operands)
    found: list[Place] = []
    for index, match in enumerate(_OPERAND.finditer(tail)):
        name = match["vector"] or match["name"]
        second = match["maybe"] or match["second"] or ""
        stated = "address" if match["bracket"] else kinds.get(name, "") or _default_kind(name, row, items)
        if match["bracket"] and name in kinds:
            stated = kinds[name]
        kind, flags, needs = _split(stated)
        found.append(
            Place(
                name,
                kind,
                optional=match["optional"] is not None and not needs,
                needs=needs,
                sink="_" in flags,
                negated="!" in flags,
                symbol="symbol" in flags,
                special="special" in flags,
                written=row.access[index : index + 1] in ("w", "x"),
                second=second and (kinds.get(second) or _default_kind(second, row, items)),
                optional_second=match["maybe"] is not None,
            )
        )
    return found


def _split(stated: str) -> tuple[str, list[str], str]:
    stated, _, needs = stated.partition(" with ")
    kind, *flags = stated.split(" or ")
    return kind, flags, needs


def _default_kind(name: str, row: InstructionRow, items: tuple[Item, ...]) -> str:
    if name in ("p", "q"):
        return "pred"
    slots = dict(row.slots)
    for slot in (f"{name}type", "type"):
        if slot in slots:
            return slot
    literal = [item.name for item in items if item.name in TYPES]
    return literal[-1] if literal else "any"
