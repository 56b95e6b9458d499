"""`pyptx transpile`, `pyptx-transpile` and `python -m pyptx.codegen`: one command line."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.errors import PyptxError
from pyptx_ir.syntax.source import decode
from pyptx_transpile.transpiler import chosen, transpile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_transpile.transpiler import Transpiled

USAGE_ERROR = 2


def main() -> int:
    """Run the command with the words of the shell."""
    return run(sys.argv[1:])


def run(argv: Sequence[str]) -> int:
    """Print a file as Python. Return 0, or 2 for what cannot be read or proved; then no file is written."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as leaving:  # argparse has said why
        return leaving.code if isinstance(leaving.code, int) else USAGE_ERROR
    try:
        rules = chosen(None if options.rules is None else options.rules.split(","), sugar=options.sugar)
        source = _text(sys.stdin.buffer.read() if options.file == "-" else Path(options.file).read_bytes())
        done = transpile(
            source,
            rules,
            name=options.file,
            kernel_name=options.name,
            verify=options.verify,
            unchecked=options.unchecked,
        )
        _write(options.output, done.text)
    except (OSError, PyptxError) as error:
        sys.stderr.write(f"pyptx transpile: {error}\n")
        return USAGE_ERROR
    if options.report is not None:
        sys.stderr.write(_json(done) if options.report == "json" else _table(done))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyptx transpile", description="Print PTX as Python that writes the same bytes."
    )
    parser.add_argument(
        "file", metavar="FILE", help="a PTX file, cubin, fat binary or object file; - reads standard input"
    )
    parser.add_argument("--sugar", action="store_true", help="use every rule: loops, branches and so on")
    parser.add_argument("--rules", metavar="A,B,…", help="use these rules; with -A, all but that one")
    parser.add_argument("--name", metavar="NAME", help="what the kernel is called in Python")
    parser.add_argument("--no-verify", dest="verify", action="store_false", help="do not run what is printed")
    parser.add_argument("--unchecked", action="store_true", help="hold no instruction against the table")
    parser.add_argument("--report", choices=("text", "json"), help="say on standard error what each rule did")
    parser.add_argument("-o", "--output", metavar="OUT", help="write there, not to standard output")
    return parser


def _text(data: bytes) -> str:
    """Return the PTX in a file: its text, or what cuobjdump lists of an image."""
    from pyptx_ir.toolchain import extract, is_image

    return decode(extract(data) if is_image(data) else data)


def _write(output: str | None, text: str) -> None:
    if output is None or output == "-":
        sys.stdout.write(text)
    else:
        Path(output).write_text(text, encoding="ascii", newline="\n")


def _json(done: Transpiled) -> str:
    report = {"met": done.met, "applied": done.applied, "withdrawn": [asdict(each) for each in done.withdrawn]}
    return json.dumps(report, indent=1) + "\n"


def _table(done: Transpiled) -> str:
    lines = [f"{'rule':12} {'met':>6} {'applied':>8} {'withdrawn':>10}"]
    for rule, met in sorted(done.met.items()):
        lines += [f"{rule:12} {met:6} {done.applied[rule]:8} {met - done.applied[rule]:10}"]
    lines += [f"{each.rule} in {each.function}, at {each.statement}: {each.reason}" for each in done.withdrawn]
    return "\n".join(lines) + "\n"
