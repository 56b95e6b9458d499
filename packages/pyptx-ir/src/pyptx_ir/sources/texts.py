"""Text inputs: PTX, cuobjdump listings, and other languages, which the error names."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_ir.plugins.source_rows import CommandInput, PtxSource, SourceFormat
from pyptx_ir.sources.errors import SourceError
from pyptx_ir.syntax.source import decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Heading of one module in the output of `cuobjdump -ptx` or `-sass`, with its lines `arch = sm_90`, `compressed`, ….
_HEADING = re.compile(
    r"^Fatbin (?P<kind>\w+) code:[^\n]*\n=+\r?\n(?:(?:compressed|[A-Za-z_][\w ]* ?= )[^\n]*(?:\n|\Z))*"
    r"|^member [^\n]*:\r?$",
    re.MULTILINE,
)
# Beginning of PTX: whitespace and comments, then the first directive of a module.
_MODULE = re.compile(rb"(?:[ \t\r\n\f\v]|//[^\n]*\n|/\*[^*]*\*+(?:[^*/][^*]*\*+)*/)*\.version\b")


def modules_of_listing(listing: str, name: str) -> tuple[PtxSource, ...]:
    """Return the modules in a cuobjdump listing, without its headings and blank lines.

    Raises:
        SourceError: it lists no PTX.

    """
    found = tuple(
        PtxSource(name, partial(str, text), number, offset) for number, (offset, text) in enumerate(_listed(listing), 1)
    )
    if not found:
        raise SourceError(f"{name} contains only machine code, no PTX", help="list the PTX: cuobjdump -ptx")
    return found


def _listed(listing: str) -> Iterator[tuple[int, str]]:
    headings = list(_HEADING.finditer(listing))
    ends = [*(heading.start() for heading in headings[1:]), len(listing)]
    for heading, end in zip(headings, ends, strict=True):
        text = listing[heading.end() : end].strip("\r\n")
        if heading["kind"] == "ptx" and text:
            yield len(listing[: heading.end()].encode("utf-8", "surrogateescape")), f"{text}\n"


def _text(source: CommandInput) -> Sequence[PtxSource]:
    if source.path is not None:
        python = re.sub(r"(:.*)?$", r".py\1", source.name, count=1)
        if not source.path.exists() and Path(python.partition(":")[0]).is_file():
            raise SourceError(f"{source.name} does not exist", help=f"did you mean {python}?")
        source.path.stat()  # raises FileNotFoundError now, before the file's text is read
    return (PtxSource(source.name, partial(_decoded, source)),)


def _decoded(source: CommandInput) -> str:
    return decode(source.data())


def _listing(source: CommandInput) -> Sequence[PtxSource]:
    return modules_of_listing(decode(source.data()), source.name)


def _other(language: str, help: str, source: CommandInput) -> Sequence[PtxSource]:
    raise SourceError(f"{source.name} is {language}, not PTX", help=help)


def _language(name: str, language: str, help: str, named: str, begins: bytes | None = None) -> SourceFormat:
    pattern = None if begins is None else re.compile(begins)
    return SourceFormat(name, partial(_other, language, help), pattern, re.compile(named, re.IGNORECASE))


PTX: Final = SourceFormat("ptx", _text, _MODULE)
FORMATS: Final = (
    PTX,
    SourceFormat("listing", _listing, re.compile(rb"\s*(?:member [^\n]*:\r?\n\s*)?Fatbin \w+ code:")),
    _language("cuda", "CUDA C++", "compile it: nvcc -ptx -arch=sm_90a", r"\.cuh?$", rb"\s*#\s*include\b"),
    _language(
        "mlir",
        "MLIR",
        "use the PTX that its compiler writes: in Triton's cache, the .ptx file of the same name",
        r"\.(?:mlir|ttg?ir)$",
        rb"\s*(?:#loc\d* = loc\(|module\b)",
    ),
    _language("llvm", "LLVM IR", "compile it: llc -march=nvptx64", r"\.ll$", rb"; ModuleID = |source_filename = "),
    _language("bitcode", "LLVM bitcode", "compile it: llc -march=nvptx64", r"\.bc$", rb"BC\xc0\xde"),
    _language(
        "sass",
        "SASS",
        "use the PTX from which it was compiled: machine code can't be converted to PTX",
        r"\.sass$",
        rb"\s*\.headerflags\b",
    ),
    _language("notebook", "a notebook", "write its kernels to a Python file: %%writefile kernels.py", r"\.ipynb$"),
    _language("bytecode", "Python bytecode", "use the .py file from which it was compiled", r"\.py[co]$"),
)
