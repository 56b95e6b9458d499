"""Semantics of instructions by opcode prefix, and the properties that the scheduler and the checks need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.turns.turn import ExecutionContext
    from pyptx_sim.machine.scheduling.code import Action, Terminator
    from pyptx_sim.machine.wave import Wave

__all__ = ["AsyncRegisters", "Converges", "Effect", "InstructionSemantics", "RegisterChecker"]

Effect: TypeAlias = Literal["none", "access", "issue", "order", "control"]
Converges: TypeAlias = Literal["", "lanes", "warp", "warpgroup"]


class RegisterChecker(Protocol):
    """Checker, for the CTAs that run together, of accesses to registers that asynchronous operations use."""

    def touch(self, read: tuple[int, ...], written: tuple[int, ...], turn: ExecutionContext) -> None:
        """Check an instruction that reads and writes the given registers."""
        ...


J_co = TypeVar("J_co", bound=RegisterChecker, covariant=True)


@dataclass(frozen=True, slots=True)
class AsyncRegisters(Generic[J_co]):
    """Registers that an instruction's asynchronous operations use after issue.

    `registers(operands)` returns the names of these registers by register slot. In a checked run, `check(wave,
    registers)` creates one checker per wave (the CTAs that run together); `registers` are the registers of all
    instructions of the program with this checker. The checker's `touch` is called for every access to these registers.

    `finish(turn, read, written)` is called in every run before lanes read or write such registers, while any operation
    is outstanding. `finish` completes the operations if ptxas inserts a wait there.
    """

    registers: Callable[[Operands], Mapping[int, str]]
    check: Callable[[Wave, Mapping[int, str]], J_co]
    finish: Callable[[ExecutionContext, Collection[int], Collection[int]], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionSemantics:
    """Semantics of all instructions whose opcode starts with `opcode`; the longest matching prefix applies.

    `compile(operands)` is called once per instruction and returns the action of each execution. Alternatively,
    `end(operands, following)` returns the terminator of a basic block: it moves the lanes to block `following` or
    elsewhere, or blocks them.

    - `effect`: effect besides register writes. `none`; `access` to memory; `issue` of operations that access memory
      later, or grouping of them; `order`, ordering or waiting for other accesses; `control`, selecting the next
      instruction.
    - `converges`: lanes that must reconverge before execution: the `lanes` in the membermask (last operand), the whole
      `warp`, all warps of a `warpgroup`, or none (`""`). With None the modifiers `.sync` and `.aligned` decide: they
      require the lanes of a `membermask` if the instruction has one, else the whole warp.
    - `synchronizes_warp`: the instruction synchronizes the lanes, as `bar.warp.sync` does: earlier accesses of each
      lane happen before later accesses of all lanes.
    - `blocks`: the instruction may block or be re-executed; it gets a basic block of its own.
    - `signals_mbarrier`: the instruction may complete an mbarrier phase: in every form (True), or with the given
      modifier.
    - `async_registers`: registers that the instruction's asynchronous operations use after issue.
    - `cancels_launches`: the instruction's operations may cancel launches of clusters (`AsyncIssue.cancel_launch`).
    - `fences_reads`: a fence is required between reads by warps and the instruction's asynchronous writes
      (`AsyncAccess.after_reads`).
    - `proxy_fence`: the instruction's writes are visible to every proxy without a fence.
    - `track(opcode)`: name of the timeline track of the asynchronous operations; by default the start of the opcode.
    """

    opcode: str
    effect: Effect
    compile: Callable[[Operands], Action] | None = None
    end: Callable[[Operands, int], Terminator] | None = None
    converges: Converges | None = None
    synchronizes_warp: bool = False
    blocks: bool = False
    signals_mbarrier: str | bool = False
    cancels_launches: bool = False
    fences_reads: bool = False
    proxy_fence: bool = False
    track: Callable[[tuple[str, ...]], str] | None = None
    async_registers: AsyncRegisters[RegisterChecker] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Parts of the opcode prefix between dots."""
        return tuple(self.opcode.split("."))
