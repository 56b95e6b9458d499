"""Source locations of instructions: the PTX line, and the user's source lines, of Python or CUDA C++."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.debug_info import position_of, user_frame
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.syntax import Source, emit, positions
from pyptx_ir.syntax.nodes import Variable
from pyptx_sim.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Frame
    from pyptx_ir.syntax.nodes import Module, Statement
    from pyptx_sim.program.program import Program

LineFrames: TypeAlias = "Mapping[int, tuple[Frame, ...]]"
"""Source lines by the physical line (from 1) of a module's PTX, innermost first."""
Origins: TypeAlias = "LineFrames | Sequence[LineFrames] | None"
"""`origins=` of a run: the source lines of its module, or those of each linked module."""


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A physical line of PTX (from 1); `module` is the index (from 0) of the linked module, None without linking."""

    line: int
    module: int | None = None

    def __str__(self) -> str:
        """Return the location as text: `line 3 of modules[0]`."""
        return f"line {self.line}" if self.module is None else f"line {self.line} of modules[{self.module}]"


@dataclass(frozen=True, slots=True)
class SourceFrames:
    """The user's source lines of a program's instructions: those of `given`, per module, or else those of `.loc`."""

    program: Program
    given: Sequence[LineFrames]

    def of(self, pc: int) -> tuple[Frame, ...]:
        """Return the source lines of the instruction at `pc`, innermost first; empty for an unknown source."""
        place = self.program.place(pc) if any(self.given) else None
        given = None if place is None else self.given[place.module or 0].get(place.line)
        return given or self.program.frames(pc)


def origins_by_module(origins: Origins, count: int) -> Sequence[LineFrames]:
    """Return the source lines of each of `count` modules; raise LaunchError for another number of mappings."""
    if not origins:
        return ()
    given = (origins,) if isinstance(origins, Mapping) else origins
    if len(given) != count:
        raise LaunchError(
            f"origins has source lines of {counted(len(given), 'module')}, expected {count}",
            help="pass a sequence with a mapping per module",
        )
    return given


def place_of(statement: Statement, modules: Sequence[Module]) -> tuple[SourceLocation, str]:
    """Return the line of a declaration, and the text of that line.

    Linking splits a declaration of several variables; the line of a split declaration is found by its variable's name.
    """
    for number, module in enumerate(modules):
        source = Source(emit(module))
        for node, span in positions(module):
            if node is statement or _declares(node, statement):
                line = source.line_column(span.start)[0]
                return SourceLocation(line, number if len(modules) > 1 else None), source.text.splitlines()[
                    line - 1
                ].strip()
    return SourceLocation(1), ""


def _declares(node: Statement, statement: Statement) -> bool:
    if not (isinstance(node, Variable) and isinstance(statement, Variable)):
        return False
    name = statement.declarators[0].name
    return any(each.name == name or (each.count and name.startswith(each.name)) for each in node.declarators)


def point_at(frames: Sequence[Frame]) -> str:
    """Return the user's frame (`file:line: in function`, the source line and a caret), then a line per other frame.

    Empty without frames, as for PTX without `.loc` that Python did not emit.
    """
    if not frames:
        return ""
    import linecache

    user, position = user_frame(frames), position_of(frames)
    function = f": in {user.function}" if user.function else ""
    source = linecache.getline(user.file, user.line).strip()
    shown = [f"    {source}", f"    {'^' * len(source)}"] if source else []
    return "\n".join([f"{position}{function}", *shown, *position.stack])
