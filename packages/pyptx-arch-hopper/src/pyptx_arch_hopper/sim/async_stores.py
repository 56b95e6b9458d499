"""Compilation of `st.async` and `red.async`. Manual: "st.async", "red.async"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_arch_hopper.sim.remote_stores import RemoteStores
from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.extension import MBARRIER_BYTES, WARP, AsyncAccess, InstructionSemantics
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from pyptx_sim.extension import AccessKind, Action, ExecutionContext, IntArray, Operands, Origin

_SIGNALS = "mbarrier::complete_tx::bytes"


def compile_async_store(operands: Operands) -> Action:
    """Return the action that issues a store or update for each thread; completion signals an mbarrier."""
    if not operands.word(_SIGNALS):
        # No thread can wait for a releasing asynchronous store to global memory, so the simulator may perform it at
        # issue.
        return operands.alike("red" if operands.word("op") else "st")
    ptx_type, operation = operands.word("type"), operands.word("op")
    readers = [operands.read(element, ptx_type) for element in operands.elements(operands.named("b"))]
    update = operands.update(operation, ptx_type) if operation else None
    size = dtype_of(ptx_type).itemsize * len(readers)
    kind: AccessKind = "atomic" if operation else "write"
    place, barrier = operands.shared_place("a"), operands.shared_place("mbar")

    def store(turn: ExecutionContext) -> None:
        barriers = np.full((len(turn.rows), WARP), -1, np.int64)
        for some, offsets in turn.in_shared(barrier, MBARRIER_BYTES, "atomic", what="mbarrier"):
            barriers[some.places] = offsets
        counted = turn.narrowed(barriers >= 0)
        if counted is None:
            return
        for some, targets in counted.in_shared(place, size, kind, what="destination"):
            warps, lanes = some.threads
            stores = RemoteStores(
                wave=turn.wave,
                pc=turn.pc,
                warps=warps,
                lanes=lanes,
                group=None,
                numbers=np.zeros(len(warps), np.int64),
                targets=targets,
                barriers=barriers[some.places],
                values=np.stack([some.each(read) for read in readers], axis=1),
                update=update,
                origin=None if update is None else _origin(some, targets, size),
            )
            some.issue(stores, [_touch(stores, size)])

    return operands.action(store)


def _origin(turn: ExecutionContext, targets: IntArray, size: int) -> Origin | None:
    """Return the `Origin` of undefined bits in memory after red.async; None if all bits are defined."""
    memory = turn.memory("shared")
    known = memory.arena.written(targets, size)
    if known is None or known.all():
        return None
    at = int((~known).argmax())
    warp, lane = (int(part[at]) for part in turn.threads)
    message = f"{counted(size, 'byte')} at {memory.describe_offset(int(targets[at]))}"
    label = f"atomic update by {turn.thread_name(warp, lane)}"
    return turn.origin("shared", int(targets[at]), message, label=label)


def _touch(stores: RemoteStores, size: int) -> AsyncAccess:
    """Return the asynchronous writes to distributed shared memory, for the race checks."""
    return AsyncAccess(
        "shared",
        writes=True,
        offsets=stores.targets,
        size=size,
        owners=np.arange(len(stores)),
        barriers=stores.barriers,
        atomic=stores.update is not None,
    )


STEPS: Final = tuple(
    InstructionSemantics(opcode=opcode, effect="issue", compile=compile_async_store, signals_mbarrier=_SIGNALS)
    for opcode in ("st.async", "red.async")
)
