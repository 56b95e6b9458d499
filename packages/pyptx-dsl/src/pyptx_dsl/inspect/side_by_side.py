"""A kernel's Python, PTX and SASS: which line of each comes from which line of Python."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from pyptx_dsl.inspect.explanation import SASS_LINE, numbered
from pyptx_ir.syntax.source import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.kernels.specialize import Traced
    from pyptx_ir.plugins.rows import Frame

_INSTRUCTION: Final = re.compile(r"\s*/\*(?P<offset>[0-9a-f]{4,})\*/\s+(?P<text>[^;]*\S)\s*;")
_LABEL: Final = re.compile(r"(?P<text>\.L_\w+):\s*$")
_PADDING: Final = "\tNOP"  # follows the last instruction


@dataclass(frozen=True, slots=True)
class ListedLine:
    """A line of a listing. `label` is its line number, for SASS the offset of the instruction in bytes.

    `python` is the line of the kernel's function that emitted it, and `origin` describes where it comes from.
    """

    label: str
    text: str
    python: int | None = None
    origin: str = ""


@dataclass(frozen=True, slots=True)
class KernelListing:
    """Python, PTX and SASS of a kernel; `print` shows them below each other, a notebook side by side with links.

    `file` is the name of the Python file. `sass` is empty if ptxas or nvdisasm are missing or reject the PTX; then
    `reason` says why. SASS that ptxas adds for no instruction of the PTX has no `python` line.
    """

    name: str
    target: str
    file: str
    python: tuple[ListedLine, ...]
    ptx: tuple[ListedLine, ...]
    sass: tuple[ListedLine, ...]
    reason: str = ""

    def __str__(self) -> str:
        """Return Python, PTX and SASS as text; before each run of PTX or SASS is the Python line that emitted it."""
        source = {line.python: f"{self.file}:{line.label}: {line.text.strip()}" for line in self.python}
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
    file, python = _source(declaration)
    lines = {line.python for line in python}
    found = {number: _line(frames, file, lines) for number, frames in traced.origins.items()}
    origins = {number: _origin(frames) for number, frames in traced.origins.items()}
    text = traced.text.rstrip("\n").split("\n")
    ptx = tuple(ListedLine(str(n), line, found.get(n), origins.get(n, "")) for n, line in enumerate(text, 1))
    sass, reason = _machine_code(declaration, traced, found)
    return KernelListing(declaration.name, declaration.target.name, PurePath(file).name, python, ptx, sass, reason)


def _source(declaration: Declaration) -> tuple[str, tuple[ListedLine, ...]]:
    """Return the file and the lines of a kernel's function; no lines if the source is not available."""
    file = declaration.function.__code__.co_filename
    try:
        lines, first = inspect.getsourcelines(declaration.function)
    except (OSError, TypeError, SyntaxError):
        return file, ()
    return file, tuple(ListedLine(str(n), line.rstrip("\r\n"), n) for n, line in enumerate(lines, first))


def _line(frames: Sequence[Frame], file: str, lines: set[int | None]) -> int | None:
    """Return the line of the kernel's function in a stack of frames, innermost first."""
    return next((frame.line for frame in frames if frame.file == file and frame.line in lines), None)


def _origin(frames: Sequence[Frame]) -> str:
    return "\n".join(f"{PurePath(frame.file).name}:{frame.line} in {frame.function}" for frame in frames)


def _machine_code(
    declaration: Declaration, traced: Traced, found: Mapping[int, int | None]
) -> tuple[tuple[ListedLine, ...], str]:
    """Return the lines of SASS, or no lines and the reason."""
    from pyptx_ir.toolchain import CubinCache, ToolchainError, assemble, disassemble

    try:
        assembly = assemble(numbered(traced), declaration.target.name, cache=CubinCache())
        sass = disassemble(assembly.cubin, lines=True)
    except ToolchainError as error:
        help = f" ({error.help})" if error.help else ""
        return (), f"no SASS: {error.message.splitlines()[0]}{help}"
    lines = list(_sass(sass, declaration.name, found))
    used = max((n for n, line in enumerate(lines, 1) if line.label and line.text != _PADDING), default=0)
    return tuple(lines[:used]), ""


def _sass(sass: str, entry: str, found: Mapping[int, int | None]) -> Iterator[ListedLine]:
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
            yield ListedLine(match["offset"], text, found.get(number), f"PTX line {number}" if number else "")


def _commented(lines: Sequence[ListedLine], source: Mapping[int | None, str]) -> Iterator[str]:
    """Yield lines, with a comment before each run of lines from one Python line."""
    for python, run in groupby(lines, key=lambda line: line.python):
        if python is not None:
            yield f"\t// {source[python]}"
        yield from (line.text for line in run)
