"""`ptx.wgmma`: asynchronous MMA of a warpgroup (sm_90a).

Manual: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeAlias

from pyptx_arch_hopper import wgmma_layout
from pyptx_arch_hopper.descriptors import advance, constant_bits, descriptor_of, tile_of
from pyptx_arch_hopper.fragments import wgmma_fragment
from pyptx_arch_hopper.matrices import (
    accumulator,
    check_sizes,
    factor,
    metadata_operands,
    scale_operand,
    signs_of,
    transpositions,
)
from pyptx_arch_hopper.mma import find_form, forms
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import ptx_type
from pyptx_dsl.instructions.groups.matrix_descriptors import emit_descriptor, emit_steps
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.registers.register import NegPred, Reg
from pyptx_dsl.shared_memory.allocations import SharedAlloc, SharedSlice
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import u32, u64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_arch_hopper.fragments import Operand
    from pyptx_dsl.instructions.groups.fragments import Fragment
    from pyptx_dsl.types import PtxType
    from pyptx_ir.fragments.layout import Fragment as Layout

__all__ = ["Matrix", "Wgmma", "wgmma"]

Matrix: TypeAlias = Reg | SharedAlloc | SharedSlice
"""A matrix in shared memory: its descriptor in a register (u64), a tile of `smem.tile`, or a stage of a tile."""

_MASKED_B128 = 0x4000004000010000
_ADDRESS_MASK = 0x3FF80


class Wgmma:
    """MMA by the four warps of a warpgroup; each call emits one instruction unless stated otherwise."""

    SWIZZLE_NONE: ClassVar = 0
    SWIZZLE_128B: ClassVar = 1
    SWIZZLE_64B: ClassVar = 2
    SWIZZLE_32B: ClassVar = 3
    MASKED_DESC_B128: ClassVar = _MASKED_B128
    """Descriptor bits with address 0: 128-byte swizzle, 1024 bytes between groups of 8 rows."""
    layouts: ClassVar = wgmma_layout
    """Descriptor fields of tiles, shown by `pyptx.wgmma_layout`."""

    @emits(a="a_desc", b="b_desc")
    def mma_async(
        self,
        *,
        shape: Sequence[int],
        dtype_d: PtxType,
        dtype_a: PtxType,
        dtype_b: PtxType,
        d: Fragment,
        a: Matrix | Fragment,
        b: Matrix,
        scale_d: Reg | NegPred | bool | int = False,
        scale_a: int = 1,
        scale_b: int = 1,
        trans_a: int | None = None,
        trans_b: int | None = None,
        a_k_offset: int = 0,
        b_k_offset: int = 0,
        satfinite: bool = False,
        pred: Reg | None = None,
    ) -> None:
        """Emit `wgmma.mma_async.sync.aligned.m64nNkK.d.a.b {d…}, a, b, scale_d{, scale_a, scale_b…};`.

        d = a·b + d, or a·b with `scale_d=False`. All 128 threads of the warpgroup execute the MMA. `d` is undefined
        until `wait_group`. A `fence` is required between a write to a register and the MMA that uses the register.

        | d += a x b | K | N | registers of d |
        |---|---|---|---|
        | f16 or f32 += f16 x f16, f32 += bf16 x bf16 | 16 | 8, 16, … 256 | N/2 f32, or N/4 b32 with two f16 each |
        | f32 += tf32 x tf32 | 8 | 8, 16, … 256 | N/2 f32 |
        | f16 or f32 += e4m3, e5m2 x e4m3, e5m2 | 32 | 8, 16, … 256 | N/2 f32, or N/4 b32 |
        | s32 += s8, u8 x s8, u8 | 32 | 8, 16, 24, 32, 48, … 256 | N/2 s32 |
        | s32 += b1 x b1 (and, popc) | 256 | 8, 16, 24, 32, 48, … 256 | N/2 s32 |

        `a` is four 32-bit registers, or a matrix in shared memory; `b` is a matrix in shared memory. Such a matrix is a
        descriptor in a u64 register, a tile of `smem.tile`, or a stage of a tile. The descriptor of a tile is computed
        before the MMA by three instructions, one more for a static address. `a_k_offset` and `b_k_offset` are byte
        offsets from the start of the matrix (`SharedTile.offset`); with a descriptor they emit an `advance`.

        `scale_d` is a constant, a predicate, or a 32-bit register, which one `setp` compares with 0. `scale_a=-1` and
        `scale_b=-1` negate (floating point only). `trans_a` and `trans_b` are 1 for MN-major (16-bit types in shared
        memory only); the default is the tile's major. `satfinite` clamps an integer accumulator.

        Raise OperandError for types, shapes, registers and options that are invalid or contradict the tile.
        """
        self._product(
            (dtype_d, dtype_a, dtype_b),
            shape,
            (d, a, b),
            (a_k_offset, b_k_offset),
            scale_d,
            (scale_a, scale_b),
            (trans_a, trans_b),
            satfinite=satfinite,
            guard=pred,
        )

    @emits(a="a_desc", b="b_desc", metadata="meta", selector="sel")
    def mma_async_sp(
        self,
        *,
        shape: Sequence[int],
        dtype_d: PtxType,
        dtype_a: PtxType,
        dtype_b: PtxType,
        d: Fragment,
        a: Matrix | Fragment,
        b: Matrix,
        metadata: Reg,
        selector: int = 0,
        scale_d: Reg | NegPred | bool | int = False,
        scale_a: int = 1,
        scale_b: int = 1,
        trans_a: int | None = None,
        trans_b: int | None = None,
        a_k_offset: int = 0,
        b_k_offset: int = 0,
        satfinite: bool = False,
        pred: Reg | None = None,
    ) -> None:
        """Emit `wgmma.mma_async.sp.sync.aligned.m64nNkK.d.a.b {d…}, a, b, metadata, selector, scale_d…;`.

        Like `mma_async`, with half of `a` omitted and twice the K: `metadata` (b32) has the positions of the stored
        elements, and `selector` the threads that provide it (0 or 1 for 16-bit types and tf32, else 0). Not available
        for b1.
        """
        self._product(
            (dtype_d, dtype_a, dtype_b),
            shape,
            (d, a, b),
            (a_k_offset, b_k_offset),
            scale_d,
            (scale_a, scale_b),
            (trans_a, trans_b),
            satfinite=satfinite,
            guard=pred,
            sparsity=(metadata, selector),
        )

    def _product(
        self,
        dtypes: tuple[PtxType, PtxType, PtxType],
        shape: Sequence[int],
        matrices: tuple[Fragment, Matrix | Fragment, Matrix],
        offsets: tuple[int, int],
        scale_d: object,
        signs: tuple[int, int],
        turns: tuple[int | None, int | None],
        *,
        satfinite: bool,
        guard: Reg | None,
        sparsity: tuple[Reg, int] | None = None,
    ) -> None:
        what = "ptx.wgmma.mma_async" if sparsity is None else "ptx.wgmma.mma_async_sp"
        types = [ptx_type(dtype, what).name for dtype in dtypes]
        form = find_form(what, (types[0], types[1], types[2]), shape, sparse=sparsity is not None)
        if satfinite and not form.saturates:
            raise OperandError(f"{what}: {form.types} has no satfinite", help="use satfinite with integer types only")
        d = accumulator(what, form, matrices[0], shape[1])
        options = (*signs_of(what, form, signs), *transpositions(what, form, matrices, turns))
        check_sizes(what, form, shape, matrices, dense=sparsity is None)
        a = factor(what, "a", matrices[1], offsets[0])
        b = factor(what, "b", matrices[2], offsets[1])
        metadata = () if sparsity is None else metadata_operands(what, form, *sparsity)
        words = ("wgmma", "mma_async", *(() if sparsity is None else ("sp",)), "sync", "aligned")
        size = "m{}n{}k{}".format(*shape)
        tail = (*form.words, *(("satfinite",) if satfinite else ()))
        operands = (d, a, b, *metadata, scale_operand(scale_d), *options)
        active(what).emit((*words, size, form.d, form.a, form.b, *tail), operands, guard)

    def fence(self, *, pred: Reg | None = None) -> None:
        """Emit `wgmma.fence.sync.aligned;`: order earlier register accesses before later wgmma."""
        active("ptx.wgmma.fence").emit(("wgmma", "fence", "sync", "aligned"), (), pred)

    def commit_group(self, *, pred: Reg | None = None) -> None:
        """Emit `wgmma.commit_group.sync.aligned;`: the wgmma since the last commit form a group."""
        active("ptx.wgmma.commit_group").emit(("wgmma", "commit_group", "sync", "aligned"), (), pred)

    def wait_group(self, n: int, *, pred: Reg | None = None) -> None:
        """Emit `wgmma.wait_group.sync.aligned n;`: wait until at most `n` groups are outstanding."""
        groups = as_integer(n)
        if groups is None or groups < 0:
            raise OperandError(f"wgmma.wait_group needs a number of groups, got {n!r}")
        active("ptx.wgmma.wait_group").emit(("wgmma", "wait_group", "sync", "aligned"), (groups,), pred)

    def fragment(self, *, shape: Sequence[int], operand: Operand, dtype: PtxType, sparse: bool = False) -> Layout:
        """Return the layout of `d`, or of `a` in registers: which thread holds which element. Emits nothing.

        `fragment.row(thread, i)` and `.column(thread, i)` take the thread's index in the warpgroup (0 to 127) as a
        number, or as a register; for a register they emit the computation. `print(fragment)` draws the table. For a
        sparse MMA, `a` has the stored elements, K / 2 in each row. If N is not a power of two, the layout is that of
        the next power of two, of which each thread has the first N / 2 elements.
        """
        form = next((form for form in forms() if ptx_type(dtype, "ptx.wgmma.fragment").name in (form.d, form.a)), None)
        if form is None or operand not in {"a", "d"} or len(shape) != 3:
            raise OperandError(
                f"ptx.wgmma.fragment: invalid operand {operand!r} of {dtype} with shape {tuple(shape)}",
                help='use operand="d" or "a"',
            )
        return wgmma_fragment(operand, shape[1] if operand == "d" else shape[2] // (1 + sparse), dtype.name)

    # --- descriptors --------------------------------------------------------------------------------

    def descriptor(self, tile: Matrix, *, mn: int = 0, k: int = 0) -> Reg:
        """Return the descriptor of a tile of `smem.tile`, or of a stage of a tile, for an MMA that starts at (mn, k).

        Emits three instructions (`bfe`, `cvt`, `or`), preceded by one `mov` or `add` if the address is static or has an
        offset. Raise SpecError, with a diagram, for a position at which no MMA can start, and OperandError for a value
        without a layout, such as a register.
        """
        layout = tile_of(tile)
        return descriptor_of("ptx.wgmma.descriptor", tile, 0 if layout is None else layout.offset(mn=mn, k=k))

    def advance(self, descriptor: Reg, byte_offset: int, *, times: Reg | None = None) -> Reg:
        """Return the descriptor advanced by `byte_offset` bytes (see `SharedTile.offset`), with three instructions.

        `mov.b64` splits the descriptor, `add.u32` advances its lower half, which contains the address, and `mov.b64`
        combines the halves; ptxas merges the three into one instruction. With `times` (a u32 register, such as the
        index of a stage) `byte_offset` is multiplied by `times`: `mad.lo.u32` replaces `add.u32`.
        """
        return advance(descriptor, byte_offset, times)

    def make_descriptor(
        self,
        smem_base: object,
        *,
        leading_byte_offset: int,
        stride_byte_offset: int,
        swizzle: int = 0,
        base_offset: int = 0,
        addr_byte_offset: int = 0,
    ) -> Reg:
        """Return a descriptor with the given field values, in bytes, for a matrix at `smem_base + addr_byte_offset`.

        Emits three instructions (`bfe`, `cvt`, `or`), preceded by one `mov` or `add` if the address is static or has an
        offset. Raise OperandError for a number that does not fit its field.
        """
        constant = constant_bits(
            leading=leading_byte_offset, stride=stride_byte_offset, swizzle=swizzle, base=base_offset
        )
        return emit_descriptor("ptx.wgmma.make_descriptor", smem_base, constant, addr_byte_offset)

    def auto_descriptor(self, smem_base: object, *, dtype: PtxType, shape: Sequence[int], major: object = "K") -> Reg:
        """Return the descriptor of a matrix with the layout `SharedTile(dtype, shape, major=major)`.

        Emits as many instructions as `make_descriptor`.
        """
        tile = SharedTile(dtype, shape, major=str(getattr(major, "name", major)))
        return self.make_descriptor(
            smem_base,
            leading_byte_offset=tile.leading_byte_offset,
            stride_byte_offset=tile.stride_byte_offset,
            swizzle=tile.swizzle_code,
        )

    def masked_descriptor(
        self,
        smem_addr: Reg,
        byte_offset: Reg | int = 0,
        *,
        mask: Reg | int = _ADDRESS_MASK,
        const_bits: int = _MASKED_B128,
        steps: str | None = None,
        temps: Sequence[Reg] | None = None,
    ) -> Reg:
        """Return a descriptor computed as `((smem_addr + byte_offset) & mask) >> 4 | const_bits`.

        Emits four instructions (`and`, `shr`, `cvt`, `or`), preceded by one `add` for an offset. `steps` are the
        opcodes of another compiler's equivalent instructions, in order: `"add.s64 and.b64 shr.u64 or.b64"`. Instruction
        `n` writes `temps[n]`, or a new register if `temps` is None; the last instruction writes the descriptor.
        """
        trace = active("ptx.wgmma.masked_descriptor")
        if steps is not None:
            return emit_steps(trace, smem_addr, steps, (byte_offset, mask, const_bits), temps)
        if temps is not None:
            raise OperandError("temps= needs steps=", help='pass steps= too: "add.s64 and.b64 shr.u64 or.b64"')
        start = smem_addr if as_integer(byte_offset) == 0 else smem_addr + byte_offset
        field, result = trace.fresh(u32), trace.fresh(u64)
        trace.emit(("and", "b32"), (field, start, mask))
        trace.emit(("shr", "u32"), (field, field, 4))
        trace.emit(("cvt", "u64", "u32"), (result, field))
        trace.emit(("or", "b64"), (result, result, const_bits))
        return result


wgmma = Wgmma()
