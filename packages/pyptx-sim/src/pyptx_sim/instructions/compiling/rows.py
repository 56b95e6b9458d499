"""`InstructionSemantics` of PTX's memory, control flow, barrier and copy instructions (arithmetic: `semantics`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_sim.extension.step import InstructionSemantics
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

    from pyptx_sim.extension.step import Converges, Effect
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.scheduling.code import Action


def _alike(opcodes: str, effect: Effect, compile_it: Callable[[Operands], Action]) -> Iterable[InstructionSemantics]:
    return [InstructionSemantics(opcode=opcode, effect=effect, compile=compile_it) for opcode in opcodes.split()]


def _memory() -> Iterator[InstructionSemantics]:
    yield from _alike("ld ldu", "access", transfers.compile_load)
    yield InstructionSemantics(opcode="st", effect="access", compile=transfers.compile_store)
    yield from _alike("atom red", "access", atomics.compile_atomic)
    yield InstructionSemantics(opcode="mov", effect="none", compile=moves.compile_move)
    yield InstructionSemantics(opcode="alloca", effect="access", compile=stack.compile_alloca)
    yield InstructionSemantics(opcode="stacksave", effect="access", compile=stack.compile_stacksave)
    yield InstructionSemantics(opcode="stackrestore", effect="access", compile=stack.compile_stackrestore)
    yield InstructionSemantics(opcode="st.bulk", effect="access", compile=regions.compile_fill)
    yield InstructionSemantics(opcode="discard", effect="access", compile=regions.compile_discard)
    yield InstructionSemantics(opcode="applypriority", effect="access", compile=regions.compile_priority)
    yield from _alike("prefetch prefetchu applypriority.async", "none", transfers.compile_hint)
    yield InstructionSemantics(opcode="createpolicy", effect="none", compile=transfers.compile_policy)
    yield InstructionSemantics(opcode="cvta", effect="none", compile=addresses.compile_cvta)
    yield InstructionSemantics(opcode="isspacep", effect="none", compile=addresses.compile_isspacep)
    yield InstructionSemantics(opcode="mapa", effect="none", compile=addresses.compile_mapa)
    yield InstructionSemantics(opcode="getctarank", effect="none", compile=addresses.compile_getctarank)


def _matrices() -> Iterator[InstructionSemantics]:
    yield InstructionSemantics(opcode="ldmatrix", effect="access", compile=matrices.compile_ldmatrix)
    yield InstructionSemantics(opcode="stmatrix", effect="access", compile=matrices.compile_stmatrix)
    yield InstructionSemantics(opcode="wmma.load", effect="access", compile=matrix_storage.compile_load)
    yield InstructionSemantics(opcode="wmma.store", effect="access", compile=matrix_storage.compile_store)


def _control() -> Iterator[InstructionSemantics]:
    yield InstructionSemantics(opcode="bra", effect="control", end=branches.compile_bra)
    yield InstructionSemantics(opcode="brx", effect="control", end=branches.compile_brx)
    yield InstructionSemantics(opcode="exit", effect="control", end=branches.compile_exit)
    yield InstructionSemantics(opcode="trap", effect="control", end=branches.compile_trap)
    yield InstructionSemantics(opcode="ret", effect="control", end=calls.compile_ret)
    yield InstructionSemantics(opcode="call", effect="control", end=calls.compile_call)
    yield from _alike("nanosleep brkpt pmevent", "none", transfers.compile_hint)
    yield InstructionSemantics(opcode="griddepcontrol.wait", effect="order", end=grids.compile_wait)
    yield InstructionSemantics(opcode="griddepcontrol.launch_dependents", effect="order", end=grids.compile_release)


def _textures() -> Iterator[InstructionSemantics]:
    yield InstructionSemantics(opcode="tex", effect="access", compile=fetches.compile_fetch)
    yield InstructionSemantics(opcode="tld4", effect="access", compile=fetches.compile_gather)
    yield from _alike("txq suq", "none", queries.compile_query)
    yield InstructionSemantics(opcode="istypep", effect="none", compile=queries.compile_test)
    yield InstructionSemantics(opcode="suld", effect="access", compile=surfaces.compile_load)
    yield InstructionSemantics(opcode="sust", effect="access", compile=surfaces.compile_store)
    yield InstructionSemantics(opcode="sured", effect="access", compile=surfaces.compile_reduction)


def _order() -> Iterator[InstructionSemantics]:
    # Waiting lanes need no gate: the barrier gathers them. `bar.arrive` is aligned, `barrier.arrive` with `.aligned`.
    gates: dict[str, Converges | None] = {"bar": "", "barrier": "", "bar.arrive": "warp", "bar.cta.arrive": "warp"}
    for opcode, converges in (gates | {"barrier.arrive": None, "barrier.cta.arrive": None}).items():
        yield InstructionSemantics(opcode=opcode, effect="order", end=barriers.compile_barrier, converges=converges)
    yield InstructionSemantics(
        opcode="bar.warp", effect="order", compile=barriers.compile_warp_sync, converges="lanes", synchronizes_warp=True
    )
    yield from _alike("fence membar", "order", barriers.compile_fence)
    yield from _alike("fence.proxy membar.proxy", "order", transfers.compile_hint)


def _mbarriers() -> Iterator[InstructionSemantics]:
    yield InstructionSemantics(opcode="mbarrier.init", effect="order", compile=mbarriers.compile_init)
    yield InstructionSemantics(opcode="mbarrier.inval", effect="order", compile=mbarriers.compile_inval)
    for name in ("arrive", "arrive_drop"):
        yield InstructionSemantics(
            opcode=f"mbarrier.{name}", effect="order", compile=mbarriers.compile_arrive, signals_mbarrier=True
        )
    yield InstructionSemantics(opcode="mbarrier.expect_tx", effect="order", compile=mbarriers.compile_transactions)
    yield InstructionSemantics(
        opcode="mbarrier.complete_tx", effect="order", compile=mbarriers.compile_transactions, signals_mbarrier=True
    )
    yield InstructionSemantics(opcode="mbarrier.pending_count", effect="order", compile=mbarriers.compile_pending_count)
    yield InstructionSemantics(opcode="mbarrier.check_layout", effect="order", compile=mbarriers.compile_check_layout)
    for name in ("test_wait", "try_wait"):
        yield InstructionSemantics(
            opcode=f"mbarrier.{name}", effect="order", end=mbarriers.compile_wait, converges="", blocks=True
        )


def _async_copies() -> Iterator[InstructionSemantics]:
    yield InstructionSemantics(opcode="cp.async", effect="issue", compile=async_copy.compile_copy)
    yield InstructionSemantics(opcode="cp.async.commit_group", effect="issue", compile=async_copy.compile_commit_group)
    yield InstructionSemantics(opcode="cp.async.wait_group", effect="issue", compile=async_copy.compile_wait_group)
    yield InstructionSemantics(opcode="cp.async.wait_all", effect="issue", compile=async_copy.compile_wait_all)
    yield InstructionSemantics(
        opcode="cp.async.mbarrier", effect="issue", compile=async_copy.compile_arrive, signals_mbarrier=True
    )


STEPS: Final = (*_memory(), *_matrices(), *_textures(), *_control(), *_order(), *_mbarriers(), *_async_copies())
