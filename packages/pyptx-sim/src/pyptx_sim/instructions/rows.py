"""The steps of ordinary PTX: what memory, control flow, barriers and copies do. All else has rows of semantics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_sim.extension import Step
from pyptx_sim.instructions import (
    addresses,
    async_copy,
    async_stores,
    atomics,
    barriers,
    branches,
    bulk_copy,
    calls,
    matrices,
    matrix_storage,
    mbarriers,
    moves,
    multimem,
    regions,
    stack,
    tensor_map,
    transfers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyptx_sim.instructions.operands import Operands
    from pyptx_sim.machine.code import Action


COMPLETES: Final = "mbarrier::complete_tx::bytes"


def _alike(opcodes: str, compile_it: Callable[[Operands], Action]) -> Iterable[Step]:
    return [Step(opcode=opcode, compile=compile_it) for opcode in opcodes.split()]


def _memory() -> Iterator[Step]:
    yield from _alike("ld ldu", transfers.compile_load)
    yield Step(opcode="st", compile=transfers.compile_store)
    yield from _alike("atom red", atomics.compile_atomic)
    yield Step(opcode="mov", compile=moves.compile_move)
    yield from _alike("alloca stacksave stackrestore", stack.compile_stack)
    yield Step(opcode="st.bulk", compile=regions.compile_fill)
    yield Step(opcode="discard", compile=regions.compile_discard)
    yield Step(opcode="applypriority", compile=regions.compile_priority)
    yield from _alike("prefetch prefetchu applypriority.async", transfers.compile_hint)
    yield Step(opcode="createpolicy", compile=transfers.compile_policy)
    yield Step(opcode="cvta", compile=addresses.compile_cvta)
    yield Step(opcode="isspacep", compile=addresses.compile_isspacep)
    yield Step(opcode="mapa", compile=addresses.compile_mapa)
    yield Step(opcode="getctarank", compile=addresses.compile_getctarank)
    yield Step(opcode="multimem", compile=multimem.compile_multimem)


def _matrices() -> Iterator[Step]:
    yield Step(opcode="ldmatrix", compile=matrices.compile_ldmatrix)
    yield Step(opcode="stmatrix", compile=matrices.compile_stmatrix)
    yield from _alike("wmma.load wmma.store", matrix_storage.compile_storage)


def _control() -> Iterator[Step]:
    yield Step(opcode="bra", end=branches.compile_bra)
    yield Step(opcode="brx", end=branches.compile_brx)
    yield Step(opcode="exit", end=branches.compile_exit)
    yield Step(opcode="trap", end=branches.compile_trap)
    yield Step(opcode="ret", end=calls.compile_ret)
    yield Step(opcode="call", end=calls.compile_call)
    yield from _alike("nanosleep brkpt pmevent griddepcontrol", transfers.compile_hint)


def _order() -> Iterator[Step]:
    yield from [Step(opcode=opcode, end=barriers.compile_barrier, converges="") for opcode in ("bar", "barrier")]
    yield Step(opcode="bar.warp", compile=barriers.compile_warp_sync, converges="lanes")
    yield from _alike("fence membar", barriers.compile_fence)
    yield from [
        Step(opcode=f"mbarrier.{name}", compile=mbarriers.compile_mbarrier, signals=name in mbarriers.SIGNALS)
        for name in mbarriers.NAMES
    ]
    for name in ("test_wait", "try_wait"):
        yield Step(opcode=f"mbarrier.{name}", end=mbarriers.compile_wait, converges="", waits=True)


def _async_copies() -> Iterator[Step]:
    yield Step(opcode="cp.async", compile=async_copy.compile_copy)
    yield Step(opcode="cp.async.mbarrier", compile=async_copy.compile_copy, signals=True)
    yield Step(opcode="cp.async.bulk", compile=bulk_copy.compile_cp, signals=COMPLETES)
    yield Step(opcode="cp.reduce.async.bulk", compile=bulk_copy.compile_cp)
    yield from [
        Step(opcode=f"{name}.async", compile=async_stores.compile_async_store, signals=COMPLETES)
        for name in ("st", "red")
    ]
    yield Step(opcode="tensormap", compile=tensor_map.compile_tensor_map)


STEPS: Final = (*_memory(), *_matrices(), *_control(), *_order(), *_async_copies())
