"""What the instructions of one opcode do, and what the scheduler has to know of them before they run."""

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
    """What a wave keeps of the registers that asynchronous work claims, and judges accesses to them by."""

    def touch(self, read: tuple[int, ...], written: tuple[int, ...], turn: Turn) -> None:
        """Check an instruction that reads and writes these registers, by slot."""
        ...


J_co = TypeVar("J_co", bound=Judge, covariant=True)


@dataclass(frozen=True, slots=True)
class Claims(Generic[J_co]):
    """The registers that an instruction's asynchronous work goes on using once it has been issued.

    `registers(operands)` are their names by their slots; `judge(wave, registers)` makes what is told of every access to
    those that all instructions of the program claim for this judge, in a checked run. A wave has one of each.
    `finish(turn, read, written)` is called in every run before lanes read or write such registers, while any operation
    is outstanding. It completes the operations if the assembler inserts a wait there.
    """

    registers: Callable[[Operands], Mapping[int, str]]
    judge: Callable[[Wave, Mapping[int, str]], J_co]
    finish: Callable[[Turn, Collection[int], Collection[int]], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The instructions of one opcode, `opcode` their leading words; of several steps, that with most words answers.

    `compile(operands)` is asked once for each instruction, and returns what it does each time that it is executed. In
    its place `end(operands, following)` returns what ends a basic block: it moves the lanes on, to the block
    `following` or elsewhere, or lets them wait.

    `effect` is what it does beyond its registers: nothing, it accesses memory, it issues or groups work that does so
    later, it orders or waits for what others do, or it says what is executed next.

    `converges` says who has to stand at it together before it is executed: the `lanes` of a warp that its last operand
    names, the whole `warp`, all warps of a `warpgroup`, or nobody. None leaves it to the modifiers `.sync` and
    `.aligned`, which ask for the lanes of a `membermask` where the instruction has one, else for the whole warp.
    `meets`: what each of them did before is visible to all of them behind it, as at `bar.warp.sync`.
    `waits`: it may have to wait, or to be executed again, and stands in a block of its own. `signals`: it may complete
    a phase of an mbarrier, if it has that modifier, or in any case. `claims` are registers that it does not let go.
    `cancels_launches`: its work may take clusters over that have not been launched (`AsyncItem.cancel_launch`).
    `fences_reads`: between what warps have read and what its work writes a fence has to stand (`Touch.after_reads`).
    `shows`: what it writes to memory is seen through every proxy, without a fence.
    `track(opcode)` names the row of a timeline on which its asynchronous work is shown; without, its first words do.
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
        """The leading words."""
        return tuple(self.opcode.split("."))
