"""`pyptx fmt`: the command line of the formatter."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.command_line import ERRORS, SUCCESS, USAGE_ERROR, CommandParser, add_format, text_of
from pyptx_ir.errors import PyptxError
from pyptx_ir.reports import Position, Problem, Report, Unreadable, render
from pyptx_ir.sources.errors import UnknownSizeError
from pyptx_ir.sources.reader import ARCH, INPUTS, described, expanded, read_source, read_sources
from pyptx_ir.sources.sizes import path_of, run_with_sizes, with_sizes
from pyptx_ir.syntax.parser import parse
from pyptx_ir.syntax.source import encode
from pyptx_ir.syntax.style.formatting import formatted
from pyptx_ir.syntax.style.inference import infer_style
from pyptx_ir.syntax.style.known import KNOWN
from pyptx_ir.terminal import write, write_bytes_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pyptx_ir.plugins.source_rows import PtxSource
    from pyptx_ir.sources.sizes import Sizes
    from pyptx_ir.syntax.style.style import Style

_LIKE = "like="


@dataclass(frozen=True, slots=True)
class _Work:
    """The style and the options of a command, and what it has found so far."""

    style: Style
    options: argparse.Namespace
    unformatted: list[Problem] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)

    def compare(self, name: str, before: str, after: str) -> int:
        """Return the status of `--check` for a text and its formatted text; list the file if they differ."""
        if before == after:
            return SUCCESS
        if self.options.format == "text":
            sys.stdout.write(f"{name}\n")
        first = (Position(name, 1),)
        self.unformatted.append(Problem(name, "unformatted", "error", "formatting would change this file", first))
        return ERRORS

    def refuse(self, name: str, error: Exception) -> int:
        """Print why a file is not formatted, and return the status."""
        self.unreadable.append(Unreadable(name, text_of(error)))
        return _refused(error)


def fmt(argv: Sequence[str]) -> int:
    """Format each file.

    Return 0 on success, 1 if `--check` found an unformatted file, 2 for a usage error or a file that can't be read,
    parsed or formatted. Such a file is left unchanged; the other files are still formatted.
    """
    return run_with_sizes(fmt_parser(), _formatted, argv)


def _formatted(options: argparse.Namespace, sizes: Sizes) -> int:
    style = _style(options.style)
    options.files = [with_sizes(name, sizes) for name in expanded(options.files)]
    if options.output is not None and (len(options.files) > 1 or options.check):
        return _refused("-o takes one file and excludes --check")
    if options.format != "text" and not options.check:
        return _refused("--format is for --check")
    work = _Work(style, options)
    status = max(_one(name, work) for name in options.files)
    if options.format != "text":
        report = Report("pyptx fmt", tuple(options.files), tuple(work.unformatted), tuple(work.unreadable))
        sys.stdout.write(render(report, options.format))
    return status


def fmt_parser() -> CommandParser:
    """Return the parser of the options of `pyptx fmt`."""
    parser = CommandParser(
        "fmt", "Reformat the whitespace of PTX files; tokens and comments do not change.", output=False
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help=f"{INPUTS}; PTX of images and of kernels in Python files is printed, not rewritten",
    )
    parser.add_argument("--arch", metavar="sm_XY", help=ARCH)
    parser.add_argument(
        "--style",
        default="canonical",
        metavar="STYLE",
        help=f"{', '.join(KNOWN)}, or {_LIKE}FILE for the style of that file (default: canonical)",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; list the files that would change")
    add_format(parser)
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="write to OUT (-: standard output) instead of the file itself"
    )
    return parser


def _style(name: str) -> Style:
    if name.startswith(_LIKE):
        model = read_source(name.removeprefix(_LIKE))
        return infer_style(parse(model.load(), model.name))
    if name in KNOWN:
        return KNOWN[name]
    raise PyptxError(f"unknown style {name!r}: valid styles are {', '.join(KNOWN)} and {_LIKE}FILE")


def _one(name: str, work: _Work) -> int:
    options, style = work.options, work.style
    try:
        sources = read_sources(name, options.arch)
        if sources[0].number or path_of(sources[0].file) != Path(sources[0].file):
            return _images(sources, work)
        text = sources[0].load()
        done = formatted(text, style, name)
        if options.check:
            return work.compare(name, text, done)
        _write(options.output or name, done, changed=options.output is not None or done != text)
    except (BrokenPipeError, UnknownSizeError):
        raise
    except (OSError, PyptxError) as error:
        return work.refuse(name, error)
    return SUCCESS


def _images(sources: Sequence[PtxSource], work: _Work) -> int:
    """Print the formatted PTX of images, or of a kernel of a Python file. The file is never written.

    A comment with its name precedes each of several images.
    """
    options = work.options
    output = options.output or "-"
    if output != "-" and Path(output).exists() and Path(output).samefile(path_of(sources[0].file)):
        return _refused(f"{output} is not PTX text, and would be overwritten")
    if output != "-" and len(sources) > 1:
        return _refused(f"-o takes one module, but the input has {len(sources)}; choose one:\n{described(sources)}")
    status = SUCCESS
    for source in sources:
        text = source.load()
        done = formatted(text, work.style, source.name)
        if options.check:
            status = max(status, work.compare(source.name, text, done))
        else:
            heading = f"// {source.name}\n" if len(sources) > 1 else ""
            _write(output, heading + done, changed=True)
    return status


def _write(name: str, text: str, *, changed: bool) -> None:
    if name == "-":
        write_bytes_of(text)
    elif changed:
        Path(name).write_bytes(encode(text))


def _refused(why: str | Exception) -> int:
    write(f"pyptx fmt: {why if isinstance(why, str) else text_of(why)}\n", sys.stderr)
    return USAGE_ERROR
