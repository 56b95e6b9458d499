"""Issue of wgmma. Manual: "wgmma.mma_async"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_arch_hopper.sim.layouts import swizzle
from pyptx_arch_hopper.sim.wgmma.accumulators import distribution
from pyptx_arch_hopper.sim.wgmma.batch import WgmmaBatch, WgmmaPlan
from pyptx_arch_hopper.sim.wgmma.described import WGMMA
from pyptx_arch_hopper.sim.wgmma.descriptors import located, reading
from pyptx_arch_hopper.sim.wgmma.numerics import sparse_sum_of, sum_of, width_of
from pyptx_arch_hopper.sim.wgmma.register_order import RegisterOrder
from pyptx_arch_hopper.sim.wgmma.undefined_accumulators import UndefinedAccumulators
from pyptx_sim.extension import ASYNC, AsyncAccess, AsyncRegisters
from pyptx_sim.extension.shared_matrices import CHUNK, Extent, pieces
from pyptx_sim.numerics.elements import unpacking
from pyptx_sim.numerics.operands import WIDEN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from pyptx_arch_hopper.sim.wgmma.described import WgmmaDescription
    from pyptx_sim.extension import Action, Array, ExecutionContext, IntArray, Mask, Operands, Reader, Warpgroups

_ROWS = 64


def compile_product(operands: Operands, product: WgmmaDescription) -> Action:
    """Return the action that issues wgmma.mma_async for the executing warpgroups."""
    plan = _plan(operands, product)
    # A is read unchecked: its undefined bits only make accumulators undefined. Undefined metadata is reported at once.
    a_registers, metadata = _registers(operands.unchecked(), "a"), _registers(operands, "meta")
    read_a = reading(operands, "a_desc", plan.a) if product.a is None else None
    read_b = reading(operands, "b_desc", plan.b)
    scale = operands.source("scale_d", "pred")
    check = _checking(operands, plan) if operands.checked else None

    def issue(turn: ExecutionContext) -> None:
        warpgroups = turn.warpgroups()
        blocks = warpgroups.ctas * turn.wave.shared.stride
        adds = warpgroups.leaders(turn.read(scale))
        a = None if read_a is None else read_a(turn, warpgroups)
        b = read_b(turn, warpgroups)
        if b is None or (read_a is not None and a is None):
            return
        numbers = turn.join(WGMMA)
        products = WgmmaBatch(
            wave=turn.wave,
            pc=turn.pc,
            warps=warpgroups.warps[:, 0],
            lanes=np.zeros(len(warpgroups), np.int64),
            group=WGMMA,
            numbers=numbers,
            plan=plan,
            warpgroups=warpgroups.numbers,
            blocks=blocks,
            a=a,
            b=b,
            fragments=_fragments(turn, warpgroups, a_registers),
            places=np.arange(len(warpgroups)),
            metadata=tuple(warpgroups.threads(turn.read(each)) for each in metadata),
            adds=adds,
        )
        if check is not None:
            check(turn, warpgroups, products)
        turn.issue(products, _touches(products) if turn.observed else (), proxy=ASYNC)

    return operands.action(issue)


def _registers(operands: Operands, name: str) -> tuple[Reader, ...]:
    """Return one reader function per register of an operand; an empty tuple if the instruction lacks the operand."""
    operand = operands.given(name)
    return () if operand is None else tuple(operands.read(each, "b32") for each in operands.elements(operand))


def _fragments(
    turn: ExecutionContext, warpgroups: Warpgroups, registers: tuple[Reader, ...]
) -> Callable[[], list[Array]]:
    """Return the function that returns the registers of A: their values at issue, or at a delayed completion.

    The MMA may read the registers until the wait for its group. In an ordered schedule, the values are those at issue:
    ptxas renames registers that straight-line code overwrites (docs/hopper.md).
    """

    def fragments() -> list[Array]:
        return [warpgroups.threads(turn.read(each)) for each in registers]

    if not turn.in_order:
        return fragments
    held = fragments()
    return lambda: held


def _checking(operands: Operands, plan: WgmmaPlan) -> Callable[[ExecutionContext, Warpgroups, WgmmaBatch], None]:
    """Return the checker that runs at issue of wgmma and records which accumulator elements become undefined."""
    order, undefined = _ordering(operands, plan.product), UndefinedAccumulators(operands, plan)

    def check(turn: ExecutionContext, warpgroups: Warpgroups, products: WgmmaBatch) -> None:
        unknown = undefined.found(turn, warpgroups, products)
        order(turn, warpgroups, products.numbers)
        if unknown is not None:
            undefined.leave(turn, warpgroups, *unknown)

    return check


def _plan(operands: Operands, product: WgmmaDescription) -> WgmmaPlan:
    d, a, b = product.types
    stored = product.depth // 2 if product.selector is not None else product.depth
    registers = (operands.register(part) for part in operands.elements(operands.named("d")))
    return WgmmaPlan(
        product=product,
        slots=tuple(each.slot for each in registers if each is not None),
        distribution=distribution(product.d, product.columns),
        a=Extent(_ROWS, stored, width_of(a), product.majors[0]),
        b=Extent(product.columns, product.depth, width_of(b), product.majors[1]),
        collect=None if product.a is None else unpacking(product.a),
        widen=(WIDEN[d], WIDEN[a], WIDEN[b]),
        total=sum_of(product, operands.exact_target),
        sparse_total=sparse_sum_of(product, operands.exact_target),
    )


def _touches(products: WgmmaBatch) -> Iterator[AsyncAccess]:
    """Yield the shared memory reads of MMAs, for the race checks."""
    for bits, extent in ((products.a, products.plan.a), (products.b, products.plan.b)):
        if bits is None:
            continue
        matrices = located(bits, products.blocks)
        where, size = pieces(matrices, extent)
        owners = np.repeat(np.arange(len(products)), where.shape[1])
        first = matrices[0][0]
        mode = f"{first.swizzle}B" if first.swizzle > CHUNK else "none"
        layout = swizzle(mode, "wgmma.mma_async", first.start, first.base)
        yield AsyncAccess("shared", writes=False, offsets=where.reshape(-1), size=size, owners=owners, layout=layout)


# --- register order -------------------------------------------------------------------------------


def _ordering(
    operands: Operands, product: WgmmaDescription
) -> Callable[[ExecutionContext, Warpgroups, IntArray], None]:
    """Return the checker of an MMA's register accesses, which runs at issue."""
    written = operands.registers_in("d")
    slots, factors = tuple(written), () if product.a is None else tuple(operands.registers_in("a"))
    order_of = operands.register_checker(ASYNC_REGISTERS)
    shape = product.columns << 16 | product.depth

    def order(turn: ExecutionContext, warpgroups: Warpgroups, numbers: IntArray) -> None:
        known, warps = turn.part(order_of), warpgroups.warps
        known.issue(turn, (slots, factors), warps.reshape(-1), np.repeat(numbers, warps.shape[1]), shape)
        if known.first_use(slots, warps):
            turn.will_write(written)

    return order


def _async_registers(operands: Operands) -> Mapping[int, str]:
    """Return the indices (slots) and names of the registers that an MMA uses."""
    return operands.registers_in(*(name for name in ("d", "a") if name in operands.names))


def _finish(turn: ExecutionContext, read: Collection[int], written: Collection[int]) -> None:
    """Complete MMAs whose accumulators are read: ptxas inserts a wait there (C7517).

    ptxas does not insert a wait before an instruction that only writes accumulators. If the schedule delays completion,
    the MMA overwrites the new value.
    """
    slots = {*read, *written} if turn.in_order else set(read)
    warpgroups = turn.wave.geometry.warpgroups.of[turn.warps]

    def theirs(item: object) -> Mask | None:
        if not isinstance(item, WgmmaBatch) or not len(item) or slots.isdisjoint(item.plan.slots):
            return None
        return np.isin(item.warpgroups, warpgroups)

    turn.finish(theirs)


ASYNC_REGISTERS: Final = AsyncRegisters(_async_registers, RegisterOrder, _finish)
