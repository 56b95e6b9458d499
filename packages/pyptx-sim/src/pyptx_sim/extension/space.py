"""Memories beyond those of ordinary PTX, and the ways by which memory is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.machine.memory import Memory
    from pyptx_sim.machine.wave import Wave

__all__ = ["ASYNC", "Proxy", "Space"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Space:
    """A memory that a wave has besides those of ordinary PTX; `Wave.memory(space)` makes it when it is first asked for.

    `make(wave)` lays it out, for all blocks of the wave in one arena, in which it is new for each wave. Who accesses it
    says so to the observers by its `name`; two accesses that nothing orders then break the rule `<name>-race`, which
    the extension has to have.
    """

    name: str
    make: Callable[[Wave], Memory]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proxy:
    """A way by which asynchronous work reaches memory, other than the generic one. Manual: "Proxies".

    Through it, only that is seen of what warps have written which a fence of theirs has shown it
    (`Observers.proxy_fence`); work that reads or writes what it was not shown breaks the rule `unfenced`.
    """

    name: str
    unfenced: str


ASYNC: Final = Proxy(name="async", unfenced="missing-proxy-fence")
"""That of bulk copies, tensor copies and products. Manual: "Async Proxy"."""
