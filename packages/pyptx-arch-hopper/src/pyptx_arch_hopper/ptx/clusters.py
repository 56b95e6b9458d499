"""`ptx.cluster`: cluster barriers, and addresses in distributed shared memory (sm_90).

Manual: "barrier.cluster", "mapa", "getctarank"; "mbarrier.arrive".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.registers.operands import AddressOperand, as_integer
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import pred as predicate
from pyptx_dsl.types import u32, u64
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType

__all__ = ["Cluster", "cluster"]

_MOST_BLOCKS = 16
_ARRIVE = InstructionForms("ptx.cluster.arrive", "barrier.cluster.arrive")
_MAP = InstructionForms("ptx.cluster.map_shared", "mapa")
_RANK = InstructionForms("ptx.cluster.rank_of", "getctarank")
_WAIT = InstructionForms("ptx.cluster.wait", "barrier.cluster.wait")
_REMOTE_ARRIVE = ("mbarrier", "arrive", "release", "cluster", "shared::cluster", "b64")


class Cluster:
    """Operations across the CTAs of a cluster; each call emits one instruction unless stated otherwise."""

    @emits("barrier.cluster.arrive")
    def arrive(self, *, aligned: bool = False, sem: str | None = None, pred: Reg | None = None) -> None:
        """Emit `barrier.cluster.arrive{.sem}{.aligned};`.

        `sem` is `release` (the default of the instruction) or `relaxed`. `aligned` requires a converged warp.
        """
        active("ptx.cluster.arrive").emit(_ARRIVE.words(sem=sem, aligned=aligned), (), pred)

    @emits("barrier.cluster.wait", acquire="sem")
    def wait(self, *, aligned: bool = False, acquire: bool = False, pred: Reg | None = None) -> None:
        """Emit `barrier.cluster.wait{.acquire}{.aligned};`: wait until all threads of the cluster have arrived."""
        words = _WAIT.words(sem="acquire" if acquire else None, aligned=aligned)
        active("ptx.cluster.wait").emit(words, (), pred)

    def sync(self, *, aligned: bool = False, pred: Reg | None = None) -> None:
        """Emit `barrier.cluster.arrive` and `barrier.cluster.wait`."""
        self.arrive(aligned=aligned, pred=pred)
        self.wait(aligned=aligned, pred=pred)

    def rank(self, cta_rank: object) -> Reg:
        """Return the predicate that this CTA has rank `cta_rank` in its cluster. Emits two instructions.

        `mov.u32 r, %cluster_ctarank;` and `setp.eq.u32 p, r, cta_rank;`.
        """
        trace = active("ptx.cluster.rank")
        own, same = trace.fresh(u32), trace.fresh(predicate)
        trace.emit(("mov", "u32"), (own, "%cluster_ctarank"))
        trace.emit(("setp", "eq", "u32"), (same, own, cta_rank))
        return same

    @emits("mapa.u32")
    def map_shared_u32(
        self,
        bar_addr: object,
        cta_id: object,
        dst: Reg | None = None,
        *,
        space: str | None = "shared::cluster",
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mapa.shared::cluster.u32 d, addr, cta_id;` and return `d`: the same offset in another CTA.

        `bar_addr` is a 32-bit register or a shared variable; with `space=None` a generic address, if addresses have 32
        bits. Raise RegisterTypeError for another register.
        """
        trace = active("ptx.cluster.map_shared_u32")
        return _mapped(trace, _MAP.words(u32, space=space), bar_addr, cta_id, dst, pred)

    @emits("mapa.u64")
    def map_shared_u64(
        self,
        address: Reg,
        cta_id: object,
        dst: Reg | None = None,
        *,
        space: str | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mapa.u64 d, addr, cta_id;` for a generic address, or one in `space` `shared::cluster`; return `d`."""
        trace = active("ptx.cluster.map_shared_u64")
        words = _MAP.words(u64, space=space)
        result = trace.fresh(u64) if dst is None else dst
        trace.emit(words, (result, address, cta_id), pred)
        return result

    @emits("getctarank")
    def rank_of(
        self,
        address: object,
        dst: Reg | None = None,
        *,
        dtype: PtxType | None = None,
        space: str | None = "auto",
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `getctarank{.shared::cluster}.type d, addr;` and return `d`: the rank of the CTA that owns an address.

        `address` is a register or a shared variable. A 32-bit address (`dtype` sets a variable's width) is in
        `.shared::cluster`, a 64-bit address is generic, unless `space` is given (None is generic).
        """
        trace = active("ptx.cluster.rank_of")
        known = address.dtype if isinstance(address, Reg) else u32
        width = u64 if (dtype or known).bits == u64.bits else u32
        if space == "auto":
            space = "shared::cluster" if width is u32 else None
        words = _RANK.words(width, space=space)
        result = trace.fresh(u32) if dst is None else dst
        trace.emit(words, (result, address), pred)
        return result

    def arrive_remote(self, bar_addr: object, cta_id: object, count: object = 1, *, pred: Reg | None = None) -> None:
        """Arrive at another CTA's mbarrier, at the offset of `bar_addr`. Emits two instructions.

        `mapa.shared::cluster.u32 r, addr, cta_id;` and `mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r],
        count;`.
        """
        trace = active("ptx.cluster.arrive_remote")
        remote = _mapped(trace, _MAP.words(u32, space="shared::cluster"), bar_addr, cta_id, None, pred)
        trace.emit(_REMOTE_ARRIVE, (tree.Sink(), AddressOperand(remote), count), pred)

    def arrive_multicast(self, bar_addr: object, mask: int, count: object = 1, *, pred: Reg | None = None) -> None:
        """Arrive at the mbarrier at the offset of `bar_addr` in each CTA whose bit of `mask` is set.

        Emits two instructions per CTA. PTX has no multicast arrive before sm_107, so `mask` is a constant, and each CTA
        needs its own arrive instruction.
        """
        bits = as_integer(mask)
        if bits is None or not 0 < bits < 1 << _MOST_BLOCKS:
            raise OperandError(
                "ptx.cluster.arrive_multicast: mask must be a constant with a bit for each of up to "
                f"{_MOST_BLOCKS} CTAs, got {mask!r}",
                help="use arrive_remote for a rank in a register",
            )
        for rank in range(_MOST_BLOCKS):
            if bits >> rank & 1:
                self.arrive_remote(bar_addr, rank, count, pred=pred)


def _mapped(
    trace: Trace, words: tuple[str, ...], address: object, cta_id: object, dst: Reg | None, guard: Reg | None
) -> Reg:
    if isinstance(address, Reg) and (address.dtype.bits != u32.bits or not address.dtype.is_integer):
        raise RegisterTypeError(
            f"a shared address must have 32 bits, got the {address.dtype} register {address.raw_name}",
            help="use ptx.cluster.map_shared_u64 for a generic address",
        )
    if isinstance(address, AddressOperand):
        raise OperandError(
            "mapa needs an address, not the memory operand ptx.addr(…)", help="pass the address register itself"
        )
    result = trace.fresh(u32) if dst is None else dst
    trace.emit(words, (result, address, cta_id), guard)
    return result


cluster = Cluster()
