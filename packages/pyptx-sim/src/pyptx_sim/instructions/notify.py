"""Notify observers of asynchronous operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.asynchrony.groups import COPY
from pyptx_sim.observer import AsyncAccess, AsyncOperations

if TYPE_CHECKING:
    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.extension.space import Proxy
    from pyptx_sim.machine.asynchrony.copies import Copies
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask


def tell_waited(wave: Wave, kind: GroupKind, warps: IntArray, masks: Mask) -> None:
    """Notify observers of the async-groups of `kind` that the lanes `masks` of `warps` have waited for."""
    if wave.machine.observers.active:
        groups = wave.groups_of(kind)
        wave.machine.observers.waited(kind, warps, masks, groups.done[warps], groups.read[warps])


def tell_copies(wave: Wave, copies: Copies, item_id: int) -> None:
    """Notify observers of the copies that the threads of one `cp.async` issue."""
    everyone = np.arange(len(copies))
    touches = [AsyncAccess("shared", writes=True, offsets=copies.targets, size=copies.size, owners=everyone)]
    read = everyone if copies.used is None else everyone[copies.used == copies.size]
    if len(read):
        touches.append(AsyncAccess("global", writes=False, offsets=copies.sources[read], size=copies.size, owners=read))
    tell(wave, item_id, COPY, (copies.warps, copies.lanes, copies.numbers), tuple(touches))


def tell(
    wave: Wave,
    item_id: int,
    kind: GroupKind | None,
    threads: tuple[IntArray, IntArray, IntArray],
    touches: tuple[AsyncAccess, ...],
    *,
    proxy: Proxy | None = None,
) -> None:
    """Notify observers of asynchronous operations issued by `threads`, arrays (warps, lanes, async-group numbers)."""
    warps, lanes, groups = threads
    work = AsyncOperations(
        item_id=item_id, pc=wave.pc, kind=kind, proxy=proxy, warps=warps, lanes=lanes, groups=groups, touches=touches
    )
    wave.machine.observers.issued(work)
