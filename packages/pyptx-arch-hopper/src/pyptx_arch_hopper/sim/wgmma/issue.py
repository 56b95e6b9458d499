"""Instructions of warpgroups: products, and what orders them.

Manual: "wgmma.mma_async", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_arch_hopper.sim.layouts import swizzle
from pyptx_arch_hopper.sim.wgmma.described import (
    WGMMA,
    CommitGroup,
    RegisterFence,
    WaitGroup,
    WarpgroupAction,
    WarpgroupProduct,
)
from pyptx_arch_hopper.sim.wgmma.numerics import selection, sum_of, width_of
from pyptx_arch_hopper.sim.wgmma.products import Plan, Products
from pyptx_arch_hopper.sim.wgmma.register_order import RegisterOrder
from pyptx_sim.extension import ASYNC, Claims
from pyptx_sim.instructions.compiling.claims import judge_of
from pyptx_sim.instructions.memory.transfers import compile_hint
from pyptx_sim.instructions.notify import tell
from pyptx_sim.instructions.synchronization.async_copy import commit, wait
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.machine.memory.access import fault
from pyptx_sim.machine.memory.shared_matrices import CHUNK, Extent, offsets, places
from pyptx_sim.numerics.elements import unpacking
from pyptx_sim.numerics.factors import WIDEN
from pyptx_sim.observer import Touch
from pyptx_sim.program.windows import SHARED_BASE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.memory.shared_matrices import SharedMatrix
    from pyptx_sim.machine.memory.spaces import SharedMemory
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask

_ROWS = 64
_DESCRIPTORS = ("b64", "u64", "s64")
_PIECE = 16  # bytes: swizzles move nothing smaller
_BLANK = np.zeros((1, 1), np.uint32)  # what registers hold until the first product that writes them completes


def compile_action(operands: Operands, action: WarpgroupAction) -> Action:
    """Compile what a row says of an instruction."""
    match action:
        case WarpgroupProduct():
            return _product(operands, action)
        case RegisterFence():
            return _fence(operands) if operands.checked else compile_hint(operands)
        case CommitGroup():
            return commit(WGMMA)
        case WaitGroup():
            return wait(WGMMA, action.latest, reads=False)


def _fence(operands: Operands) -> Action:
    order = judge_of(operands, CLAIMS)
    return lambda wave, lanes: wave.part(order).fence(lanes)


def _product(operands: Operands, product: WarpgroupProduct) -> Action:
    given = operands.operands
    slots = _slots(operands, given[0])
    plan = _plan(operands, product, slots)
    a_registers = () if product.a is None else tuple(operands.read(each, "b32") for each in operands.elements(given[1]))
    read_a = _descriptors(operands, given[1], product, plan.a) if product.a is None else None
    read_b = _descriptors(operands, given[2], product, plan.b)
    read_metadata = None if product.selector is None else operands.read(operands.elements(given[3])[0], "b32")
    read_scale = operands.read(given[product.scale], "pred")
    order = _ordering(operands, product, slots) if operands.checked else None

    def step(wave: Wave, lanes: Lanes) -> None:
        issuers = _Issuers(wave, lanes)
        adds = issuers.lead(read_scale(wave, lanes)).astype(np.bool_)
        a = None if read_a is None else read_a(wave, lanes, issuers)
        b = read_b(wave, lanes, issuers)
        if b is None or (read_a is not None and a is None):
            return
        groups = wave.groups_of(WGMMA)
        groups.note(issuers.warps.reshape(-1), np.zeros(issuers.warps.size, np.int64), wave.pc)
        numbers = groups.open[issuers.warps[:, 0], 0]
        if order is not None:
            order(wave, lanes, issuers, numbers, adds)
        products = Products(
            wave=wave,
            pc=wave.pc,
            plan=plan,
            warpgroups=issuers.warpgroups,
            numbers=numbers,
            a=a,
            b=b,
            registers=tuple(issuers.threads(read(wave, lanes)) for read in a_registers),
            metadata=None if read_metadata is None else issuers.threads(read_metadata(wave, lanes)),
            adds=adds,
        )
        item_id = wave.engine.issue(products)
        if wave.machine.observers.active:
            _tell(wave, products, item_id)

    return step


class _Issuers:
    """The warpgroups that execute an instruction: their numbers, warps, and positions among the rows of the step."""

    def __init__(self, wave: Wave, lanes: Lanes) -> None:
        warps = lanes.active_rows()
        known = wave.geometry.warpgroups
        self.warpgroups: IntArray = np.unique(known.of[warps])
        self.warps: IntArray = known.warps[self.warpgroups]
        self._positions = self.warps if lanes.rows is None else np.searchsorted(lanes.rows, self.warps)
        self._height = lanes.height

    def lead(self, values: Array) -> Array:
        """Return the value of the first thread of each warpgroup."""
        first: Array = np.broadcast_to(values, (self._height, WARP))[self._positions[:, 0], 0]
        return first

    def threads(self, values: Array) -> Array:
        """Return the values of all threads, `[warpgroups, 128]`."""
        whole = np.broadcast_to(values, (self._height, WARP))
        return whole[self._positions.reshape(-1)].reshape(len(self.warpgroups), -1)


def _plan(operands: Operands, product: WarpgroupProduct, slots: tuple[int, ...]) -> Plan:
    d, a, b = product.types
    stored = product.depth // 2 if product.selector is not None else product.depth
    return Plan(
        product=product,
        slots=slots,
        a=Extent(_ROWS, stored, width_of(a), product.majors[0]),
        b=Extent(product.columns, product.depth, width_of(b), product.majors[1]),
        collect=None if product.a is None else unpacking(product.a),
        widen=(WIDEN[d], WIDEN[a], WIDEN[b]),
        select=selection(product),
        total=sum_of(product, operands.program.target if operands.exact else None),
    )


def _slots(operands: Operands, operand: Operand) -> tuple[int, ...]:
    """Return the slots of the registers of an operand."""
    found = [operands.register(element) for element in operands.elements(operand)]
    return tuple(register.slot for register in found if register is not None)


# --- descriptors --------------------------------------------------------------------------------


def _descriptors(
    operands: Operands, operand: Operand, product: WarpgroupProduct, extent: Extent
) -> Callable[[Wave, Lanes, _Issuers], list[tuple[SharedMatrix, int]] | None]:
    """Return what reads the descriptor of each warpgroup: where its matrix lies; None if it cannot lie there."""
    read = operands.read(operand, "u64")
    checked = operands.checked

    def find(wave: Wave, lanes: Lanes, issuers: _Issuers) -> list[tuple[SharedMatrix, int]] | None:
        values = read(wave, lanes)
        if checked:
            _check_uniform(wave, issuers, values)
        memory: SharedMemory = wave.memories["shared"]  # type: ignore[assignment]  # what that space is served by
        blocks = (wave.geometry.warpgroups.cta[issuers.warpgroups] * memory.stride).tolist()
        matrices = [product.read(int(bits)) for bits in issuers.lead(values).tolist()]
        for matrix in dict.fromkeys(matrices):
            if not _is_sound(wave, lanes, memory, matrix, extent):
                return None
        found = list(zip(matrices, blocks, strict=True))
        if checked:
            _check_written(wave, memory, found, extent)
        return found

    return find


def _check_uniform(wave: Wave, issuers: _Issuers, values: Array) -> None:
    if values.size == 1:
        return
    all_values = issuers.threads(values)
    if (all_values != all_values[:, :1]).any():
        fault(
            wave,
            "matrix-descriptor",
            "threads of one warpgroup hold different descriptors",
            "compute the descriptor of values that all 128 threads share",
            1,
        )


def _is_sound(wave: Wave, lanes: Lanes, memory: SharedMemory, matrix: SharedMatrix, extent: Extent) -> bool:
    """Report a descriptor that points outside of shared memory, or into the middle of its swizzle's pattern."""
    problem = _problem(memory.end, matrix, extent)
    if problem is None:
        return True
    rule, message, hint, usable = problem
    fault(wave, rule, message, hint, lanes.count)
    return usable


@lru_cache(maxsize=512)
def _problem(end: int, matrix: SharedMatrix, extent: Extent) -> tuple[str, str, str, bool] | None:
    """Return the rule that a descriptor breaks, what is wrong, what to do, and whether it can be read all the same."""
    where = places(matrix, extent)
    low, high = int(where.min()), int(where.max()) + CHUNK
    if low < SHARED_BASE or high > end:
        message = f"a matrix of {extent.mn} x {extent.k} at {matrix.start:#x} reaches from {low:#x} to {high:#x}"
        hint = f"shared memory lies from {SHARED_BASE:#x} to {end:#x}; look at the descriptor's address and strides"
        return "out-of-bounds", message, hint, False
    rows = matrix.swizzle // CHUNK
    row = matrix.start // 128 % rows
    if row != matrix.base % rows:
        message = (
            f"a matrix with a swizzle of {matrix.swizzle} bytes begins in row {row} of its pattern, and its descriptor "
            f"says {matrix.base} (base offset)"
        )
        return "matrix-descriptor", message, f"align the matrix to {rows * 128} bytes", True
    if np.unique(where).size != where.size:
        message = (
            f"a matrix of {extent.mn} x {extent.k} overlaps itself: leading {matrix.leading}, stride {matrix.stride}"
        )
        return "matrix-descriptor", message, "take the strides from the layout of the tile: SharedTile", True
    return None


def _check_written(wave: Wave, memory: SharedMemory, found: list[tuple[SharedMatrix, int]], extent: Extent) -> None:
    where = offsets(found, extent)
    written = memory.arena.written(where, CHUNK, partly=False)
    if written is None or written.all():
        return
    missing = where[~written]
    fault(
        wave,
        "uninitialised-memory",
        f"a product reads shared memory at {memory.describe_offset(int(missing[0]))}, which nothing has written",
        "write it first, and wait for the copies that do: shared memory holds arbitrary bytes",
        len(missing),
    )


def _tell(wave: Wave, products: Products, item_id: int) -> None:
    """Tell of the matrices that products read."""
    touches: list[Touch] = []
    for matrices, extent in ((products.a, products.plan.a), (products.b, products.plan.b)):
        if matrices is None:
            continue
        where = offsets(matrices, extent).reshape(len(products), -1)
        owners = np.repeat(np.arange(len(products)), where.shape[1])
        layout = swizzle(matrices[0][0].swizzle, "a product")
        touches.append(
            Touch("shared", writes=False, offsets=where.reshape(-1), size=_PIECE, owners=owners, layout=layout)
        )
    lanes = np.zeros(len(products), np.int64)
    tell(wave, item_id, products.group, (products.warps[:, 0], lanes, products.numbers), tuple(touches), proxy=ASYNC)


# --- the order of registers ---------------------------------------------------------------------


def _ordering(
    operands: Operands, product: WarpgroupProduct, slots: tuple[int, ...]
) -> Callable[[Wave, Lanes, _Issuers, IntArray, Mask], None]:
    """Return what judges a product's registers when it is issued."""
    factors = () if product.a is None else _slots(operands, operands.operands[1])
    claims = _claimed(operands)
    names = [claims[slot] for slot in slots]
    order_of = judge_of(operands, CLAIMS)
    shape = product.columns << 16 | product.depth

    def order(wave: Wave, lanes: Lanes, issuers: _Issuers, numbers: IntArray, adds: Mask) -> None:
        known = wave.part(order_of)
        sums, read = (np.array([known.rows[slot] for slot in some], np.int64) for some in (slots, factors))
        known.issue(sums, read, issuers.warps.reshape(-1), np.repeat(numbers, issuers.warps.shape[1]), shape)
        if not known.first_use(slots, issuers.warps):
            return
        for slot, name in zip(slots, names, strict=True):
            if wave.registers[slot] is None or slot in wave.partial:
                if adds.all():
                    wave.check_register(slot, name, lanes)
                wave.note_written(slot, lanes)
                if wave.registers[slot] is None:
                    wave.registers[slot] = _BLANK

    return order


def _claimed(operands: Operands) -> Mapping[int, str]:
    """Return the slots and names of the registers that a product uses."""
    given = (element for operand in operands.operands[:2] for element in operands.elements(operand))
    registers = (operands.register(element) for element in given)
    return {each.slot: each.name for each in registers if each is not None and each.type not in _DESCRIPTORS}


CLAIMS: Final = Claims(_claimed, RegisterOrder)
