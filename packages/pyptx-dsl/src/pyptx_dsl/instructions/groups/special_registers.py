"""Special registers: `ptx.special.tid.x()`, `ptx.sreg("%smid")`.

These calls emit nothing. Special registers are read-only operands of `mov` and `cvt`; Python operators copy them first.
Manual: chapter "Special Registers".
"""

from __future__ import annotations

from functools import lru_cache

from pyptx_dsl.errors import OperandError, close
from pyptx_dsl.registers.register import Reg, SpecialReg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import PtxType, from_name, u32
from pyptx_ir.isa.special_registers import special_registers

__all__ = ["Dimensions", "Single", "ctaid_x", "ctaid_y", "ctaid_z", "global_id", "special", "sreg"]


@lru_cache(maxsize=1)
def _types() -> dict[str, PtxType]:
    """Return the type of each special register by name, without the `.w` components, which are always 0."""
    return {name: from_name(word) for name, word in special_registers().items() if not name.endswith(".w")}


def sreg(name: str) -> Reg:
    """Return a special register by its name, with or without the `%`: `ptx.sreg("%clusterid.x")`.

    The operand has type u64 for `%clock64` and `%globaltimer`, a predicate for `%is_explicit_cluster`, u32 for most.
    Raise OperandError for an unknown name.
    """
    full = name if name.startswith("%") else f"%{name}"
    dtype = _types().get(full)
    if dtype is None:
        raise OperandError(f"unknown special register {name!r}", help=close(full, tuple(_types())))
    return SpecialReg(full, dtype, active("ptx.sreg"))


class Dimensions:
    """A special register with components `x`, `y` and `z`, each a method."""

    def __init__(self, name: str) -> None:
        """Store the name of the special register, without `%` and without component: `tid`."""
        self._name = name

    def x(self) -> Reg:
        """Return the special register's component `.x`, u32."""
        return sreg(f"%{self._name}.x")

    def y(self) -> Reg:
        """Return the special register's component `.y`, u32."""
        return sreg(f"%{self._name}.y")

    def z(self) -> Reg:
        """Return the special register's component `.z`, u32."""
        return sreg(f"%{self._name}.z")

    def __repr__(self) -> str:
        return f"ptx.special.{self._name}"


class Single:
    """A special register without components; a call returns the register."""

    def __init__(self, name: str) -> None:
        """Store the name of the special register, without `%`: `laneid`."""
        self._name = name

    def __call__(self) -> Reg:
        """Return the special register as an operand, in its own type."""
        return sreg(f"%{self._name}")

    def __repr__(self) -> str:
        return f"ptx.special.{self._name}"


class Special:
    """The special registers by name; each is a function: `tid.x()`, `laneid()`."""

    tid = Dimensions("tid")
    ntid = Dimensions("ntid")
    ctaid = Dimensions("ctaid")
    nctaid = Dimensions("nctaid")
    clusterid = Dimensions("clusterid")
    nclusterid = Dimensions("nclusterid")
    cluster_ctaid = Dimensions("cluster_ctaid")
    cluster_nctaid = Dimensions("cluster_nctaid")
    cluster_ctarank = Single("cluster_ctarank")
    cluster_nctarank = Single("cluster_nctarank")
    is_explicit_cluster = Single("is_explicit_cluster")
    laneid = Single("laneid")
    warpid = Single("warpid")
    nwarpid = Single("nwarpid")
    smid = Single("smid")
    nsmid = Single("nsmid")
    gridid = Single("gridid")
    lanemask_eq = Single("lanemask_eq")
    lanemask_le = Single("lanemask_le")
    lanemask_lt = Single("lanemask_lt")
    lanemask_ge = Single("lanemask_ge")
    lanemask_gt = Single("lanemask_gt")
    clock = Single("clock")
    clock_hi = Single("clock_hi")
    clock64 = Single("clock64")
    globaltimer = Single("globaltimer")
    globaltimer_lo = Single("globaltimer_lo")
    globaltimer_hi = Single("globaltimer_hi")
    total_smem_size = Single("total_smem_size")
    aggr_smem_size = Single("aggr_smem_size")
    dynamic_smem_size = Single("dynamic_smem_size")
    current_graph_exec = Single("current_graph_exec")

    def envreg(self, number: int) -> Reg:
        """Return `%envreg<number>`, 0 to 31."""
        return sreg(f"%envreg{number}")

    def pm(self, number: int) -> Reg:
        """Return the performance counter `%pm<number>`, 0 to 7."""
        return sreg(f"%pm{number}")

    def pm_64(self, number: int) -> Reg:
        """Return the 64-bit performance counter `%pm<number>_64`, 0 to 7."""
        return sreg(f"%pm{number}_64")


special = Special()


def ctaid_x() -> Reg:
    """Return `%ctaid.x`."""
    return special.ctaid.x()


def ctaid_y() -> Reg:
    """Return `%ctaid.y`."""
    return special.ctaid.y()


def ctaid_z() -> Reg:
    """Return `%ctaid.z`."""
    return special.ctaid.z()


def global_id(axis: str = "x") -> Reg:
    """Return the thread's index in the grid along an axis, a fresh u32 register: `ctaid * ntid + tid`.

    Emits four instructions, three `mov.u32` of the special registers and one `mad.lo.u32`. The index wraps at 2^32. In
    pointer arithmetic, `p + i * 4`, the index is widened first.
    """
    trace = active("ptx.global_id")
    if axis not in {"x", "y", "z"}:
        raise OperandError(f"ptx.global_id: invalid axis {axis!r}", help='use "x", "y" or "z"')
    parts = [trace.fresh(u32) for _ in range(3)]
    for part, name in zip(parts, ("ctaid", "ntid", "tid"), strict=True):
        trace.emit(("mov", "u32"), (part, sreg(f"%{name}.{axis}")))
    result = trace.fresh(u32)
    trace.emit(("mad", "lo", "u32"), (result, *parts))
    return result
