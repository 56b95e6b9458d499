"""`pyptx isa SEARCH`: the instruction table in the terminal."""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import textwrap
from typing import TYPE_CHECKING

from pyptx_ir.command_line import CommandParser, run
from pyptx_ir.isa.reference.entries import Entry, entries
from pyptx_ir.isa.reference.search import Result, available, nearest, search
from pyptx_ir.isa.reference.sections import sections
from pyptx_ir.isa.reference.wording import availability, operands, version
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.terminal import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_ir.isa.patterns import Pattern

SHOWN = 3  # maximum number of search results with full entries; longer lists have only names and summaries
WIDTH = 100


def isa(argv: Sequence[str]) -> int:
    """Search the instruction table; return 0 if there is a match, 1 if there is none, 2 for a usage error."""
    return run(isa_parser(), _searched, argv)


def _searched(options: argparse.Namespace) -> int:
    if options.target is not None:
        find_target(options.target)
    from pyptx_ir.plugins.manager import manager

    known = entries(manager().instructions())
    text = " ".join(options.search)
    everywhere = search(known, text)
    found = available(everywhere, options.target, options.version)
    if not found:
        sys.stderr.write(f"{_nothing(text, known, everywhere)}\n")
        return 1
    _say(json.dumps([_as_json(result.entry) for result in found], indent=2) if options.json else _text(found))
    return 0


def isa_parser() -> CommandParser:
    """Return the parser of the options of `pyptx isa`."""
    parser = CommandParser(
        "isa", "Search the instruction set by name, modifiers and meaning. Exits with 1 if nothing is found."
    )
    parser.add_argument("search", nargs="+", metavar="SEARCH", help="mbarrier.try_wait, or words: bf16x2 cvt")
    parser.add_argument("--target", metavar="sm_XY", help="only the forms that this target supports")
    parser.add_argument("--version", type=_version, metavar="X.Y", help="only the forms of this PTX version")
    parser.add_argument("--json", action="store_true", help="print all data of the matches as JSON")
    return parser


def _version(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)\.(\d+)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"expected a PTX version such as 8.7, got {text!r}")
    return (int(match[1]), int(match[2]))


def _nothing(text: str, known: Sequence[Entry], elsewhere: Sequence[Result]) -> str:
    """Return why a search found nothing: the filters exclude all forms, or no instruction name matches."""
    if elsewhere:
        entry = elsewhere[0].entry
        needs = dict.fromkeys(availability(form.row) for form in entry.forms)
        return f"no form of {entry.name} matches; it needs {' or '.join(itertools.islice(needs, 4))}"
    absent = _absent(text, known)
    if absent:
        return absent
    close = nearest(known, text)
    return f"no instruction matches {text!r}" + (f"; did you mean {' or '.join(close)}?" if close else "")


def _absent(text: str, known: Sequence[Entry]) -> str:
    """Return help for an instruction of a package that is not installed, or ""; `text` may begin with any modifier."""
    from pyptx_ir.plugins.homes import home_of_instruction, install_hint, words_of_home

    words = tuple(re.split(r"[\s.]+", text.strip().lower()))
    for first in range(len(words)):
        opcode = (*words[first:], *words[:first])
        start, home = words_of_home(opcode), home_of_instruction(opcode)
        if home is not None and not any(f"{entry.name}.".startswith(f"{start}.") for entry in known):
            return f"{'.'.join(opcode)} is provided by {home}: {install_hint(home)}"
    return ""


def _text(found: Sequence[Result]) -> str:
    """Return the exact matches in full; if there are none, all matches in full, or summaries of more than `SHOWN`."""
    whole = [result.entry for result in found if result.exact]
    if not whole and len(found) > SHOWN:
        return table([(result.entry.name, result.entry.summary) for result in found]).rstrip("\n")
    whole = whole or [result.entry for result in found]
    parts = ["\n".join(_whole(entry)) for entry in whole]
    others = [result.entry.name for result in found if result.entry not in whole]
    if others:
        parts.append(textwrap.fill(f"See also: {', '.join(others)}", WIDTH, subsequent_indent="  "))
    return "\n\n".join(parts)


def _whole(entry: Entry) -> Iterator[str]:
    yield f"{entry.name} ({entry.chapter})"
    if entry.summary:
        yield f"  {entry.summary}"
    for section in sections(entry.forms):
        yield ""
        yield f"  {section.availability}"
        yield from (textwrap.indent(block.text, "    ") for block in section.blocks)
        width = max((len(name) for name, _ in section.operands), default=0) + 8
        for name, alternatives in section.operands:
            words = "; or ".join(alternatives).replace("`", "")
            begin = f"      {name}".ljust(width)
            yield textwrap.fill(words, WIDTH, initial_indent=begin, subsequent_indent=" " * width)


def _as_json(entry: Entry) -> dict[str, object]:
    return {
        "name": entry.name,
        "chapter": entry.chapter,
        "summary": entry.summary,
        "forms": [_form_as_json(form) for form in entry.forms],
    }


def _form_as_json(form: Pattern) -> dict[str, object]:
    row = form.row
    return {
        "syntax": f"{row.syntax};",
        "slots": {name: list(values) for name, values in row.slots},
        "operands": [{"name": name, "what": words} for name, words in operands(form)],
        "since": version(row.since).removeprefix("PTX "),
        "targets": list(row.targets),
        "gone": {"from": row.before[0], "since": f"{row.before[1][0]}.{row.before[1][1]}"} if row.before else None,
        "manual": row.manual,
    }


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
