"""Check `.section` data: valid values per width. Measured on ptxas 13.5; manual: "Debugging Directives: .section"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.constant_values import fault_of_integer
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.shapes import literal_kind
from pyptx_ir.syntax.lexemes import SECTION_NAME, integer
from pyptx_ir.syntax.nodes import Label, SectionData
from pyptx_ir.syntax.operands import Binary, Immediate, Symbol

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Section
    from pyptx_ir.syntax.operands import Operand

# Valid section data per type. ptxas truncates values too large for .b32; .b64 accepts every integer.
_RANGES: dict[str, tuple[int, float]] = {
    "b8": (-(1 << 7), (1 << 8) - 1),
    "b16": (-(1 << 15), (1 << 16) - 1),
    "b32": (-(1 << 31), float("inf")),
}
_SAME = {"byte": "b8", "4byte": "b32", "quad": "b64"}
_OF_ADDRESSES = frozenset({"b32", "b64"})
DATA_FORM = "write an integer, a label, label+n, or label-label"


def data(walk: Walk, node: Section) -> None:
    """Check the name and the data lines of a section."""
    if not SECTION_NAME.fullmatch(node.name):
        message = f"invalid section name '{node.name}': it must be a dot, a letter, and no other dot"
        walk.report(Finding("section-data", message, "use a name such as .debug_str", word=node.name))
    right: set[int] = set()  # `id`s of valid data lines: identical lines of a parsed text are one node
    for line, part in enumerate(node.body, walk.at + 1):
        if id(part) in right:
            continue
        if isinstance(part, Label) and (before := walk.section_labels.setdefault(part.name, line)) != line:
            message = f"'{part.name}' is already declared at line {{line}}"
            walk.report(
                Finding("redefined-label", message, "rename one of the labels", part.name, at=line, other=before)
            )
        if not isinstance(part, SectionData):
            continue
        message = line_fault(part)
        if not message:
            right.add(id(part))
        else:
            walk.report(Finding("section-data", message, DATA_FORM, word=f".{part.type}", at=line))


def line_fault(part: SectionData) -> str:
    """Return the fault of a section's data line, or an empty string."""
    type_name = _SAME.get(part.type, part.type)
    fault = next((fault for value in part.values if (fault := _fault(value, type_name))), "")
    if not fault and len(part.values) > 1 and not all(isinstance(value, Immediate) for value in part.values):
        return "label address must be on a line of its own"
    return fault


def _fault(value: Operand, type_name: str) -> str:
    if isinstance(value, Immediate):
        number = _number(value.text)
        least, most = _RANGES.get(type_name, (float("-inf"), float("inf")))
        if number is None:
            return f"{value.text} is not an integer"
        return "" if least <= number <= most else f"{value.text} is out of range for .{type_name}"
    if not _is_address(value):
        return "expected a number or the address of a label"
    return "" if type_name in _OF_ADDRESSES else f".{type_name} cannot hold an address"


def _number(text: str) -> int | None:
    """Return the value of an integer literal of any width; None for a literal that ptxas rejects in sections."""
    digits = text.lstrip("-")
    if not digits[0].isdigit() or literal_kind(text) != "int" or "octal" in fault_of_integer(text):
        return None
    return -integer(digits) if text.startswith("-") else integer(digits)


def _is_address(value: Operand) -> bool:
    match value:
        case Symbol():
            return True
        case Binary("+", Symbol(), Immediate()) | Binary("-", Symbol(), Symbol()):
            return True
        case _:
            return False
