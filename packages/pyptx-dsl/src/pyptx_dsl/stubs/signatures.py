"""Operands of an instruction form as typed Python parameters of a stub's method."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.forms.automaton import VECTOR_KINDS, VECTORS
from pyptx_dsl.naming import to_python
from pyptx_ir.plugins.operand_kinds import operand_kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyptx_dsl.instructions.forms.automaton import Thread
    from pyptx_ir.isa.patterns import OperandSlot

# Annotation of a stub's parameter -> operand kinds annotated with it; parameters of other kinds accept any object.
_KINDS: dict[str, str] = {
    "Value": (
        "typed relaxed wide any register bits shared_location part part_or_constant signed_part "
        "negative_part word int32 pointer predicate movable variable"
    ),
    "Constant": "imm",
    "Name": ("address tmem tensor box handle label function targets texture surface opaque memory branches callees"),
    "NoResult": "sink",
    "Values": "list registers words fragment offsets texture_offsets selectors gradient *",
    "Value | Values": "braced",
}
READ: dict[str, str] = {kind: type_name for type_name, kinds in _KINDS.items() for kind in kinds.split()}

# Annotation of a stub's parameter -> other annotations whose operands the parameter accepts.
_SINGLE = frozenset(("Reg", "NoResult", "Reg | NoResult"))
WIDER: dict[str, frozenset[str]] = {
    "object": frozenset((*READ.values(), *_SINGLE, "TwoResults", "Reg | TwoResults")),
    "Value | Values": frozenset(("Value", "Values", "Name", "Constant", *_SINGLE)),
    "Value": frozenset(("Name", "Constant", *_SINGLE)),
    "Name": _SINGLE,
    "Constant": frozenset(("NoResult",)),
    "Reg | NoResult": frozenset(("Reg", "NoResult")),
    "Reg | TwoResults": frozenset(("Reg", "TwoResults")),
}
SCALARS = frozenset(name for name, type_name in READ.items() if type_name == "Value")


@dataclass(frozen=True, slots=True)
class Parameter:
    """An operand as a Python parameter: its name in the manual's syntax line, its type, and whether it is optional."""

    name: str
    type: str
    optional: bool = False


Signature = tuple[Parameter, ...]


def signatures(threads: Iterable[Thread]) -> tuple[Signature, ...]:
    """Return the signatures of a stub method for `Thread` objects; a prefix of another signature is merged into it."""
    ways = {way for thread in threads for way in _ways(thread)}
    ordered = sorted(ways, key=lambda way: (len(way), [parameter.name for parameter in way], way_types(way)))
    merged: list[Signature] = []
    for way in ordered:
        shorter = next((each for each in merged if way_types(each) == way_types(way)[: len(each)]), None)
        if shorter is None:
            merged.append(way)
            continue
        longer = (*shorter, *(Parameter(each.name, each.type, optional=True) for each in way[len(shorter) :]))
        merged[merged.index(shorter)] = _distinct(longer)
    return tuple(way for way in merged if not any(_covers(each, way) for each in merged if each is not way))


def _covers(wide: Signature, narrow: Signature) -> bool:
    """Return whether signature `wide` accepts every call that signature `narrow` accepts."""
    if len(narrow) > len(wide) or any(not each.optional for each in wide[len(narrow) :]):
        return False
    pairs = list(zip(wide, narrow, strict=False))
    if any(inner.optional and not outer.optional for outer, inner in pairs):
        return False
    return all(inner.type == outer.type or inner.type in WIDER.get(outer.type, ()) for outer, inner in pairs)


def way_types(way: Signature) -> tuple[str, ...]:
    """Return the Python types of a signature's parameters."""
    return tuple(parameter.type for parameter in way)


def _ways(thread: Thread) -> Iterable[Signature]:
    """Yield the signature for every number of optional operands; the last optional operands are omitted first."""
    filled = dict(thread.filled)
    places = [place for place in thread.pattern.places if place.stands(filled)]
    optional = [index for index, place in enumerate(places) if place.optional]
    for kept in range(len(optional) + 1):
        absent = set(optional[kept:])
        yield _distinct(
            Parameter(to_python(place.name), _type(place, filled))
            for index, place in enumerate(places)
            if index not in absent
        )


def _distinct(parameters: Iterable[Parameter]) -> Signature:
    """Return the parameters with unique names: a repeated name gets a number, starting with 2."""
    found: dict[str, Parameter] = {}
    for each in parameters:
        spare = (f"{each.name}{number}" for number in itertools.count(2))
        name = each.name if each.name not in found else next(name for name in spare if name not in found)
        found[name] = Parameter(name, each.type, each.optional)
    return tuple(found.values())


def _type(place: OperandSlot, filled: Mapping[str, str]) -> str:
    kind, argument = operand_kinds().split(place.kind)
    if kind in VECTOR_KINDS:
        if VECTORS.intersection(filled.values()):
            return "Values"
        kind, _ = operand_kinds().split(argument)
    if not place.written or kind not in SCALARS:
        return READ.get(kind, "object")
    if place.second:
        return "Reg | TwoResults" if place.optional_second else "TwoResults"
    return "Reg | NoResult" if place.sink else "Reg"
