"""`st.async` and `red.async`. Manual: "st.async", "red.async"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_arch_hopper.sim.remote_stores import RemoteStores
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.extension import Step
from pyptx_sim.instructions.memory.addresses import space_of, target
from pyptx_sim.instructions.notify import tell
from pyptx_sim.instructions.synchronization.mbarriers import ACCESS
from pyptx_sim.instructions.synchronization.threads import in_shared
from pyptx_sim.machine.lanes import WARP, by_warp, pick
from pyptx_sim.machine.memory.access import Access, Places
from pyptx_sim.machine.memory.atomics import UPDATES
from pyptx_sim.observer import Touch
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave


def compile_async_store(operands: Operands) -> Action:
    """Issue a store, or an update, for each thread; an mbarrier counts its bytes when it completes."""
    opcode = operands.opcode
    if "mbarrier::complete_tx::bytes" not in opcode:
        raise MissingSemantics(f"the simulator has no semantics for {'.'.join(opcode[:2])} without an mbarrier")
    address, source, barrier = operands.operands
    ptx_type = opcode[-1]
    readers = [operands.read(element, ptx_type) for element in operands.elements(source)]
    update = UPDATES[next(word for word in opcode[2:] if word in UPDATES)] if opcode[0] == "red" else None
    size = dtype_of(ptx_type).itemsize * len(readers)
    access = Access("write" if update is None else "atomic", size, alignment=size)
    find, find_barrier = (target(operands, operand, space_of(opcode)) for operand in (address, barrier))

    def step(wave: Wave, lanes: Lanes) -> None:
        barriers = np.full((lanes.height, WARP), -1, np.int64)
        for _, threads in in_shared(wave, lanes, find_barrier, ACCESS, "the mbarrier"):
            barriers[threads.positions, threads.columns] = threads.offsets
        counted = lanes.narrowed(barriers >= 0)
        if counted is None:
            return
        for part, threads in in_shared(wave, counted, find, access, "the destination"):
            if update is not None and wave.machine.checked:
                places = Places(threads.offsets, threads.positions, threads.columns)
                access.check_initialised(wave, part, wave.memories["shared"], places)
            values = [pick(read(wave, part), threads.positions, threads.columns) for read in readers]
            told = barriers[threads.positions, threads.columns]
            stores = RemoteStores(wave, wave.pc, threads.warps, threads.columns, threads.offsets, told, values, update)
            item_id = wave.engine.issue(stores)
            if wave.machine.observers.active:
                _tell(wave, stores, size, item_id)

    return step


def _tell(wave: Wave, stores: RemoteStores, size: int, item_id: int) -> None:
    """Tell of stores to the cluster's shared memory."""
    everyone = np.arange(len(stores))
    for place in np.unique(stores.barriers).tolist():
        here = stores.barriers == place
        wave.machine.observers.barrier_used(place, *by_warp(stores.warps[here], stores.lanes[here]), wave.pc)
    touch = Touch(
        "shared",
        writes=True,
        offsets=stores.targets,
        size=size,
        owners=everyone,
        barriers=stores.barriers,
        atomic=stores.update is not None,
    )
    nothing = np.zeros(len(stores), np.int64)
    tell(wave, item_id, None, (stores.warps, stores.lanes, nothing), (touch,))


STEPS: Final = tuple(
    Step(opcode=opcode, effect="issue", compile=compile_async_store, signals="mbarrier::complete_tx::bytes")
    for opcode in ("st.async", "red.async")
)
