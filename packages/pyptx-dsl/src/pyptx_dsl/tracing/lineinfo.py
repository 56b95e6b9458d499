"""Python lines in the PTX: `.file`, and `.loc` before the instructions of each new line.

Helpers appear as inlined calls: the outermost user line comes first as a plain `.loc`, each inner one follows with
`function_name …, inlined_at …`, and the functions' names are in a `.debug_str` section. ptxas converts this to
`.debug_line`, which profilers, cuda-gdb and nvdisasm read. Manual: "Debugging Directives: .loc".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax import nodes
from pyptx_ir.syntax.operands import Immediate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.origin import Recorder, Site
    from pyptx_ir.plugins.rows import Frame

_STRINGS = "$L__python_functions"


class LineTable:
    """Source files and inlined functions of a kernel, numbered in order of first use."""

    __slots__ = ("_files", "_frames", "_functions", "_last", "_recorder", "_size")

    def __init__(self, recorder: Recorder) -> None:
        """Start a line table without files and functions."""
        self._recorder = recorder
        self._files: dict[str, int] = {}
        self._functions: dict[str, int] = {}
        self._size = 0
        self._last: tuple[Frame, ...] = ()
        self._frames: dict[Site, tuple[Frame, ...]] = {}

    def locations(self, site: Site, leading_trivia: str) -> Iterator[nodes.Loc]:
        """Yield the `.loc` lines for an instruction; none if the preceding instruction has the same Python stack."""
        frames = self._frames.get(site)
        if frames is None:
            frames = self._frames[site] = self._recorder.frames(site)
        if frames == self._last or not frames:
            return
        self._last = frames
        outer: tuple[int, int] | None = None
        for frame in reversed(frames):
            number = self._files.setdefault(frame.file, len(self._files) + 1)
            inlined = None if outer is None else nodes.InlinedAt(_STRINGS, self._offset(frame), *outer, 1)
            yield nodes.Loc(file=number, line=frame.line, column=1, inlined_at=inlined, leading_trivia=leading_trivia)
            outer = (number, frame.line)

    def _offset(self, frame: Frame) -> int:
        """Return the offset in bytes of a frame's function name in `.debug_str`."""
        known = self._functions.get(frame.function)
        if known is None:
            known = self._functions[frame.function] = self._size
            self._size += len(frame.function.encode()) + 1
        return known

    def files(self) -> tuple[nodes.File, ...]:
        """Return the `.file` directives of the files used so far."""
        return tuple(nodes.File(index=number, name=name, leading_trivia="\n") for name, number in self._files.items())

    def sections(self) -> tuple[nodes.Section, ...]:
        """Return the `.debug_str` section with the names of inlined functions; none if no helper was inlined."""
        if not self._functions:
            return ()
        rows: list[nodes.SectionData | nodes.Label] = [nodes.Label(name=_STRINGS, leading_trivia="\n")]
        for name in self._functions:
            values = tuple(Immediate(str(byte)) for byte in (*name.encode(), 0))
            rows.append(nodes.SectionData(type="b8", values=values, leading_trivia="\n"))
        return (nodes.Section(name=".debug_str", body=tuple(rows), leading_trivia="\n", closing_trivia="\n"),)
