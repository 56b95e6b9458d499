"""Semantics of the instructions of one opcode, and their properties for the scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.turns.turn import Turn
    from pyptx_sim.machine.scheduling.code import Action, Terminator
    from pyptx_sim.machine.wave import Wave

__all__ = ["Claims", "Converges", "Effect", "Judge", "Step"]

Effect: TypeAlias = Literal["none", "access", "issue", "order", "control"]
Converges: TypeAlias = Literal["", "lanes", "warp", "warpgroup"]


class Judge(Protocol):
    """Checker of one wave for accesses to registers that asynchronous operations use."""

    def touch(self, read: tuple[int, ...], written: tuple[int, ...], turn: Turn) -> None:
        """Check an instruction that reads and writes these registers, by slot."""
        ...


J_co = TypeVar("J_co", bound=Judge, covariant=True)


@dataclass(frozen=True, slots=True)
class Claims(Generic[J_co]):
    """Registers that an instruction's asynchronous operations use after issue.

    `registers(operands)` returns their names by slot. In a checked run, `judge(wave, registers)` creates one checker
    per wave; `registers` are the registers that all instructions of the program claim for this checker. Its `touch` is
    called for every access to them.

    `finish(turn, read, written)` is called in every run before lanes read or write such registers, while any operation
    is outstanding. It completes the operations if the assembler inserts a wait there.
    """

    registers: Callable[[Operands], Mapping[int, str]]
    judge: Callable[[Wave, Mapping[int, str]], J_co]
    finish: Callable[[Turn, Collection[int], Collection[int]], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Semantics of all instructions whose opcode starts with `opcode`; the step with the longest prefix applies.

    `compile(operands)` is called once per instruction and returns the action of each execution. Alternatively,
    `end(operands, following)` returns the terminator of a basic block: it moves the lanes to block `following` or
    elsewhere, or blocks them.

    - `effect`: effect besides registers. `none`; `access` to memory; `issue` of operations that access memory later, or
      grouping of them; `order`, ordering or waiting for other accesses; `control`, selecting the next instruction.
    - `converges`: lanes that must reconverge before execution: the `lanes` in the membermask (last operand), the whole
      `warp`, all warps of a `warpgroup`, or none (`""`). With None the modifiers `.sync` and `.aligned` decide: they
      require the lanes of a `membermask` if the instruction has one, else the whole warp.
    - `meets`: the instruction synchronizes the lanes, as `bar.warp.sync` does: earlier accesses of each happen before
      later ones of all.
    - `waits`: the instruction may block or be re-executed; it gets a basic block of its own.
    - `signals`: the instruction may complete an mbarrier phase: always (True), or if it has the given modifier.
    - `claims`: registers that its asynchronous operations use after issue.
    - `cancels_launches`: its operations may cancel launches of clusters (`AsyncItem.cancel_launch`).
    - `fences_reads`: a fence is required between reads by warps and its asynchronous writes (`Touch.after_reads`).
    - `shows`: its writes are visible to every proxy without a fence.
    - `track(opcode)`: timeline track of its asynchronous operations; by default the first words of the opcode.
    """

    opcode: str
    effect: Effect
    compile: Callable[[Operands], Action] | None = None
    end: Callable[[Operands, int], Terminator] | None = None
    converges: Converges | None = None
    meets: bool = False
    waits: bool = False
    signals: str | bool = False
    cancels_launches: bool = False
    fences_reads: bool = False
    shows: bool = False
    track: Callable[[tuple[str, ...]], str] | None = None
    claims: Claims[Judge] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Words of the opcode prefix."""
        return tuple(self.opcode.split("."))
