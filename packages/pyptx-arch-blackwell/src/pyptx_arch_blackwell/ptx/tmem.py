"""`ptx.tmem`: tensor memory, allocated for the body of a `with` statement and freed after it.

    with ptx.tmem.alloc(512, when=warp == 0) as t:
        ptx.tcgen05.mma(t[:, 0:256], sA[0], sB[0], shape=(128, 256), dtype_d=f32, dtype_a=bf16, dtype_b=bf16)
        …
        ptx.tcgen05.ld(registers, t.quarter(warp)[:, 0:64], shape="32x32b")

Manual: "Tensor Memory", "Tensor Memory Allocation and Management Instructions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_arch_blackwell.ptx import allocation
from pyptx_arch_blackwell.ptx.operands import cta_group_word
from pyptx_arch_blackwell.ptx.synchronization import fence_after_thread_sync, fence_before_thread_sync
from pyptx_arch_blackwell.ptx.tensor_memory import COLUMNS, TensorMemory
from pyptx_dsl.errors import AllocationError, OperandError, RegisterTypeError
from pyptx_dsl.registers.operands import as_count
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.shared_memory.allocations import SharedAddress
from pyptx_dsl.trace_context import active
from pyptx_dsl.tracing.escapes import enter_block
from pyptx_dsl.tracing.trace import Scope
from pyptx_dsl.types import b32
from pyptx_ir.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from pyptx_arch_blackwell.tensor_memory_map import TensorMemoryMap
    from pyptx_dsl.origin import Site

__all__ = ["Allocation", "Tmem", "tmem"]

_WORD_BYTES = 4
_ENDS = ("ret", "exit")


class Allocation:
    """Context manager that allocates tensor memory columns for its body; see `ptx.tmem.alloc`."""

    def __init__(self, columns: int, cta_group: int, when: Reg | None, *, relinquish: bool) -> None:
        """Record the arguments; `__enter__`, called by the required `with` statement, emits the allocation."""
        self._trace = active("ptx.tmem.alloc")
        self._columns = columns
        self._cta_group = cta_group
        self._when = when
        self._relinquish = relinquish
        self._promise = self._trace.promise("ptx.tmem.alloc")

    def __enter__(self) -> TensorMemory:
        """Emit the allocation, and the load of its address by all threads that execute the body."""
        trace = self._trace
        enter_block(trace, self._promise)
        region = trace.memories.shared.allocate(trace, _WORD_BYTES, _WORD_BYTES, stem="tmem")
        word = SharedAddress(region.name, 0, trace)
        allocation.alloc(word, self._columns, cta_group=self._cta_group, pred=self._when)
        if self._relinquish:
            allocation.relinquish_alloc_permit(cta_group=self._cta_group, pred=self._when)
        if self._when is not None:
            trace.emit(("bar", "sync"), (0,))
        base = trace.fresh(b32)
        trace.emit(("ld", "shared", "b32"), (base, allocation.bracketed(word)))
        self._base = base
        self._scope, self._first = trace.open_scope, len(trace.open_scope.nodes)
        return TensorMemory(base, columns=self._columns)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Reject early exits, and free the columns; if one warp frees them, emit a CTA or cluster barrier first."""
        if kind is not None:
            return
        self._refuse_leaks()
        if self._when is not None:
            fence_before_thread_sync()
            self._meet()
            fence_after_thread_sync()
        allocation.dealloc(self._base, self._columns, cta_group=self._cta_group, pred=self._when)

    def _meet(self) -> None:
        if self._cta_group == 1:
            self._trace.emit(("bar", "sync"), (0,))
            return
        self._trace.emit(("barrier", "cluster", "arrive"))
        self._trace.emit(("barrier", "cluster", "wait"))

    def _refuse_leaks(self) -> None:
        """Raise AllocationError for the first `ret` or `exit` in the `with` body, at its own line."""
        for site in _ends(self._scope.nodes[self._first :], self._scope.sites[self._first :]):
            raise AllocationError(
                f"a thread exits here with {self._columns} columns of tensor memory allocated; other CTAs may "
                "wait for them indefinitely",
                where=self._trace.recorder.where(site),
                help="exit after the `with ptx.tmem.alloc(…)`, which frees them",
            )


def _ends(statements: Sequence[object], sites: Sequence[Site]) -> Iterator[Site]:
    """Yield the source locations of `ret` and `exit` among statements and in their nested scopes."""
    for node, site in zip(statements, sites, strict=True):
        if isinstance(node, Scope):
            yield from _ends(node.nodes, node.sites)
        elif isinstance(node, nodes.Instruction) and node.opcode[0] in _ENDS:
            yield site


class Tmem:
    """`ptx.tmem`: allocation of tensor memory for the body of a `with` statement."""

    def alloc(
        self,
        columns: int,
        *,
        cta_group: int = 1,
        when: Reg | None = None,
        relinquish: bool = False,
    ) -> Allocation:
        """Allocate columns for the body of a `with`, whose value is the `TensorMemory` with all 128 lanes.

        `columns` is 32, 64, 128, 256 or 512. A whole warp allocates; the caller selects it:

        - Without `when`, each warp that executes the `with` allocates: put it into an `if_` that one warp enters. Three
          instructions: before the body, `tcgen05.alloc` into a word of shared memory and `ld.shared.b32` of it; after
          the body, `tcgen05.dealloc`.
        - With `when=warp == 0`, all threads of the CTA execute the `with`, and the warp for which the predicate holds
          allocates. Seven instructions, for a CTA pair eight. Before the body: `tcgen05.alloc` under the predicate,
          `bar.sync 0`, `ld.shared.b32`. After the body: `tcgen05.fence::before_thread_sync`, `bar.sync 0` (for a CTA
          pair `barrier.cluster.arrive` and `wait`), `tcgen05.fence::after_thread_sync`, and `tcgen05.dealloc` under the
          predicate.

        `relinquish` adds `tcgen05.relinquish_alloc_permit` after the allocation. With `cta_group=2`, one warp of each
        CTA of the pair allocates; both CTAs execute the same instructions. Inside the `with`, wait for loads from and
        stores to the tensor memory, commit the MMAs, and wait for the commit. Raise AllocationError for a `ret` or
        `exit` inside the `with`, at the line of the `ret`, and OperandError for another number of columns.
        """
        group = int(cta_group_word("ptx.tmem.alloc", cta_group))
        return Allocation(allocation.columns_of("ptx.tmem.alloc", columns), group, when, relinquish=relinquish)

    def at(self, address: Reg, columns: int = COLUMNS) -> TensorMemory:
        """Return the `TensorMemory` at an address, to be sliced; emit no instruction, and do not free its columns.

        `address` is a 32-bit register with the word that `tcgen05.alloc` wrote.
        """
        if not isinstance(cast("object", address), Reg):
            help = "load the word written by tcgen05.alloc: smem.load(b32, word)"
            raise OperandError(f"ptx.tmem.at needs an address register, got {address!r}", help=help)
        if not address.dtype.is_integer or address.dtype.bits != b32.bits:
            raise RegisterTypeError(
                f"ptx.tmem.at needs a 32-bit address, got the {address.dtype} register {address.raw_name}"
            )
        number = as_count(columns)
        if number is None or not 0 < number <= COLUMNS:
            raise OperandError(f"ptx.tmem.at: invalid number of columns {columns!r}", help=f"use 1 to {COLUMNS}")
        return TensorMemory(address, columns=number)

    def map(self, **regions: TensorMemory) -> TensorMemoryMap:
        """Return a map of regions by name, to print or to show in a notebook; emit no instruction.

        Lanes and columns count from the address of each region's allocation: pass slices of one allocation. The offset
        of a region that `quarter` or `advance` computed from a register is not included.
        """
        from pyptx_arch_blackwell.tensor_memory_map import TensorMemoryMap

        return TensorMemoryMap("tensor memory", tuple(region.part(name) for name, region in regions.items()))

    def accumulator(
        self, shape: tuple[int, int], *, cta_group: int = 1, sparse: bool = False, ws: bool = False
    ) -> TensorMemoryMap:
        """Return a map of the locations of an M x N accumulator, to print or to show in a notebook.

        `cta_group=2` is a CTA pair; `sparse`: operand A is sparse; `ws`: a weight-stationary MMA. Raise ValueError for
        an M that the MMA does not support. Manual: "Data Path Layout Organization".
        """
        from pyptx_arch_blackwell.tensor_memory_map import accumulator_map

        return accumulator_map(*shape, cta_group=cta_group, sparse=sparse, ws=ws)


tmem = Tmem()
