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
    """The splits that execute a block together: at most one for each warp, in order of warps.

    `lanes` are theirs; `whole`: no other split of the wave is ready.
    """

    ids: IntArray
    lanes: Lanes
    whole: bool


# Ends a block: returns the block at which the whole group goes on, or None if it has moved the splits itself.
Terminator: TypeAlias = Callable[[Wave, Group], "int | None"]


class Gate(Protocol):
    """An instruction at which the lanes of a warp wait for each other."""

    @property
    def rendezvous(self) -> bool:
        """Whether lanes may meet at different instructions of this kind (`bar.warp.sync`)."""
        ...

    @property
    def varies(self) -> bool:
        """Whether lanes may name different membermasks: those in a register."""
        ...

    def masks(self, wave: Wave, lanes: Lanes) -> Array:
        """Return the membermask of each lane, uint32 `[rows|1, 32|1]`; values of inactive lanes are arbitrary."""
        ...


@dataclass(frozen=True, slots=True)
class PollingLoop:
    """A loop that begins at block `entry`, and whose rounds are the same until memory changes, or a `carried` register.

    Carried registers are those that a round may read as an earlier one wrote them. `together`: lanes of a warp wait for
    each other in it.
    """

    entry: int
    carried: tuple[RegisterBinding, ...]
    together: bool


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: its steps with their pcs, how it ends, and the gate in front of it.

    Without a `terminator`, the block `following` is next.
    `converges`: warps wait in front of it until their warpgroup is there. `polls`: the polling loop that it is part of.
    `resumes`: it is the rest of a basic block, in front of which a random schedule may change warps. `may_diverge`: a
    random schedule may execute it for some lanes of a warp before the others; no later step needs converged warps.
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
