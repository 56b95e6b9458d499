"""Source locations of instructions in the user's Python.

Each emitted instruction records its stack of user frames: the frames from the call to the kernel body, without frames
of this project and of frameworks. Capturing must be cheap, so it stores `(code, instruction offset)` pairs. `f_lineno`
walks a table as long as the function, which would make long functions quadratic. Lines are looked up later, once per
code object.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING

from pyptx_ir.machinery import is_machinery
from pyptx_ir.paths import displayed_path

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from pyptx_ir.plugins.rows import Frame

Site = tuple[int, ...]
"""User frames, innermost first: id of each frame's code object (kept by the recorder) and bytecode offset."""


class Recorder:
    """Recorder of the user frames of each emitted instruction during a trace; converts them to lines afterwards."""

    __slots__ = ("_codes", "_lines", "_users", "root")

    def __init__(self) -> None:
        """Create a recorder without recorded frames."""
        self.root: FrameType | None = None
        # Keys are ids of code objects: hashing a code object hashes its constants. `_codes` keeps the objects alive.
        self._codes: dict[int, CodeType] = {}
        self._users: dict[int, bool] = {}
        self._lines: dict[int, tuple[list[int], list[int]]] = {}

    def stop_at(self, frame: FrameType) -> None:
        """End recorded Python stacks at `frame`, which runs the trace; include `frame` only if it is user code."""
        self.root = frame if is_machinery(frame) else frame.f_back

    def capture(self, frame: FrameType | None) -> Site:
        """Return the user frames from `frame` outwards, innermost first, up to the frame that started the trace."""
        users, root, here = self._users, self.root, frame
        site: Site = ()
        try:
            while here is not None and here is not root:
                code = id(here.f_code)
                if users[code]:
                    site += code, here.f_lasti
                here = here.f_back
        except KeyError:
            self._learn(here)
            return self.capture(frame)
        return site

    def innermost(self, frame: FrameType | None) -> Site:
        """Return the code position (Site) of the innermost user frame from `frame` outwards, also outside the trace."""
        users, here = self._users, frame
        while here is not None:
            code = here.f_code
            if id(code) not in users:
                self._learn(here)
            if users.get(id(code)):
                return (id(code), here.f_lasti)
            here = here.f_back
        return ()

    def _learn(self, frame: FrameType | None) -> None:
        """Record whether the code of a frame, and of each outer frame, is user code."""
        while frame is not None and frame is not self.root:
            code = frame.f_code
            if id(code) not in self._codes:
                self._codes[id(code)] = code
                self._users[id(code)] = not is_machinery(frame)
            frame = frame.f_back

    def frames(self, site: Site) -> tuple[Frame, ...]:
        """Return file, line and function of each frame of a recorded stack, innermost first."""
        from pyptx_ir.plugins.rows import Frame

        places = [(self._codes[code], offset) for code, offset in zip(site[::2], site[1::2], strict=True)]
        return tuple(Frame(code.co_filename, self._line(code, offset), code.co_qualname) for code, offset in places)

    def entry(self, site: Site) -> tuple[str, int]:
        """Return file and line of the outermost frame of a recorded stack, in the body of the kernel."""
        code = self._codes[site[-2]]
        return code.co_filename, self._line(code, site[-1])

    def where(self, site: Site) -> str:
        """Return `file:line` of a recorded stack's innermost frame as text; empty for a stack without frames."""
        return "\n".join(show(frame.file, frame.line, frame.function) for frame in self.frames(site)[:1])

    def at(self, site: Site) -> str | None:
        """Return a recorded stack's innermost line as text, with a caret below the expression; None without a frame."""
        if not site:
            return None
        code = self._codes[site[0]]
        return at_instruction(code, self._line(code, site[1]), site[1])

    def _line(self, code: CodeType, offset: int) -> int:
        table = self._lines.get(id(code))
        if table is None:
            rows = [(start, line) for start, _, line in code.co_lines() if line is not None]
            table = self._lines[id(code)] = ([start for start, _ in rows], [line for _, line in rows])
        at = bisect_right(table[0], offset) - 1
        return table[1][at] if at >= 0 else code.co_firstlineno


def user_frame(frame: FrameType | None = None) -> FrameType | None:
    """Return the innermost frame of user code, from `frame` (default: the caller) outwards."""
    frame = frame or sys._getframe(1)  # noqa: SLF001  the documented way to look at the caller's stack
    while frame is not None and is_machinery(frame):
        frame = frame.f_back
    return frame


def locate(frame: FrameType | None) -> str | None:
    """Return a frame's current line as text: `file:line: in function`, the source, a caret below the expression."""
    return None if frame is None else at_instruction(frame.f_code, frame.f_lineno, frame.f_lasti)


def at_instruction(code: CodeType, line: int, instruction: int) -> str:
    """Return the source line of a bytecode instruction as text, with a caret below its expression."""
    _, _, column, _ = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    return show(code.co_filename, line, code.co_qualname, column)


def definition(code: CodeType) -> int:
    """Return the line number of a function's `def`, which follows its decorators; without source, its first line."""
    import linecache

    first = code.co_firstlineno
    lines = linecache.getlines(code.co_filename)[first - 1 :]
    return next((number for number, line in enumerate(lines, first) if line.lstrip().startswith("def ")), first)


def show(file: str, line: int, function: str | None = None, column: int | None = None) -> str:
    """Return one line of a file as text, with a caret under its first character or under `column` (counted from 0)."""
    import linecache

    head = f"{displayed_path(file)}:{line}:" + (f" in {function}" if function else "")
    source = linecache.getline(file, line).rstrip("\n")
    if not source.strip():
        return head
    text = source.lstrip()
    cut = len(source) - len(text)
    caret = 0 if column is None else max(len(source.encode()[:column].decode(errors="replace")) - cut, 0)
    return f"{head}\n    {text}\n    {' ' * caret}^"
