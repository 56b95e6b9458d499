"""Issue of tcgen05.mma: decode and check operands, and report accesses. Manual: "tcgen05.mma"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_arch_blackwell.datapath import LANES, PARTITION
from pyptx_arch_blackwell.descriptors import ZeroColumnMask
from pyptx_arch_blackwell.mma import check_swizzle
from pyptx_arch_blackwell.sim import thread_order
from pyptx_arch_blackwell.sim.allocation import AllocatedColumns
from pyptx_arch_blackwell.sim.layouts import swizzle
from pyptx_arch_blackwell.sim.matrices import RULE, located, matrix_of, readable, said, unwritten
from pyptx_arch_blackwell.sim.mma.batch import MmaBatch
from pyptx_arch_blackwell.sim.mma.collectors import Collectors, collecting
from pyptx_arch_blackwell.sim.mma.elements import used_bytes
from pyptx_arch_blackwell.sim.mma.plan import Opcode, plan_of
from pyptx_arch_blackwell.sim.pairs import Pairing
from pyptx_arch_blackwell.sim.pipeline import blocks_of, first_blocks, pipeline_of
from pyptx_arch_blackwell.sim.tensor_memory import address_of, columns_of, lanes_of, touch
from pyptx_ir.syntax.operands import Address
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.extension import ASYNC, AsyncAccess, InstructionSemantics
from pyptx_sim.extension.shared_matrices import CHUNK, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_arch_blackwell.datapath import Rectangle
    from pyptx_arch_blackwell.sim.mma.plan import MmaPlan
    from pyptx_sim.extension import Action, Array, ExecutionContext, GroupKind, IntArray, Operands, Reader
    from pyptx_sim.extension.shared_matrices import Extent

__all__ = ["STEPS"]

_RULE: Final = "tcgen05-mma"
_VECTORS: Final = ("scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32")
_FURTHER: Final = ("scale_a", "scale_b", "meta")  # operands in tensor memory that only block-scaled or sparse MMAs have


def opcode_of(operands: Operands) -> Opcode:
    """Return the decoded modifiers of a tcgen05.mma."""
    words = operands.opcode
    kind = next(word for word in words if word.startswith("kind::")).removeprefix("kind::")
    if kind == "ti16" or "decompress::lut::b" in words:
        raise MissingSemantics("no simulator semantics for tcgen05.mma of sm_107")
    return Opcode(
        kind=kind,
        blocks=blocks_of(operands),
        sparse="sp" in words,
        stationary="ws" in words,
        scaled="block_scale" in words,
        vector=next((word for word in words if word in _VECTORS), ""),
        in_tensor=isinstance(operands.named("a"), Address),
        shifted="ashift" in words,
        exact=operands.exact_target,
    )


class _Given:
    """Operand values of the threads that execute a tcgen05.mma."""

    def __init__(self, operands: Operands, opcode: Opcode) -> None:
        self._d, self._b = address_of(operands, "d"), operands.source("b", "u64")
        self._a = address_of(operands, "a") if opcode.in_tensor else operands.source("a", "u64")
        self._further = tuple(address_of(operands, name) for name in _FURTHER if name in operands.names)
        self._adds = operands.source("p", "pred")
        masks = operands.elements(operands.named("lanes")) if "lanes" in operands.names else ()
        self._disabled = tuple(operands.read(each, "u32") for each in masks)
        self._divisor = operands.number("scale") if "scale" in operands.names else 0

    def products(self, turn: ExecutionContext, kind: GroupKind, plan: MmaPlan, zeros: int) -> MmaBatch:
        """Return the threads' MMAs as one batch, without commit-group numbers: the tcgen05 pipeline assigns them."""
        warps, lanes = turn.threads
        return MmaBatch(
            wave=turn.wave,
            pc=turn.pc,
            warps=warps,
            lanes=lanes,
            group=kind,
            numbers=np.zeros(turn.count, np.int64),
            blocks=first_blocks(turn, plan.opcode.blocks),
            plan=plan,
            d=turn.each(self._d).astype(np.int64),
            a=turn.each(self._a).astype(np.uint64),
            b=turn.each(self._b),
            adds=turn.each(self._adds),
            further=tuple(turn.each(each).astype(np.int64) for each in self._further),
            disabled=_columns(turn, self._disabled),
            divisor=self._divisor,
            zeros=ZeroColumnMask.decode(zeros) if zeros else None,
        )


def compile_product(operands: Operands) -> Action:
    """Issue an MMA for each thread."""
    opcode, kind, uses = opcode_of(operands), pipeline_of(operands), collecting(operands)
    given, idesc = _Given(operands, opcode), operands.source("idesc", "u32")
    zeros = operands.source("zeros", "u64") if "zeros" in operands.names else None

    def issue(turn: ExecutionContext) -> None:
        if not turn.part(Pairing).holds(turn, opcode.blocks):
            return
        columns = np.zeros(turn.count, np.uint64) if zeros is None else turn.each(zeros)
        for bits, mask, some in _alike(turn, turn.each(idesc), columns):
            plan = _plan(some, opcode, bits)
            products = None if plan is None else given.products(some, kind, plan, mask)
            if products is None or not _sound(some, products):
                continue
            products.numbers = some.join(kind)
            if some.checked:
                some.part(Collectors).check(some, products, uses)
            thread_order.issue(some, products, _touches(products), proxy=ASYNC)

    return operands.action(issue)


def _alike(turn: ExecutionContext, idescs: Array, zeros: Array) -> Iterator[tuple[int, int, ExecutionContext]]:
    """Yield each pair of instruction descriptor and zero-column mask, with the threads that use this pair."""
    pairs = list(zip(idescs.tolist(), zeros.tolist(), strict=True))
    for bits, mask in dict.fromkeys(pairs):
        which = np.array([pair == (bits, mask) for pair in pairs])
        if which.all():
            yield bits, mask, turn
            continue
        lanes = np.zeros((len(turn.rows), turn.mask.shape[1]), np.bool_)
        rows, columns = turn.places
        lanes[rows[which], columns[which]] = True
        some = turn.narrowed(lanes)
        assert some is not None  # noqa: S101 - it has these threads
        yield bits, mask, some


def _columns(turn: ExecutionContext, sources: Sequence[Reader]) -> NDArray[np.uint32]:
    """Return the 32-bit words of each thread's vector operand, `[n, words]`."""
    if not sources:
        return np.zeros((turn.count, 0), np.uint32)
    return np.stack([turn.each(each) for each in sources], axis=1)


# --- checks ---------------------------------------------------------------------------------------


def _plan(turn: ExecutionContext, opcode: Opcode, bits: int) -> MmaPlan | None:
    """Return the `MmaPlan` of the threads' MMA; report an invalid instruction descriptor and return None."""
    try:
        return plan_of(opcode, bits)
    except ValueError as error:
        message, notes = said(error)
        if not message.startswith("invalid"):
            message = f"invalid instruction descriptor: {message}"
        help = "build it with InstructionDescriptor, or call ptx.tcgen05.mma without idesc"
        turn.fault(_RULE, message, help, turn.count, notes=(*notes, f"instruction descriptor {bits:#010x}"))
        return None


def _sound(turn: ExecutionContext, products: MmaBatch) -> bool:
    """Report invalid operands of the MMA; return whether the simulator can compute the MMA anyway."""
    if turn.checked and turn.count > 1:
        _check_threads(turn, products)
    plan = products.plan
    _check_alignment(turn, products)
    sound = all(_holds(turn, products, rectangles, at) for rectangles, at in _matrices(products))
    if turn.checked:
        _apart(turn, products)
    for name, bits, extent in (("a", products.a, plan.a), ("b", products.b, products.b_extent)):
        if name == "b" or not plan.opcode.in_tensor:
            sound &= all(_readable(turn, plan, each, name, extent) for each in dict.fromkeys(bits.tolist()))
    it = plan.descriptor
    for name, bits, blocks, extent in _read_shared(products) if sound and turn.checked else ():
        unwritten(
            turn,
            bits,
            blocks,
            extent,
            f"tcgen05.mma, operand {name.upper()}",
            used=used_bytes(it.kind, it.a if name == "a" else it.b),
        )
    return sound


def _check_threads(turn: ExecutionContext, products: MmaBatch) -> None:
    """Report threads that issue one MMA together; several threads may issue MMAs with different accumulators."""
    _, sharing = np.unique(np.stack([products.blocks, products.d]), axis=1, return_counts=True)
    if count := int(sharing[sharing > 1].sum()):
        message = f"tcgen05.mma issued by {count} threads: each performs the MMA"
        turn.report(_RULE, message, help="issue from one thread (elect.sync)", count=count)


def _check_alignment(turn: ExecutionContext, products: MmaBatch) -> None:
    """Report tensor memory operands that do not start at the accumulator's lane. Manual: "Alignment restriction"."""
    opcode, lanes = products.plan.opcode, lanes_of(products.d)
    held = {"operand A": products.a.astype(np.int64)} if opcode.in_tensor else {}
    held |= {"sparsity metadata": products.further[-1]} if opcode.sparse else {}
    for name, addresses in held.items():
        if turn.checked and (lanes_of(addresses) != lanes).any():
            other = lanes_of(addresses)[0]
            message = f"{name} starts at tensor memory lane {other}, the accumulator at lane {lanes[0]}"
            help = "start A, D and the metadata at the same lane"
            turn.report(_RULE, message, help=help, count=turn.count)


def _matrices(products: MmaBatch) -> Iterator[tuple[Sequence[Rectangle], IntArray]]:
    """Yield the tensor memory operands, each with its addresses: accumulator, A, scale factors, metadata."""
    plan = products.plan
    yield plan.d, products.d
    if plan.opcode.in_tensor:
        yield tuple(each for copy in plan.a_copies for each in copy), products.a.astype(np.int64)
    yield from zip(plan.further, products.further, strict=True)


def _holds(turn: ExecutionContext, products: MmaBatch, rectangles: Sequence[Rectangle], addresses: IntArray) -> bool:
    """Report a tensor memory operand outside the allocated columns, or at an invalid first lane."""
    allocation, sound = turn.part(AllocatedColumns), True
    end = max(each.column + each.columns for each in rectangles)
    low = max(each.lane + each.rows for each in rectangles)
    for block, lane, column in zip(products.blocks, lanes_of(addresses), columns_of(addresses), strict=True):
        for other in {each.block for each in rectangles}:
            sound &= allocation.check_columns(turn, int(block) + other, int(column), end)
        if lane + low > LANES or lane % (PARTITION // 2):
            message = f"tcgen05.mma operand at tensor memory lane {lane}: must be 0, or 16 if M = 64"
            turn.fault(_RULE, message, "clear the lane field (bits 31-16) of the address", turn.count)
            return False
    return sound


def _apart(turn: ExecutionContext, products: MmaBatch) -> None:
    """Report accumulator columns that overlap an input of the MMA: A, scale factors or metadata."""
    sums, *read = ((_span(rectangles), columns_of(at)) for rectangles, at in _matrices(products))
    (_, end), d = sums
    for (first, last), at in read:
        if ((at + first < d + end) & (d < at + last)).any():
            message = "accumulator columns overlap an input of tcgen05.mma"
            turn.report(_RULE, message, help="use separate columns for the accumulator", count=turn.count)


def _span(rectangles: Sequence[Rectangle]) -> tuple[int, int]:
    """Return the first column of tensor memory rectangles and the column past the last, relative to their address."""
    return min(each.column for each in rectangles), max(each.column + each.columns for each in rectangles)


def _readable(turn: ExecutionContext, plan: MmaPlan, bits: int, name: str, extent: Extent) -> bool:
    """Report an invalid shared memory descriptor; return whether the MMA can read the matrix anyway."""
    if not readable(turn, bits, name.upper(), extent):
        return False
    matrix = matrix_of(bits)
    try:
        check_swizzle(plan.descriptor.kind, extent.major, matrix.swizzle if matrix.swizzle > CHUNK else 0, matrix.atom)
    except ValueError as error:
        message, notes = said(error)
        message = f"invalid shared memory descriptor of {name.upper()}: {message}"
        turn.report(RULE, message, notes=(*notes, f"descriptor {bits:#018x}"), count=turn.count)
    return True


# --- accesses -------------------------------------------------------------------------------------


def _read_shared(products: MmaBatch) -> Iterator[tuple[str, NDArray[np.uint64], IntArray, Extent]]:
    """Yield the operands that MMAs read from shared memory: name, descriptors, CTAs and extent."""
    plan = products.plan
    for name, bits, extent in (("a", products.a, plan.a), ("b", products.b, products.b_extent)):
        if name == "a" and plan.opcode.in_tensor:
            continue
        for block in range(plan.opcode.blocks):
            yield name, bits, products.blocks + block, extent


def _touches(products: MmaBatch) -> Iterator[AsyncAccess]:
    """Yield the tensor memory and shared memory accesses of MMAs, for the race checks."""
    n, stride = len(products), products.wave.shared.stride
    for _, bits, blocks, extent in _read_shared(products):
        matrices = located(bits, blocks, stride)
        where, size = pieces(matrices, extent)
        owners = np.repeat(np.arange(n), where.shape[1])
        layout = swizzle(matrices[0][0], "tcgen05.mma")
        yield AsyncAccess("shared", writes=False, offsets=where.reshape(-1), size=size, owners=owners, layout=layout)
    for number, (rectangles, addresses) in enumerate(_matrices(products)):
        yield touch(products.blocks, addresses, rectangles, writes=not number)


STEPS: Final = tuple(
    InstructionSemantics(opcode=f"tcgen05.{name}", effect="issue", compile=compile_product, converges="")
    for name in ("mma", "mma.sp", "mma.ws", "mma.ws.sp")
)
