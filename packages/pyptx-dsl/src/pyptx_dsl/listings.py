"""`pyptx ptx`, `sass`, `resources` and `layout`: what a kernel, a PTX file or an image compiles to, and its layouts."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_dsl.contract.tables import parameters
from pyptx_dsl.inspect.answers import disassembled
from pyptx_dsl.kernels.loading import FoundKernel, source_in_file
from pyptx_dsl.layouts import layout_of
from pyptx_ir.command_line import SUCCESS, CommandParser
from pyptx_ir.drawing import page, stacked
from pyptx_ir.plugins.source_rows import PtxSource, target_of
from pyptx_ir.sources import KERNEL_OF_FILE, expanded, read_sources, run_with_sizes, with_sizes
from pyptx_ir.sources.reader import ARCH, INPUTS
from pyptx_ir.syntax import parse
from pyptx_ir.terminal import table, write_code
from pyptx_ir.terminal.progress import show_progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from pyptx_dsl.layouts import ModuleLayout
    from pyptx_ir.plugins.source_rows import CommandInput
    from pyptx_ir.sources.sizes import Sizes
    from pyptx_ir.toolchain import Assembly, Resources

_COLUMNS: Final = ("registers", "shared", "stack", "spill_stores", "spill_loads", "barriers")


def ptx(argv: Sequence[str]) -> int:
    """Print the PTX of an input."""
    return _ran(ptx_parser(), _ptx, argv)


def sass(argv: Sequence[str]) -> int:
    """Print the machine code that ptxas generates for an input."""
    return _ran(sass_parser(), _sass, argv)


def resources(argv: Sequence[str]) -> int:
    """Print the registers, shared memory, stack and spills of the kernels of an input, as reported by ptxas."""
    return _ran(resources_parser(), _resources, argv)


def ptx_parser() -> CommandParser:
    """Return the parser of the options of `pyptx ptx`."""
    return _parser("ptx", "Print the PTX of a kernel, or of an image.")


def sass_parser() -> CommandParser:
    """Return the parser of the options of `pyptx sass`."""
    return _parser("sass", "Print the SASS, NVIDIA's machine code, of a kernel or of PTX. Needs nvdisasm.")


def resources_parser() -> CommandParser:
    """Return the parser of the options of `pyptx resources`."""
    parser = _parser("resources", "Print registers, memory and spills of each kernel, from ptxas.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def layout(argv: Sequence[str]) -> int:
    """Print the parameters, shared memory and fragments of the kernels of an input; `-o` may write pictures."""
    return _ran(layout_parser(), _layout, argv)


def layout_parser() -> CommandParser:
    """Return the parser of the options of `pyptx layout`."""
    return _parser(
        "layout",
        "Print parameters, shared memory, and the fragments of matrix instructions. An output file whose name ends in "
        ".html or .svg gets pictures.",
    )


def read_kernel(source: CommandInput) -> Sequence[PtxSource]:
    """Return the PTX of the kernel or module that an input such as `FILE.py:KERNEL:B=16` names."""
    found = source_in_file(source.name)
    return (PtxSource(found.name, found.text, kernel=found.runnable() if isinstance(found, FoundKernel) else None),)


def _parser(name: str, description: str) -> CommandParser:
    parser = CommandParser(name, description)
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help=INPUTS)
    parser.add_argument("--arch", metavar="sm_XY", help=ARCH)
    return parser


def _ran(parser: CommandParser, listing: Callable[[argparse.Namespace, Sizes], str], argv: Sequence[str]) -> int:
    def write(options: argparse.Namespace, sizes: Sizes) -> int:
        with show_progress("tracing" if listing is _ptx else "compiling"):
            text = listing(options, sizes)
        write_code(text, "pyptx") if listing is _ptx else sys.stdout.write(text)
        return SUCCESS

    return run_with_sizes(parser, write, argv)


def _read(options: argparse.Namespace, sizes: Sizes) -> Iterator[FoundKernel | str]:
    """Yield the kernel of each input that is a Python file, and the PTX modules of the others."""
    for name in (with_sizes(each, sizes) for each in expanded(options.inputs)):
        sources = read_sources(name, options.arch)  # raises SourceError for a kernel of another target
        found = source_in_file(name) if KERNEL_OF_FILE.fullmatch(name) else None
        if isinstance(found, FoundKernel):
            yield found
        else:
            yield from (source.load() for source in sources)


def _ptx(options: argparse.Namespace, sizes: Sizes) -> str:
    texts = [each if isinstance(each, str) else each.text() for each in _read(options, sizes)]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in texts)


def _sass(options: argparse.Namespace, sizes: Sizes) -> str:
    found = _read(options, sizes)
    return "".join(
        disassembled(_assembled(each).cubin) if isinstance(each, str) else each.call(each.kernel.sass) for each in found
    )


def _resources(options: argparse.Namespace, sizes: Sizes) -> str:
    rows: list[Resources] = []
    for each in _read(options, sizes):
        if isinstance(each, str):
            rows += _assembled(each).resources.values()
        else:
            rows.append(each.call(each.kernel.resources))
    if options.json:
        return json.dumps([asdict(row) for row in rows], indent=2) + "\n"
    cells = [[row.entry, row.target, *(str(getattr(row, name)) for name in _COLUMNS)] for row in rows]
    headings = ("kernel", "target", *(name.replace("_", " ") for name in _COLUMNS))
    return table(cells, headings, right=range(2, len(headings)))


def _layout(options: argparse.Namespace, sizes: Sizes) -> str:
    """Return the layouts as text; as HTML or SVG if the name of the output ends so."""
    layouts = [_layout_of(each) for each in _read(options, sizes)]
    match Path(options.output_file or "").suffix:
        case ".html":
            return page("layouts", *(each._repr_html_() for each in layouts))
        case ".svg":
            return f"{stacked(*(each.to_svg() for each in layouts))}\n"
        case _:
            return "\n\n".join(map(str, layouts)) + "\n"


def _layout_of(found: FoundKernel | str) -> ModuleLayout:
    if isinstance(found, str):
        return layout_of(parse(found))
    traced = found.traced()
    arrays = parameters(found.kernel.declaration)
    return layout_of(traced.module, traced.shared, arrays, traced.tiles.values())


def _assembled(text: str) -> Assembly:
    from pyptx_ir.toolchain import CubinCache, assemble

    return assemble(text, target_of(text), cache=CubinCache())
