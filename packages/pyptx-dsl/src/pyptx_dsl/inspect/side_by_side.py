"""A kernel's Python, PTX and SASS: which lines of each come from which line of Python."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from pyptx_dsl.inspect.explanation import SASS_LINE, numbered
from pyptx_dsl.inspect.sources import PythonLine, extents
from pyptx_ir.syntax.source import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_dsl.inspect.sources import Extent
    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.kernels.specialize import Traced

    Stacks = Mapping[int, tuple[PythonLine, ...]]

_INSTRUCTION: Final = re.compile(r"\s*/\*(?P<offset>[0-9a-f]{4,})\*/\s+(?P<text>[^;]*\S)\s*;")
_LABEL: Final = re.compile(r"(?P<text>\.L_\w+):\s*$")
_PADDING: Final = "\tNOP"  # follows the last instruction


@dataclass(frozen=True, slots=True)
class ListedLine:
    """A line of a listing. `label` is its line number, for SASS the offset of the instruction in bytes.

    `stack` are the Python lines that emitted it, innermost first; for a line of Python, the line itself.
    """

    label: str
    text: str
    stack: tuple[PythonLine, ...] = ()

    @property
    def line(self) -> PythonLine | None:
        """The Python line that emitted it: the innermost one."""
        return self.stack[0] if self.stack else None


@dataclass(frozen=True, slots=True)
class KernelListing:
    """Python, PTX and SASS of a kernel; `print` shows them below each other, a notebook side by side with links.

    `python` are the kernel's function and the functions that it called, each after a line with the name of its file.
    `sass` is empty if ptxas or nvdisasm are missing or reject the PTX; then `reason` says why. Code that ptxas adds for
    no instruction of the PTX has an empty stack.
    """

    name: str
    target: str
    python: tuple[ListedLine, ...]
    ptx: tuple[ListedLine, ...]
    sass: tuple[ListedLine, ...]
    reason: str = ""

    def __str__(self) -> str:
        """Return PTX and SASS as text; before each run of lines is the Python line that emitted it."""
        source = {line.line: line.text.strip() for line in self.python if line.line}
        parts = [f"// {self.name} for {self.target}: PTX", *_commented(self.ptx, source), ""]
        parts += [f"// {self.reason}"] if self.reason else [f"// {self.name} for {self.target}: SASS"]
        return "\n".join(map(visible, [*parts, *_commented(self.sass, source)]))

    def to_html(self) -> str:
        """Return an HTML page with the columns Python, PTX and SASS, in which lines of one Python line are linked."""
        from pyptx_dsl.inspect.columns import columns
        from pyptx_ir.drawing import page

        return page(self.name, columns(self))

    def _repr_html_(self) -> str:
        """Return the columns of `to_html` for notebooks."""
        from pyptx_dsl.inspect.columns import columns

        return columns(self)


def listing(declaration: Declaration, traced: Traced) -> KernelListing:
    """Return the listing of a traced kernel; run ptxas (or use its cached result) and nvdisasm for the SASS."""
    origins = traced.origins
    stacks = {n: tuple(PythonLine(each.file, each.line) for each in frames) for n, frames in origins.items()}
    found = extents(declaration.function, [origins[number] for number in sorted(origins)])
    text = traced.text.rstrip("\n").split("\n")
    ptx = tuple(ListedLine(str(number), line, stacks.get(number, ())) for number, line in enumerate(text, 1))
    sass, reason = _machine_code(declaration, traced, stacks)
    python = tuple(line for extent in found for line in _python(extent))
    return KernelListing(declaration.name, declaration.target.name, python, ptx, sass, reason)


def _python(extent: Extent) -> Iterator[ListedLine]:
    """Yield the name of a file, and the lines of a function in it."""
    yield ListedLine("", f"# {PurePath(extent.file).name}")
    for number in range(extent.first, extent.last + 1):
        text = linecache.getline(extent.file, number).rstrip("\r\n")
        yield ListedLine(str(number), text, (PythonLine(extent.file, number),))


def _machine_code(declaration: Declaration, traced: Traced, stacks: Stacks) -> tuple[tuple[ListedLine, ...], str]:
    """Return the lines of SASS, or no lines and the reason."""
    from pyptx_ir.toolchain import CubinCache, ToolchainError, assemble, disassemble

    try:
        assembly = assemble(numbered(traced), declaration.target.name, cache=CubinCache())
        sass = disassemble(assembly.cubin, lines=True)
    except ToolchainError as error:
        help = f" ({error.help})" if error.help else ""
        return (), f"no SASS: {error.message.splitlines()[0]}{help}"
    lines = list(_sass(sass, declaration.name, stacks))
    used = max((n for n, line in enumerate(lines, 1) if line.label and line.text != _PADDING), default=0)
    return tuple(lines[:used]), ""


def _sass(sass: str, entry: str, stacks: Stacks) -> Iterator[ListedLine]:
    """Yield the instructions and labels of an entry in a listing of nvdisasm with line information."""
    inside, number = False, 0
    for line in sass.splitlines():
        if line.startswith("//-----"):
            inside = line.strip("/- ") == f".text.{entry}"
        elif not inside:
            continue
        elif place := SASS_LINE.match(line):
            number = int(place[1])
        elif label := _LABEL.match(line):
            yield ListedLine("", f"{label['text']}:")
        elif match := _INSTRUCTION.match(line):
            text = "\t" + " ".join(match["text"].split())
            yield ListedLine(match["offset"], text, stacks.get(number, ()))


def _commented(lines: Sequence[ListedLine], source: Mapping[PythonLine, str]) -> Iterator[str]:
    """Yield lines, with a comment before each run of lines from one Python line."""
    for python, run in groupby(lines, key=lambda line: line.line):
        if python is not None:
            yield f"\t// {python.place}: {source.get(python, '')}"
        yield from (line.text for line in run)
