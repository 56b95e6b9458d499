"""Names of instructions in a timeline: the source line, or the preceding label."""

from __future__ import annotations

from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from pyptx_ir.debug_info import user_frame
from pyptx_ir.reports import Position
from pyptx_ir.syntax import positions
from pyptx_ir.syntax.nodes import Function, Instruction, Label
from pyptx_sim.extension.registry import step_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.plugins.rows import Frame
    from pyptx_sim.program.program import Program

# Modifiers that start the source and destination part of an opcode; the words before them name the operation.
_WHERE = ("shared", "global", "sync")


class SourceLines:
    """Source locations and names of a program's instructions, by pc."""

    def __init__(self, program: Program, frames: Callable[[int], tuple[Frame, ...]]) -> None:
        """Locate the instructions of `program`; `frames` maps a pc to the user's source lines, innermost first."""
        self._program = program
        self.frames = frames

    @cached_property
    def _labels(self) -> list[str]:
        """Label before each instruction of the modules, in source order; without a label, the function's name."""
        found: list[str] = []
        label = ""
        for node, _ in (each for module in self._program.modules for each in positions(module)):
            if isinstance(node, Function | Label):
                label = node.name
            elif isinstance(node, Instruction):
                found.append(label)
        return found

    def label(self, pc: int) -> str:
        """Return the label before an instruction, or its function's name."""
        site = self._program.sites[pc]
        return self._labels[site.ordinal] if site.ordinal >= 0 else site.function

    def title(self, pc: int) -> str:
        """Return `file.py:12`, the user's source line of an instruction; without one, the label before it."""
        frames = self.frames(pc)
        if not frames:
            return self.label(pc)
        user = user_frame(frames)
        return f"{PurePath(user.file).name}:{user.line}"

    def source(self, pc: int) -> dict[str, object]:
        """Return the location of an instruction: its text, its PTX line, its label, its source lines."""
        described: dict[str, object] = {
            "ptx": self._program.spell(pc),
            "ptx line": self._program.line(pc),
            "label": self.label(pc),
        }
        frames = self.frames(pc)
        if frames:
            described["source"] = [
                Position(frame.file, frame.line, function=frame.function).in_function for frame in frames
            ]
        return described

    def opcode(self, pc: int) -> tuple[str, ...]:
        """Return the opcode and modifiers of an instruction."""
        return self._program.sites[pc].instruction.opcode

    def operation(self, pc: int) -> str:
        """Return the name of an asynchronous operation, the start of its opcode: `cp.async.bulk.tensor.2d`."""
        words = self.opcode(pc)
        cut = next((i for i, word in enumerate(words) if word.partition("::")[0] in _WHERE), len(words))
        return ".".join(words[: max(cut, 2)])

    def engine(self, pc: int) -> str:
        """Return the name of the engine that performs an instruction's asynchronous operations."""
        words = self.opcode(pc)
        step = step_of(words)
        if step is not None and step.track is not None:
            return step.track(words)
        return ".".join(words[:2]) if words[1:2] == ("async",) else words[0]


def ranges(numbers: list[int]) -> str:
    """Return ascending numbers as text, with consecutive numbers joined: `0-3, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)
