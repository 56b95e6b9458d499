"""Source lines of instructions, with the calls that were inlined. Manual: "Debugging Directives: .loc".

A `.loc` applies to the instructions up to the next one. An `inlined_at` is the location of an earlier `.loc` of the
same function, which may itself be inlined; compilers emit that `.loc` first. Its latest one is meant: LLVM and NVVM
emit the calls of a location again when the instructions of another call follow. Without an `inlined_at`, LLVM's
comment after the `.loc` may have the calls. LLVM counts the lines of inline assembly: an instruction on
its third line has a `.loc` two lines after that of the statement. Therefore a `.loc` within inline assembly is ignored.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

from pyptx_ir.debug_info.comments import commented_calls
from pyptx_ir.debug_info.strings import DebugStrings
from pyptx_ir.plugins.rows import Frame
from pyptx_ir.syntax import Source, emit, positions, walk
from pyptx_ir.syntax.nodes import File, Function, Instruction, Loc, Version, trivia_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_ir.syntax.nodes import Module, Statement

Frames: TypeAlias = tuple[Frame, ...]
"""Source lines of an instruction: the innermost first, then the line of each inlined call, outwards."""
_ASSEMBLY: Final = "inline asm"  # in the comments with which LLVM marks the begin and the end of inline assembly
_Location: TypeAlias = tuple[int, int, int]


def instruction_frames(module: Module) -> list[Frames]:
    """Return the source lines of each instruction of a module, in reading order.

    The frames of an instruction are empty if no `.loc` precedes it in its function, or if its file is not declared. The
    function of a frame is the name that `function_name` refers to, mangled as in the module, else that of the PTX
    function. It is empty for a call that only a comment shows.
    """
    return [frames for statements in _modules(module) for frames in _LocReader(statements).frames()]


def frames_by_line(module: Module) -> dict[int, Frames]:
    """Return the source lines of the instructions, by the physical line (from 1) of the module's text.

    Instructions without source lines are left out. Of several instructions on a line, the last one counts.
    """
    source = Source(emit(module))
    spans = (span for node, span in positions(module) if isinstance(node, Instruction))
    found = zip(spans, instruction_frames(module), strict=True)
    return {source.line_column(span.start)[0]: frames for span, frames in found if frames}


def source_files(module: Module) -> tuple[str, ...]:
    """Return the names of the source files that a module's `.file` directives declare."""
    return tuple(node.name for node in module.body if isinstance(node, File))


def _modules(module: Module) -> Iterator[Sequence[Statement]]:
    """Yield the statements of each module in a text; a listing of cuobjdump has several, each with a `.version`."""
    starts = [at for at, node in enumerate(module.body) if isinstance(node, Version)] or [0]
    for start, end in zip([0, *starts[1:]], [*starts[1:], len(module.body)], strict=True):
        yield module.body[start:end]


class _LocReader:
    """Interpreter of the `.loc` directives of a module."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self._statements = statements
        self._files: Mapping[int, str] = {node.index: node.name for node in statements if isinstance(node, File)}
        self._names = DebugStrings(statements)

    def frames(self) -> Iterator[Frames]:
        """Yield the source lines of each instruction."""
        return chain.from_iterable(map(self._of, self._statements))

    def _of(self, statement: Statement) -> Iterator[Frames]:
        current: Frames = ()
        known: dict[_Location, Frames] = {}
        function = statement.name if isinstance(statement, Function) else ""
        loc: Loc | None = None
        in_assembly = False
        for node in walk(statement):
            trivia = trivia_of(node)
            if loc is not None:
                found = known[loc.file, loc.line, loc.column] = self._frames(loc, function, known, trivia)
                current = current if in_assembly else found
            if _ASSEMBLY in trivia:
                in_assembly = trivia.rfind(f"begin {_ASSEMBLY}") > trivia.rfind(f"end {_ASSEMBLY}")
            loc = node if isinstance(node, Loc) else None
            if isinstance(node, Instruction):
                yield current

    def _frames(self, loc: Loc, function: str, known: Mapping[_Location, Frames], trivia: str) -> Frames:
        """Return the frames of a `.loc`; `trivia`, the text after it, may have its inlined calls as a comment."""
        if loc.inlined_at is None:
            calls = tuple(commented_calls(trivia, self._files))
            # The comment does not name the functions of the calls; the last call is in the PTX function.
            names = ("",) * len(calls) + (function,)
            lines = ((self._files.get(loc.file), loc.line), *calls)
            return tuple(chain.from_iterable(map(_frame, lines, names)))
        call = loc.inlined_at
        callers = known.get((call.file, call.line, call.column))
        if callers is None:
            callers = _frame((self._files.get(call.file), call.line), function)
        name = self._names.at(call.function_label, call.offset) or function
        own = _frame((self._files.get(loc.file), loc.line), name)
        # A call that is inlined into itself has one frame: the location alone does not distinguish the levels.
        return (*own, *(frame for frame in callers if frame not in own))


def _frame(place: tuple[str | None, int], function: str) -> Frames:
    """Return the frame of a file and line; empty for an undeclared file, and for line 0, the compiler's own code."""
    file, line = place
    return () if file is None or not line else (Frame(file, line, function),)
