"""`pyptx check`: the command line of the checker."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.modules.check import check_text
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.isa.modules.diagnostic import shown
from pyptx_ir.isa.modules.portability import portability, table
from pyptx_ir.isa.targets import find_target
from pyptx_ir.syntax.parser import parse_recovering
from pyptx_ir.syntax.source import Source, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE_ERROR = 2


def check(argv: Sequence[str]) -> int:
    """Check each file; return 0 if there is no error, 1 if there is one, 2 if the command was called wrongly."""
    try:
        options = _parser().parse_args(argv)
        if options.target is not None:
            find_target(options.target)
        sources = [_read(name) for name in options.files]
    except SystemExit as leaving:  # argparse has said why
        return leaving.code if isinstance(leaving.code, int) else USAGE_ERROR
    except (OSError, PyptxError) as error:
        sys.stderr.write(f"pyptx check: {error}\n")
        return USAGE_ERROR
    if options.portability:
        return _portability(sources, options.format)
    return _diagnostics(sources, options.target, options.format)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyptx check",
        description="Check PTX files: syntax, names, instructions, directives, limits. Exits with 1 for an error.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a PTX file; - reads standard input")
    parser.add_argument("--target", metavar="sm_XY", help="judge as if .target said this")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--portability", action="store_true", help="say for each target whether the module is legal")
    return parser


def _read(name: str) -> Source:
    if name == "-":
        return Source(decode(sys.stdin.buffer.read()), "<stdin>")
    return Source(decode(Path(name).read_bytes()), name)


def _diagnostics(sources: Sequence[Source], target: str | None, style: str) -> int:
    errors = warnings = 0
    rows: list[dict[str, int | str]] = []
    for source in sources:
        found = check_text(source.text, source.name, target)
        errors += sum(one.is_error for one in found)
        warnings += sum(not one.is_error for one in found)
        if style == "text":
            _say(*(shown(one, source) for one in found))
        name = {"file": source.name} if len(sources) > 1 else {}
        rows += [{**name, **one.as_json()} for one in found]
    if style == "json":
        _say(json.dumps(rows, indent=2))
    else:
        _say(f"{counted(len(sources), 'file')}, {counted(errors, 'error')}, {counted(warnings, 'warning')}")
    return 1 if errors else 0


def _portability(sources: Sequence[Source], style: str) -> int:
    rows: list[dict[str, int | str | bool]] = []
    legal = 0
    for source in sources:
        module, errors = parse_recovering(source.text, source.name)
        if errors:
            sys.stderr.writelines(f"{error}\n" for error in errors)
            return 1
        verdicts = portability(module)
        legal += any(verdict.ok for verdict in verdicts)
        name = {"file": source.name} if len(sources) > 1 else {}
        rows += [{**name, **verdict.as_json()} for verdict in verdicts]
        if style == "text":
            _say(source.name, table(verdicts))
    if style == "json":
        _say(json.dumps(rows, indent=2))
    return 0 if legal == len(sources) else 1


def _say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
