"""Compiled syntax lines of the instruction table.

An operand's *kind* follows from its name (`[a]` an address, `p` and `q` predicates, `d`, `a`, … the slot `dtype`,
`atype`, … or else `type`, or the type in the line) unless the row specifies one of

    type              the name of a slot, or a type itself: a register or literal of exactly that type
    wide(type)        twice its width        relaxed(type)   at least its width, as in ld, st and cvt
    bits(n)           a register of n untyped bits, no literal
    pointer           a register that can hold an address
    int32             a 32-bit integer regardless of the type suffix: shift amounts, masks, barrier numbers
    imm               an integer constant
    any               a register or literal of any type
    predicate         a register of type pred, where a constant has another meaning
    vec(kind)         a vector with the length of the modifier v2, v4 or v8; one operand if the opcode has none of these
    sparse(kind)      vec(kind) that is read; elements may be the sink
    n*kind            a vector of n; `slot*kind`: of the length in the row's `lengths` for the slot's modifier
    address           in brackets; a variable must be in the opcode's space, if it has one
    memory            in brackets; a variable as above, or for a generic address: in .global, .shared or .local
    address(spaces)   in brackets; a variable must be in one of these: `address(shared)`, `address(global const)`
                      traits among the spaces: `sized`: a register with a generic or global address must be as wide
                      as `.address_size`; `constant`: a number may be an address, as in .local memory;
                      `indexed`: an element of an array without brackets is allowed
    tensor(n)         a tensor map and n coordinates in one bracket; or a slot with `lengths`
    box(n)            tensor(n) for tensor copies, with overridden fields of the map before the coordinates
    offsets(n)        a vector of n - 2 offsets of 16 bits, for a tensor of n dimensions
    handle(n)         a logical endpoint of the fabric and n - 1 offsets in one bracket
    fragment(mn type) a thread's registers of the m x n elements of an MMA of the row's `shape`, held by one warp;
                      `fragment(mk type over 4 warps)` by four warps (`pyptx_ir.isa.kinds.fragments`)
    word              a 32-bit register of any type
    words(n b)        a vector of enough 32-bit registers for n items of b bits; n is a slot with `lengths`
    movable(type)     a source of mov: a value of the type, or the name of a variable or function
    variable(type)    an address of the type, or the name of a variable in the opcode's space
    shared_location(type)   an address of the type, or the name of a variable in shared memory
    sink              only the sink: no result is returned
    label, function, list, branches, callees

(`pyptx_ir.isa.kinds` has a row for each), followed in this order by `or _` (the sink is allowed), `or !` (a negated
predicate is), `or symbol` (a variable's name is), `or special` (a special register is), `or unified` (`[a].unified`
is); `in LIMITS` (a constant must be one of `0..255`, `24..256 by 8`, `4 8 16`); and `with WORD` (present exactly if
that modifier is, or if the slot of that name is filled), `without WORD` (present exactly if it is not).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.limits import Limits, parse_limits
from pyptx_ir.isa.scalar_types import TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_ir.isa.rows import InstructionRow

_GROUP = re.compile(r"\{((?:\.[\w:]+)+)\}|\.([\w:]+)")
_OPERAND = re.compile(
    r"\{(?P<vector>\w+)(?:, \w+)+\}"
    r"|(?P<optional>\{, )?(?P<bracket>\[)?(?P<name>\w+)\]?(?:\{\|(?P<maybe>\w+)\}|\|(?P<second>\w+))?"
)


@dataclass(frozen=True, slots=True)
class ModifierSlot:
    """One modifier of a syntax line, with its values. Items of one optional `group` are all present or all absent."""

    name: str
    words: frozenset[str]
    group: int
    optional: bool


@dataclass(frozen=True, slots=True)
class OperandSlot:
    """One operand of a syntax line. `second` is the kind of a pair's second half (optional if `optional_second`).

    `needs` and `lacks` are modifiers or slots: the operand is present exactly if the first is filled and the second is
    not.
    """

    name: str
    kind: str
    optional: bool = False
    needs: str = ""
    lacks: str = ""
    limits: Limits | None = None
    sink: bool = False
    negated: bool = False
    symbol: bool = False
    special: bool = False
    unified: bool = False
    written: bool = False
    read: bool = True
    second: str = ""
    optional_second: bool = False

    def stands(self, filled: Mapping[str, str]) -> bool:
        """Return whether a form with these filled slots has the operand (an optional operand may still be absent)."""
        if self.needs and self.needs not in filled and self.needs not in filled.values():
            return False
        return not self.lacks or (self.lacks not in filled and self.lacks not in filled.values())


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled row of the instruction table. `vocabulary` contains all modifiers that its slots accept."""

    row: InstructionRow
    items: tuple[ModifierSlot, ...]
    vocabulary: frozenset[str]

    @property
    def places(self) -> tuple[OperandSlot, ...]:
        """Operand slots, compiled at first use, because most rows of the instruction table are never used."""
        return _places_of(self.row)


@functools.cache
def compile_row(row: InstructionRow) -> Pattern:
    """Return the compiled instruction row, with its syntax line split into modifier slots and operands."""
    items = tuple(_items(row.syntax.partition(" ")[0], dict(row.slots)))
    return Pattern(row, items, frozenset[str]().union(*(item.words for item in items)))


@functools.cache
def _places_of(row: InstructionRow) -> tuple[OperandSlot, ...]:
    return tuple(_places(row.syntax.partition(" ")[2], row, compile_row(row).items))


def _items(head: str, slots: dict[str, tuple[str, ...]]) -> list[ModifierSlot]:
    found: list[ModifierSlot] = []
    start = len(head.split(".", 1)[0].split("{", 1)[0])
    for group, match in enumerate(_GROUP.finditer(head, start)):
        names = (match[1] or match[2]).strip(".").split(".")
        found += [
            ModifierSlot(name, frozenset(slots.get(name, (name,))), group, match[1] is not None) for name in names
        ]
    return found


def _places(tail: str, row: InstructionRow, items: tuple[ModifierSlot, ...]) -> list[OperandSlot]:
    kinds = dict(row.operands)
    found: list[OperandSlot] = []
    for index, match in enumerate(_OPERAND.finditer(tail)):
        name = match["vector"] or match["name"]
        second = match["maybe"] or match["second"] or ""
        words = "address" if match["bracket"] else kinds.get(name, "") or _default_kind(name, row, items)
        if match["bracket"] and name in kinds:
            words = kinds[name]
        stated = _split(words)
        found.append(
            OperandSlot(
                name,
                stated.kind,
                optional=match["optional"] is not None and not (stated.needs or stated.lacks),
                needs=stated.needs,
                lacks=stated.lacks,
                limits=parse_limits(stated.limits) if stated.limits else None,
                sink="_" in stated.flags,
                negated="!" in stated.flags,
                symbol="symbol" in stated.flags,
                special="special" in stated.flags,
                unified="unified" in stated.flags,
                written=row.access[index : index + 1] in ("w", "x"),
                read=row.access[index : index + 1] != "w",
                second=second and (kinds.get(second) or _default_kind(second, row, items)),
                optional_second=match["maybe"] is not None,
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class _Stated:
    """Description of an operand in an instruction row, parsed to kind, flags, limits and conditions."""

    kind: str
    flags: tuple[str, ...]
    limits: str
    needs: str
    lacks: str


def _split(text: str) -> _Stated:
    text, _, lacks = text.partition(" without ")
    text, _, needs = text.partition(" with ")
    text, _, limits = text.partition(" in ")
    kind, *flags = text.split(" or ")
    return _Stated(kind, tuple(flags), limits, needs, lacks)


def _default_kind(name: str, row: InstructionRow, items: tuple[ModifierSlot, ...]) -> str:
    if name in ("p", "q"):
        return "pred"
    slots = dict(row.slots)
    for slot in (f"{name}type", "type"):
        if slot in slots:
            return slot
    literal = [item.name for item in items if item.name in TYPES]
    return literal[-1] if literal else "any"
