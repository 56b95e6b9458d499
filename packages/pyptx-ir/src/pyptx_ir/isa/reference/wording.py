"""Descriptions of instruction rows: availability, values of slots, and operands."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from pyptx_ir.isa.limits import parse_limits
from pyptx_ir.isa.scalar_types import TYPES
from pyptx_ir.plugins.operand_kinds import operand_kinds
from pyptx_ir.plugins.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_ir.isa.patterns import OperandSlot, Pattern
    from pyptx_ir.isa.rows import InstructionRow

NESTED = ("vec", "sparse", "texels")  # operand kinds with another kind as argument, such as `vec(…)`


def version(since: tuple[int, int]) -> str:
    """Return the text of a PTX version: `PTX 7.8`."""
    return f"PTX {since[0]}.{since[1]}"


def targets(row: InstructionRow) -> str:
    """Return the targets that have a form: `sm_90 or later`, `sm_90a only`, `any target`."""
    if not row.targets:
        return "any target"
    return named_targets(row.targets)


def named_targets(needed: Sequence[str]) -> str:
    """Return one or more targets that a form or modifier requires, as text: `sm_107f and its family`."""
    kinds = {"plain": "{} or later", "family": "{} and its family", "arch": "{} only"}
    parts: list[str] = []
    for kind, words in kinds.items():
        names = [name for name in needed if find_target(name).kind == kind]
        if names:
            several = words.replace("its family", "their families") if len(names) > 1 else words
            parts.append(several.format(listed(names)))
    return ", or ".join(parts)


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence: `sm_90a, sm_100a or sm_120a`."""
    return " or ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def availability(row: InstructionRow) -> str:
    """Return the version and the targets of a form: `PTX 6.0, sm_70 or later`."""
    text = f"{version(row.since)}, {targets(row)}"
    if row.before:
        gone, since = row.before
        text += f"; removed from {gone} on in {version(since)} and later"
    return text


def slot_lines(slots: Iterable[tuple[str, tuple[str, ...]]], width: int = 110) -> list[str]:
    """Return a line for each modifier slot, folded to `width`: ` .mode = { .lo, .hi }`."""
    lines: list[str] = []
    for name, values in slots:
        text = f".{name} = {{ {', '.join('.' + value for value in values)} }}"
        lines += textwrap.wrap(
            text, width, initial_indent="  ", subsequent_indent=" " * (len(name) + 8), break_on_hyphens=False
        )
    return lines


def operands(pattern: Pattern) -> list[tuple[str, str]]:
    """Return the name and the description of each operand: `("a", "read: an address")`."""
    return [(place.name, operand(pattern, place)) for place in pattern.places]


def operand(pattern: Pattern, place: OperandSlot) -> str:
    """Return the description of one operand, and whether it is read or written."""
    if place.name.isdecimal():
        return f"the literal {place.name}"
    spelt = [kind_words(pattern, place.kind, written=place.written)]
    if place.second:
        joint = "; optionally" if place.optional_second else ";"
        spelt.append(f"{joint} followed by `|` and {kind_words(pattern, place.second, written=place.written)}")
    allowed = {
        "the sink symbol `_`": place.sink and place.kind != "sink",
        "a leading `!` (negation)": place.negated,
        "a variable's name": place.symbol,
        "a special register": place.special,
    }
    also = [words for words, allow in allowed.items() if allow]
    if also:
        spelt.append(f"; also allowed: {' or '.join(also)}")
    if place.limits:
        spelt.append(f"; a constant must be {place.limits}")
    return f"{'written' if place.written else 'read'}{_presence(place)}: {''.join(spelt)}"


def _presence(place: OperandSlot) -> str:
    if place.needs:
        return f", only with `.{place.needs}`"
    if place.lacks:
        return f", only without `.{place.lacks}`"
    return ", optional" if place.optional else ""


def kind_words(pattern: Pattern, kind: str, *, written: bool) -> str:
    """Return the description of an operand kind; slots and types appear as in the syntax line."""
    name, argument = operand_kinds().split(kind)
    if name == "*":
        count, _, inner = argument.partition("*")
        return f"a vector of {_count(pattern, count)}, each {kind_words(pattern, inner, written=written)}"
    if name in NESTED or "(" in argument:
        return operand_kinds()[name].words.format(kind_words(pattern, argument, written=written))
    words = operand_kinds()[name].words.format(_argument(pattern, name, argument)).replace(" ()", "")
    if not written:
        return words
    return re.sub("^an address", "memory at an address", words).replace(" or literal", "").replace(" or constant", "")


def _argument(pattern: Pattern, kind: str, argument: str) -> str:
    """Return the text of a kind's argument: slots and types as modifiers, matrix extents as `m×k`."""
    match kind:
        case "fragment":
            return _fragment(argument)
        case "selectors":
            return "; ".join(str(parse_limits(limits)) for limits in argument.split(", "))
        case "registers":
            return argument if argument.isdecimal() else f"depends on `.{argument}`"
        case "words":
            slot, _, bits = argument.partition(" ")
            return f"`.{slot}` times {bits} bits"
        case "opaque":
            return " or ".join(f"`.{variable}`" for variable in argument.split())
        case "part" | "part_or_constant" | "signed_part" | "negative_part":
            return argument and f" (or a part of the register, named by a selector that matches `{argument}`)"
    slots = {name for name, _ in pattern.row.slots} | {item.name for item in pattern.items}
    return f"`.{argument}`" if argument in slots or argument in TYPES or kind == "typed" else argument


def _fragment(argument: str) -> str:
    """Return the matrix of a fragment operand as text: `a matrix of m×k elements of type .f32, …`."""
    extent, element, *rest = re.sub(r"( over \d+ warps)$", "", argument).split()
    if extent.isdecimal():
        return f"a matrix with elements of type `.{element}`: {extent} registers"
    if not re.match("[mnk]{2}", extent):
        return f"a matrix: `.{element}` registers, whose number depends on `.{extent}`"
    held = ", in untyped registers" if rest == ["bits"] else f", in `.{rest[0]}` registers" if rest else ""
    warps = re.search(r" over (\d+) warps$", argument)
    size = f"{extent[0]}×{extent[1]}{extent[2:].replace('*', ' × ').replace('/', ' / ')}"
    return f"a matrix of {size} elements of type `.{element}`{held}{f', distributed{warps[0]}' if warps else ''}"


def _count(pattern: Pattern, count: str) -> str:
    """Return a vector's number of elements as text: one number, or the choices that a modifier slot determines."""
    if count.isdecimal():
        return f"{count} element{'s' if count != '1' else ''}"
    numbers = dict.fromkeys(dict(pattern.row.lengths)[count])
    return f"{listed([str(number) for number in numbers])} elements (depends on `.{count}`)"
