"""Steps of ordinary PTX: memory, control flow, barriers and copies. All other instructions have rows of semantics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_sim.extension import Step
from pyptx_sim.instructions.control import branches, calls, grids
from pyptx_sim.instructions.memory import (
    addresses,
    atomics,
    matrices,
    matrix_storage,
    moves,
    regions,
    stack,
    transfers,
)
from pyptx_sim.instructions.synchronization import async_copy, barriers, mbarriers
from pyptx_sim.instructions.textures import fetches, queries, surfaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyptx_sim.extension import Effect
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.scheduling.code import Action


def _alike(opcodes: str, effect: Effect, compile_it: Callable[[Operands], Action]) -> Iterable[Step]:
    return [Step(opcode=opcode, effect=effect, compile=compile_it) for opcode in opcodes.split()]


def _memory() -> Iterator[Step]:
    yield from _alike("ld ldu", "access", transfers.compile_load)
    yield Step(opcode="st", effect="access", compile=transfers.compile_store)
    yield from _alike("atom red", "access", atomics.compile_atomic)
    yield Step(opcode="mov", effect="none", compile=moves.compile_move)
    yield Step(opcode="alloca", effect="access", compile=stack.compile_alloca)
    yield Step(opcode="stacksave", effect="access", compile=stack.compile_stacksave)
    yield Step(opcode="stackrestore", effect="access", compile=stack.compile_stackrestore)
    yield Step(opcode="st.bulk", effect="access", compile=regions.compile_fill)
    yield Step(opcode="discard", effect="access", compile=regions.compile_discard)
    yield Step(opcode="applypriority", effect="access", compile=regions.compile_priority)
    yield from _alike("prefetch prefetchu applypriority.async", "none", transfers.compile_hint)
    yield Step(opcode="createpolicy", effect="none", compile=transfers.compile_policy)
    yield Step(opcode="cvta", effect="none", compile=addresses.compile_cvta)
    yield Step(opcode="isspacep", effect="none", compile=addresses.compile_isspacep)
    yield Step(opcode="mapa", effect="none", compile=addresses.compile_mapa)
    yield Step(opcode="getctarank", effect="none", compile=addresses.compile_getctarank)


def _matrices() -> Iterator[Step]:
    yield Step(opcode="ldmatrix", effect="access", compile=matrices.compile_ldmatrix)
    yield Step(opcode="stmatrix", effect="access", compile=matrices.compile_stmatrix)
    yield Step(opcode="wmma.load", effect="access", compile=matrix_storage.compile_load)
    yield Step(opcode="wmma.store", effect="access", compile=matrix_storage.compile_store)


def _control() -> Iterator[Step]:
    yield Step(opcode="bra", effect="control", end=branches.compile_bra)
    yield Step(opcode="brx", effect="control", end=branches.compile_brx)
    yield Step(opcode="exit", effect="control", end=branches.compile_exit)
    yield Step(opcode="trap", effect="control", end=branches.compile_trap)
    yield Step(opcode="ret", effect="control", end=calls.compile_ret)
    yield Step(opcode="call", effect="control", end=calls.compile_call)
    yield from _alike("nanosleep brkpt pmevent", "none", transfers.compile_hint)
    yield Step(opcode="griddepcontrol.wait", effect="order", end=grids.compile_wait)
    yield Step(opcode="griddepcontrol.launch_dependents", effect="order", end=grids.compile_release)


def _textures() -> Iterator[Step]:
    yield Step(opcode="tex", effect="access", compile=fetches.compile_fetch)
    yield Step(opcode="tld4", effect="access", compile=fetches.compile_gather)
    yield from _alike("txq suq", "none", queries.compile_query)
    yield Step(opcode="istypep", effect="none", compile=queries.compile_test)
    yield Step(opcode="suld", effect="access", compile=surfaces.compile_load)
    yield Step(opcode="sust", effect="access", compile=surfaces.compile_store)
    yield Step(opcode="sured", effect="access", compile=surfaces.compile_reduction)


def _order() -> Iterator[Step]:
    yield from [
        Step(opcode=opcode, effect="order", end=barriers.compile_barrier, converges="") for opcode in ("bar", "barrier")
    ]
    yield Step(opcode="bar.warp", effect="order", compile=barriers.compile_warp_sync, converges="lanes", meets=True)
    yield from _alike("fence membar", "order", barriers.compile_fence)
    yield from _alike("fence.proxy membar.proxy", "order", transfers.compile_hint)


def _mbarriers() -> Iterator[Step]:
    yield Step(opcode="mbarrier.init", effect="order", compile=mbarriers.compile_init)
    yield Step(opcode="mbarrier.inval", effect="order", compile=mbarriers.compile_inval)
    for name in ("arrive", "arrive_drop"):
        yield Step(opcode=f"mbarrier.{name}", effect="order", compile=mbarriers.compile_arrive, signals=True)
    yield Step(opcode="mbarrier.expect_tx", effect="order", compile=mbarriers.compile_transactions)
    yield Step(opcode="mbarrier.complete_tx", effect="order", compile=mbarriers.compile_transactions, signals=True)
    yield Step(opcode="mbarrier.pending_count", effect="order", compile=mbarriers.compile_pending_count)
    yield Step(opcode="mbarrier.check_layout", effect="order", compile=mbarriers.compile_check_layout)
    for name in ("test_wait", "try_wait"):
        yield Step(opcode=f"mbarrier.{name}", effect="order", end=mbarriers.compile_wait, converges="", waits=True)


def _async_copies() -> Iterator[Step]:
    yield Step(opcode="cp.async", effect="issue", compile=async_copy.compile_copy)
    yield Step(opcode="cp.async.commit_group", effect="issue", compile=async_copy.compile_commit_group)
    yield Step(opcode="cp.async.wait_group", effect="issue", compile=async_copy.compile_wait_group)
    yield Step(opcode="cp.async.wait_all", effect="issue", compile=async_copy.compile_wait_all)
    yield Step(opcode="cp.async.mbarrier", effect="issue", compile=async_copy.compile_arrive, signals=True)


STEPS: Final = (*_memory(), *_matrices(), *_textures(), *_control(), *_order(), *_mbarriers(), *_async_copies())
