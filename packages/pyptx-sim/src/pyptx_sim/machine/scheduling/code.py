"""Compiled programs: basic blocks of closures, each of which executes one instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from pyptx_sim.machine.lanes import Lanes
from pyptx_sim.machine.wave import Wave

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.operation import Array
    from pyptx_sim.program.scopes import RegisterBinding

Action: TypeAlias = Callable[[Wave, Lanes], None]


@dataclass(slots=True)
class Group:
    """Warp splits that execute a basic block together: at most one per warp, in order of warps.

    `ids`: indices of the splits in `WarpSplits`. `lanes`: their lanes. `whole`: no other split of the wave is ready.
    """

    ids: IntArray
    lanes: Lanes
    whole: bool


# Compiled last instruction of a basic block: returns the next block of the whole group, or None if it has already set
# the next block of each warp split.
Terminator: TypeAlias = Callable[[Wave, Group], "int | None"]


class Gate(Protocol):
    """Instruction before which lanes of a warp wait for each other, such as `shfl.sync`."""

    @property
    def rendezvous(self) -> bool:
        """Whether lanes may synchronize at different instructions of this opcode (`bar.warp.sync`)."""
        ...

    @property
    def varies(self) -> bool:
        """Whether lanes may have different membermasks, because the membermask is in a register."""
        ...

    def masks(self, wave: Wave, lanes: Lanes) -> Array:
        """Return the membermask of each lane, uint32 `[rows|1, 32|1]`; values of inactive lanes are arbitrary."""
        ...


@dataclass(frozen=True, slots=True)
class PollingLoop:
    """Loop with first basic block `entry` whose iterations are identical until memory or a `carried` register changes.

    A carried register may be read in one iteration after it was written in an earlier one. `together`: lanes of a warp
    wait for each other in the loop.
    """

    entry: int
    carried: tuple[RegisterBinding, ...]
    together: bool


@dataclass(frozen=True, slots=True)
class Block:
    """Basic block: compiled instructions (`steps`) with their pcs, `terminator` (last instruction), and `gate`.

    Without a `terminator`, block `following` is next. Lanes of a warp wait for each other at `gate` before the block.
    `converges`: warps wait before the block until their whole warpgroup has arrived. `polls`: polling loop that
    contains the block. `resumes`: the block is a later part of a split basic block; a random schedule may switch warps
    before it. `may_diverge`: a random schedule may execute the block for some lanes of a warp before the others; no
    instruction of the block needs converged warps.
    """

    index: int
    first: int
    steps: tuple[tuple[int, Action], ...]
    end: int
    terminator: Terminator | None
    gate: Gate | None
    following: int
    converges: bool = False
    polls: PollingLoop | None = None
    resumes: bool = False
    may_diverge: bool = False


Code: TypeAlias = tuple[Block, ...]
