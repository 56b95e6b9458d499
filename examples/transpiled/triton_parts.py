"""Parts of `triton_attention.py`: elected copies, descriptors, the ring, and the softmax of two rows.

A thread holds 32 elements of a 64 x 64 accumulator, in two rows: of each four, the first two are in the upper row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx import ptx, reg
from pyptx.types import b32, b64, pred

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx.reg import Reg, RegArray

BLOCK, WIDTH, STAGES, THREADS = 64, 64, 2, 128
TILE_BYTES = 2 * BLOCK * WIDTH
# Byte offsets in shared memory: both stages of K, of V, then Q, then the mbarriers of the stages.
V_TILE, Q_TILE, BARRIERS = 2 * TILE_BYTES, 4 * TILE_BYTES, 5 * TILE_BYTES
SHARED_BYTES = BARRIERS + 8 * STAGES
DESCRIPTOR = 1 << 62 | 64 << 32  # 128-byte swizzle, eight rows are 1024 bytes
ROWS = (0, 1)

SIGNED = {b32: "add.s32 and.b32 or.b32 xor.b32 shl.b32"}


def word() -> Reg:
    """Return a fresh 32-bit register, for integers and floats alike."""
    return reg.scalar(b32)


def plus(a: Reg, b: Reg | int) -> Reg:
    """Emit add.s32 into a fresh register."""
    return ptx.inst.add.s32(word(), a, b)


def also(a: Reg, b: Reg) -> Reg:
    """Emit and.pred into a fresh register."""
    return ptx.inst.and_.pred(reg.scalar(pred), a, b)


# Copies ---------------------------------------------------------------------------------------------------------------


def elected(*conditions: Reg) -> Reg:
    """Elect a lane of each warp, and combine the predicate with `conditions`."""
    chosen = reg.scalar(pred)
    ptx.inst.elect.sync(reg.pair(word(), chosen), -1)
    for condition in conditions:
        chosen = also(condition, chosen)
    return chosen


def load(target: Reg, tensor_map: Reg, at: tuple[Reg, Reg], barrier: Reg, chosen: Reg) -> None:
    """Copy a TMA box to shared memory, in the thread whose `chosen` is true."""
    ptx.inst["cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes"](
        ptx.addr(target), ptx.tensor_addr(tensor_map, list(at)), ptx.addr(barrier), pred=chosen
    )


def wait(barrier: Reg, phase: Reg) -> None:
    """Spin until the phase of this parity completes."""
    ptx.mbarrier.wait(barrier, phase, form="scoped", uniform=True, label="waitLoop", done="complete")


def expect(barrier: Reg, count: int, chosen: Reg) -> None:
    """Arrive and expect `count` bytes, in the thread whose `chosen` is true."""
    ptx.inst.mbarrier.arrive.expect_tx.shared__cta.b64("_", ptx.addr(barrier), count, pred=chosen)


# The maps -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Maps:
    """Generic addresses of the tensor maps."""

    q: Reg
    k: Reg
    v: Reg
    o: Reg


def maps_of(params: tuple[str, ...]) -> Maps:
    """Return the generic addresses of the tensor maps, computed in the order of LLVM."""

    def generic(address: Reg) -> Reg:
        return ptx.inst.cvta.param.u64(reg.scalar(b64), ptx.inst.cvt.u64.u32(reg.scalar(b64), address))

    q, o = (ptx.inst.mov.b32(word(), params[i]) for i in (0, 15))
    o = generic(o)
    v, k = (generic(ptx.inst.mov.b32(word(), params[i])) for i in (10, 5))
    return Maps(generic(q), k, v, o)


# The ring -------------------------------------------------------------------------------------------------------------


def advance(stage: Reg) -> Reg:
    """Emit 3 instructions: advance to the next stage; return whether the ring wraps."""
    following, around = plus(stage, 1), reg.scalar(pred)
    ptx.inst.setp.gt.s32(around, following, STAGES - 1)
    ptx.inst.selp.b32(stage, 0, following, around)
    return around


def barrier_of(base: Reg, stage: Reg) -> Reg:
    """Emit 3 instructions: the address of a stage's mbarrier."""
    offset = ptx.inst.shl.b32(word(), stage, 3)
    return plus(plus(base, offset), BARRIERS)


def keys_of(base: Reg, stage: Reg) -> Reg:
    """Emit 2 instructions: the address of a stage's keys."""
    offset = ptx.inst.shl.b32(word(), stage, 13)
    return plus(base, offset)


# MMAs -----------------------------------------------------------------------------------------------------------------


def encoded(address: Reg) -> Reg:
    """Emit bfe: a shared address in units of 16 bytes, as in descriptors."""
    return ptx.inst.bfe.u32(word(), address, 4, 15)


def descriptor(units: Reg) -> Reg:
    """Emit 2 instructions: the matrix descriptor of a swizzled tile."""
    wide = ptx.inst.cvt.u64.u32(reg.scalar(b64), units)
    return ptx.inst.or_.b64(reg.scalar(b64), wide, DESCRIPTOR)


def multiply(d: RegArray, a: Reg | list[Reg], b: Reg, adds: Reg | int) -> None:
    """Start a wgmma of 64 x 64 x 16: Q and Kᵀ or, with `a` in registers, the weights and V."""
    turned = (1,) if isinstance(a, list) else (0, 0)
    ptx.inst["wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"](d, a, b, adds, 1, 1, *turned)


# The softmax ----------------------------------------------------------------------------------------------------------


def of_row(values: Sequence[Reg], row: int) -> list[Reg]:
    """Return a thread's elements of a row."""
    return [value for i, value in enumerate(values) if i // 2 % 2 == row]


def row_of(i: int) -> int:
    """Return the row of an element, 0 or 1."""
    return i // 2 % 2


def meet(combine: Callable[..., Reg], value: Reg) -> Reg:
    """Combine a value over the four lanes that share a row, by two shuffles."""
    for distance in (2, 1):
        other = ptx.inst.shfl.sync.bfly.b32(word(), value, distance, 31, -1)
        value = combine(word(), value, other)
    return value


def largest(values: Sequence[Reg]) -> Reg:
    """Emit 15 instructions: the maximum of 16, always of the two that were computed first."""
    waiting = list(values)
    while len(waiting) > 1:
        waiting.append(ptx.inst.max.f32(word(), waiting.pop(0), waiting.pop(0)))
    return waiting[0]


def added(values: Sequence[Reg]) -> Reg:
    """Emit 15 instructions: the sum of 16, in the order that LLVM made of Triton's tree."""

    def pair(i: int) -> Reg:
        return ptx.inst.add.f32(word(), values[2 * i], values[2 * i + 1])

    def add(a: Reg, b: Reg) -> Reg:
        return ptx.inst.add.f32(word(), a, b)

    pairs = {i: pair(i) for i in range(2, 8)}
    middle, last = add(pairs[4], pairs[5]), add(pairs[6], pairs[7])
    upper = add(middle, last)
    lower = add(pairs[2], pairs[3])
    second, first = pair(1), pair(0)
    return add(add(add(first, second), lower), upper)


def weights_of(scores: Sequence[Reg], peaks: Sequence[Reg], scale: Reg) -> list[Reg]:
    """Return 2^(scale · score - peak) of all elements."""
    powers: list[Reg] = []
    less: dict[int, Reg] = {}
    for i, score in enumerate(scores):
        row = row_of(i)
        if row not in less:
            less[row] = ptx.inst.neg.f32(word(), peaks[row])
        powers.append(ptx.inst.fma.rn.f32(word(), scale, score, less[row]))
    return [ptx.inst.ex2.approx.ftz.f32(word(), power) for power in powers]


def packed(values: Sequence[Reg]) -> list[Reg]:
    """Round pairs of f32 to f16, two in a register."""
    return [ptx.inst.cvt.rn.f16x2.f32(word(), values[i + 1], values[i]) for i in range(0, len(values), 2)]
