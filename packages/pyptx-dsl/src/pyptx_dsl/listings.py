"""`pyptx ptx`, `pyptx sass` and `pyptx resources`: what a kernel, a PTX file or an image compiles to."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_dsl.inspect.answers import disassembled
from pyptx_dsl.kernels.loading import FoundKernel, found_in_file
from pyptx_ir.command_line import SUCCESS, CommandParser
from pyptx_ir.plugins.source_rows import PtxSource, target_of
from pyptx_ir.sources import KERNEL_OF_FILE, expanded, read_sources, run_with_sizes, with_sizes
from pyptx_ir.sources.reader import ARCH, INPUTS
from pyptx_ir.syntax.source import encode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from pyptx_ir.plugins.source_rows import CommandInput
    from pyptx_ir.sources.sizes import Sizes
    from pyptx_ir.toolchain import Assembly, Resources

_COLUMNS: Final = ("registers", "shared", "stack", "spill_stores", "spill_loads", "barriers")


def ptx(argv: Sequence[str]) -> int:
    """Print the PTX of an input."""
    return _ran("ptx", "Print the PTX of a kernel, or of an image.", _ptx, argv)


def sass(argv: Sequence[str]) -> int:
    """Print the machine code that ptxas generates for an input."""
    return _ran("sass", "Print the SASS, NVIDIA's machine code, of a kernel or of PTX. Needs nvdisasm.", _sass, argv)


def resources(argv: Sequence[str]) -> int:
    """Print the registers, shared memory, stack and spills of the kernels of an input, as reported by ptxas."""
    return _ran("resources", "Print registers, memory and spills of each kernel, from ptxas.", _resources, argv)


def read_kernel(source: CommandInput) -> Sequence[PtxSource]:
    """Return the PTX of the kernel or module that an input such as `FILE.py:KERNEL:B=16` names."""
    found = found_in_file(source.name)
    return (PtxSource(found.name, found.text, kernel=found.runnable() if isinstance(found, FoundKernel) else None),)


def _ran(name: str, description: str, listing: Callable[[argparse.Namespace, Sizes], str], argv: Sequence[str]) -> int:
    parser = CommandParser(name, description)
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help=INPUTS)
    parser.add_argument("--arch", metavar="sm_XY", help=ARCH)
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")
    if name == "resources":
        parser.add_argument("--json", action="store_true", help="print JSON")

    def write(options: argparse.Namespace, sizes: Sizes) -> int:
        text = listing(options, sizes)
        if options.output in (None, "-"):
            sys.stdout.flush()
            sys.stdout.buffer.write(encode(text))
        else:
            Path(options.output).write_bytes(encode(text))
        return SUCCESS

    return run_with_sizes(parser, write, argv)


def _read(options: argparse.Namespace, sizes: Sizes) -> Iterator[FoundKernel | str]:
    """Yield the kernel of each input that is a Python file, and the PTX modules of the others."""
    for name in (with_sizes(each, sizes) for each in expanded(options.inputs)):
        sources = read_sources(name, options.arch)  # raises SourceError for a kernel of another target
        found = found_in_file(name) if KERNEL_OF_FILE.fullmatch(name) else None
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
    return "".join(f"{line}\n" for line in _table(rows))


def _assembled(text: str) -> Assembly:
    from pyptx_ir.toolchain import CubinCache, assemble

    return assemble(text, target_of(text), cache=CubinCache())


def _table(rows: Sequence[Resources]) -> Iterator[str]:
    """Yield the lines of a table of resources; registers are per thread, sizes in bytes."""
    width = max([len("kernel"), *(len(row.entry) for row in rows)])
    yield "  ".join((f"{'kernel':{width}}", f"{'target':8}", *(f"{name.replace('_', ' '):>12}" for name in _COLUMNS)))
    for row in rows:
        cells = (f"{getattr(row, name):>12}" for name in _COLUMNS)
        yield "  ".join((f"{row.entry:{width}}", f"{row.target:8}", *cells))
