"""Reference pages in docs/instructions, generated from the instruction table: one per instruction, and an index."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from pyptx_dsl.naming import to_python
from pyptx_ir.isa.forms import forms
from pyptx_ir.isa.reference.entries import Entry, entries
from pyptx_ir.isa.reference.sections import sections
from pyptx_ir.isa.reference.wording import named_targets
from pyptx_ir.isa.table.words import WORDS
from pyptx_ir.syntax import nodes, parse_instruction
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.operand_spelling import spell_operand

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyptx_ir.isa.rows import InstructionRow

MARKUP = re.compile(r"[][|*_<>]")
EXAMPLES = 6  # maximum number of example instructions per page, one per form


def pages(rows: Iterable[InstructionRow], marker: str) -> dict[str, str]:
    """Return the text of every page by its file name; `marker` names their generator."""
    found = entries(rows)
    texts = {file_name(entry): "\n".join(page(entry, marker)) for entry in found}
    return {"index.md": "\n".join(index(found, marker)), **texts}


def file_name(entry: Entry) -> str:
    """Return the file name of an instruction's page, with a replacement for `:`, which some file systems forbid."""
    return f"{entry.name.replace('::', '-')}.md"


def index(found: Iterable[Entry], marker: str) -> Iterator[str]:
    """Yield the lines of the index page, by chapter of the PTX manual."""
    yield f"<!-- {marker} -->"
    yield ""
    yield "# Instructions"
    yield ""
    yield "Forms, operands and targets of every instruction in the [instruction table](../instruction-table.md)."
    for chapter, members in itertools.groupby(found, key=lambda entry: entry.chapter):
        yield from ("", f"## {chapter}", "", "| instruction | effect |", "|---|---|")
        for entry in members:
            yield f"| [`{entry.name}`]({file_name(entry)}) | {entry.summary} |"
    yield ""


def page(entry: Entry, marker: str) -> Iterator[str]:
    """Yield the lines of an instruction's page."""
    yield f"<!-- {marker} -->"
    yield from ("", f"# {entry.name}", "")
    if entry.summary:
        yield from (entry.summary, "")
    anchor = entry.chapter.lower().replace(" ", "-")
    yield f"Listed in the chapter [{entry.chapter}](index.md#{anchor}).{_sections(entry)}"
    yield from ("", "## Forms")
    for section in sections(entry.forms):
        yield from ("", f"### {section.availability[0].upper()}{section.availability[1:]}", "", "```pyptx")
        yield "\n\n".join(block.text for block in section.blocks)
        yield "```"
        if section.operands:
            yield from ("", "| operand | description |", "|---|---|")
        for name, alternatives in section.operands:
            yield f"| `{name}` | {'<br>'.join(map(cell, alternatives))} |"
    yield from _requirements(entry)
    yield from _examples(entry)


def _sections(entry: Entry) -> str:
    """Return a sentence that cites the manual sections of an instruction's rows in the instruction table."""
    sections = dict.fromkeys(form.row.manual for form in entry.forms if form.row.manual)
    quoted = ", ".join(f"“{section}”" for section in sections)
    return f" Section{'s' if len(sections) > 1 else ''} of the PTX manual: {quoted}." if sections else ""


def cell(words: str) -> str:
    """Return text as a table cell: Markdown is escaped, except in code."""
    parts = re.split("(`[^`]*`)", words)
    return "".join(part.replace("|", r"\|") if part[:1] == "`" else MARKUP.sub(r"\\\g<0>", part) for part in parts)


def _requirements(entry: Entry) -> Iterator[str]:
    """Yield the section on the targets that single modifiers require in any instruction."""
    words = {word for form in entry.forms for item in form.items for word in item.words}
    rows = [(word, *WORDS[word]) for word in WORDS if word in words]
    if rows:
        yield from ("", "## Modifiers with separate requirements", "")
        for word, since, target in rows:
            targets = f", {named_targets(target.split())}" if target else ""
            yield f"- `.{word}` requires PTX {since[0]}.{since[1]}{targets}"


def _examples(entry: Entry) -> Iterator[str]:
    """Yield one example of each of an instruction's first forms, in PTX and as a Python call."""
    spelt = dict.fromkeys(next(forms(form.row)) for form in entry.forms)
    shown = [parse_instruction(text) for text in itertools.islice(spelt, EXAMPLES)]
    yield from ("", "## Examples", "", "Each register name begins with the type of the register.", "", "```pyptx")
    yield from itertools.islice(spelt, EXAMPLES)
    yield from ("```", "", "The same instructions in Python:", "", "```py")
    yield from map(call, shown)
    yield from ("```", "")


def call(instruction: nodes.Instruction) -> str:
    """Return the call that emits an instruction: `ptx.inst.add.u32(u32_1, u32_2, u32_3)`."""
    words = ".".join(map(to_python, instruction.opcode))
    return f"ptx.inst.{words}({', '.join(map(expression, instruction.operands))})"


def expression(operand: tree.Operand) -> str:
    """Return an operand as Python; register `%u32_1` is the name `u32_1`. Operands without a Python form are text."""
    match operand:
        case tree.Register(name) if "." not in name:
            return name.removeprefix("%")
        case tree.Immediate(text) if text.lstrip("-").isdecimal():
            return text
        case tree.Vector(elements):
            return f"[{', '.join(map(expression, elements))}]"
        case tree.Pair(first, second) | tree.Binary("|", first, second):
            return f"PipeRef({expression(first)}, {expression(second)})"
        case tree.Address(base, None):
            return f"ptx.addr({expression(base)})"
        case tree.CallList(elements):
            return f"({''.join(f'{expression(each)}, ' for each in elements)})"
        case _:
            return f'"{spell_operand(operand)}"'
