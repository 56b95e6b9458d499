"""`pyptx explain RULE`: explanations of error codes of `pyptx check`, and of rules of the simulator and of plugins."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from pyptx_ir.command_line import USAGE_ERROR, CommandParser, run
from pyptx_ir.isa.modules.codes import codes
from pyptx_ir.plugins.explanation_rows import Explanation
from pyptx_ir.suggestions import close_names
from pyptx_ir.terminal import styled, table, write

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

CHECK = "pyptx check"
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")  # a Markdown link, of which a terminal shows only the text


def explanations() -> Mapping[str, Explanation]:
    """Return all explanations by name: those of `pyptx check` codes, then those of plugins."""
    from pyptx_ir.plugins.manager import manager

    of_check = (Explanation(row.name, CHECK, row.severity, row.meaning, page=row.page) for row in codes().values())
    return {row.name: row for row in (*of_check, *manager().explanations())}


def explain(argv: Sequence[str]) -> int:
    """Print explanations of the given names; return 0, or 2 for an unknown name or another usage error."""
    return run(explain_parser(), _explained, argv)


def _explained(options: argparse.Namespace) -> int:
    known = explanations()
    if options.list:
        sys.stdout.write(_listed(known))
        return 0
    unknown = [name for name in options.rules if name not in known]
    if unknown or not options.rules:
        write("".join(f"pyptx explain: {_unknown(name, known)}\n" for name in unknown), sys.stderr)
        if not options.rules:
            sys.stderr.write("pyptx explain: name a rule or an error code, or pass --list\n")
        return USAGE_ERROR
    write("\n".join(text_of(known[name]) for name in options.rules))
    return 0


def text_of(row: Explanation) -> str:
    """Return the text of an explanation: its headline, its page, and its help."""
    page = "" if row.page is None else _LINK.sub(r"\1", row.page.read_text(encoding="utf-8")).strip()
    help = f"help: {row.help}" if row.help else ""
    return "\n\n".join(filter(None, [f"{row.severity}[{row.name}]: {row.summary} ({row.tool})", page, help])) + "\n"


def _listed(known: Mapping[str, Explanation]) -> str:
    tools = dict.fromkeys(row.tool for row in known.values())
    return "\n".join(f"{tool}:\n{_table([row for row in known.values() if row.tool == tool])}" for tool in tools)


def _table(rows: Sequence[Explanation]) -> str:
    return table([(f"  {row.name}", styled(row.severity, row.severity, sys.stdout), row.summary) for row in rows])


def _unknown(name: str, known: Mapping[str, Explanation]) -> str:
    close = close_names(name, list(known), most=3)
    advice = f"did you mean {' or '.join(close)}?" if close else "see pyptx explain --list"
    return f"unknown rule {name!r}; {advice}"


def explain_parser() -> CommandParser:
    """Return the parser of the options of `pyptx explain`."""
    parser = CommandParser(
        "explain",
        "Explain rules of the simulator and error codes of pyptx check: what they mean, an example with "
        "its output, and the example without the fault.",
    )
    parser.add_argument("rules", nargs="*", metavar="RULE", help="rule or error code, such as shared-race")
    parser.add_argument("--list", action="store_true", help="list all rules and error codes")
    return parser
