"""Compiled code: basic blocks of closures."""

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
    """Warp splits that execute a block together: at most one per warp, in order of warps.

    `lanes`: lanes of these splits. `whole`: no other warp split of the wave is ready.
    """

    ids: IntArray
    lanes: Lanes
    whole: bool


# Function that ends a block: returns the next block of the whole group, or None if it has moved the splits itself.
Terminator: TypeAlias = Callable[[Wave, Group], "int | None"]


class Gate(Protocol):
    """Instruction at which the lanes of a warp wait for each other."""

    @property
    def rendezvous(self) -> bool:
        """Whether lanes may synchronize at different instructions of this kind (`bar.warp.sync`)."""
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
    """Loop with first block `entry` whose iterations are identical until memory or a `carried` register changes.

    An iteration may read a carried register with the value written by an earlier iteration. `together`: lanes of a warp
    wait for each other in the loop.
    """

    entry: int
    carried: tuple[RegisterBinding, ...]
    together: bool


@dataclass(frozen=True, slots=True)
class Block:
    """Basic block: steps with their pcs, terminator, and the gate before the block.

    Without a `terminator`, the block `following` is next. `converges`: warps wait before the block until their whole
    warpgroup has arrived. `polls`: polling loop that contains the block. `resumes`: the block is the rest of a basic
    block; a random schedule may switch warps before it. `may_diverge`: a random schedule may execute the block for some
    lanes of a warp before the others; no later step needs converged warps.
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
