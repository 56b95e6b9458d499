"""Source lines of instructions, with the calls that were inlined. Manual: "Debugging Directives: .loc".

A `.loc` applies to the instructions up to the next one. An `inlined_at` is the location of an earlier `.loc` of the
same function, which may itself be inlined; compilers emit that `.loc` first. Its latest one is meant: LLVM and NVVM
emit the calls of a location again when the instructions of another call follow.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.debug_info.strings import DebugStrings
from pyptx_ir.plugins.rows import Frame
from pyptx_ir.syntax import Source, emit, positions, walk
from pyptx_ir.syntax.nodes import File, Function, Instruction, Loc, Version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_ir.syntax.nodes import Module, Statement

Frames: TypeAlias = tuple[Frame, ...]
"""Source lines of an instruction: the innermost first, then the line of each inlined call, outwards."""
_Location: TypeAlias = tuple[int, int, int]


def instruction_frames(module: Module) -> list[Frames]:
    """Return the source lines of each instruction of a module, in reading order.

    The frames of an instruction are empty if no `.loc` precedes it in its function, or if its file is not declared. The
    function of a frame is the name that `function_name` refers to, else that of the PTX function, mangled as in the
    module.
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
        for node in walk(statement):
            if isinstance(node, Loc):
                current = known[node.file, node.line, node.column] = self._frames(node, function, known)
            elif isinstance(node, Instruction):
                yield current

    def _frames(self, loc: Loc, function: str, known: Mapping[_Location, Frames]) -> Frames:
        inlined = loc.inlined_at
        if inlined is None:
            return self._frame(loc.file, loc.line, function)
        place = inlined.file, inlined.line, inlined.column
        callers = known.get(place)
        if callers is None:
            callers = self._frame(inlined.file, inlined.line, function)
        name = self._names.at(inlined.function_label, inlined.offset) or function
        own = self._frame(loc.file, loc.line, name)
        # A call that is inlined into itself has one frame: the location alone does not tell the levels apart.
        return (*own, *(frame for frame in callers if frame not in own))

    def _frame(self, file: int, line: int, function: str) -> Frames:
        """Return the frame of a location; empty for an undeclared file, and for line 0, the compiler's own code."""
        name = self._files.get(file)
        return () if name is None or not line else (Frame(name, line, function),)
