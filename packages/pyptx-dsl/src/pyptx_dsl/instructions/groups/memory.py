"""Loads, stores, prefetches, cache policies. Manual: "Data Movement and Conversion Instructions"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, ptx_type
from pyptx_dsl.instructions.groups.compare import literal
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import from_name

if TYPE_CHECKING:
    from pyptx_dsl.types import PtxType

__all__ = [
    "applypriority",
    "createpolicy",
    "discard",
    "isspacep",
    "ld",
    "ldu",
    "prefetch",
    "prefetchu",
    "st",
]

Registers: TypeAlias = Reg | RegArray | Sequence[Reg]
"""One register, or the registers of a vector that one instruction loads or stores."""

_FORMATS = frozenset({"float", "packed"})
_VECTORS = {2: "v2", 4: "v4", 8: "v8"}
_LD = InstructionForms("ptx.ld", "ld")
_LDU = InstructionForms("ptx.ldu", "ldu")
_ST = InstructionForms("ptx.st", "st")
_PREFETCH = InstructionForms("ptx.prefetch", "prefetch")
_DISCARD = InstructionForms("ptx.discard", "discard")
_APPLY_PRIORITY = InstructionForms("ptx.applypriority", "applypriority")
_IS_SPACE = InstructionForms("ptx.isspacep", "isspacep")
_FRACTIONAL = InstructionForms("ptx.createpolicy.fractional", "createpolicy.fractional")
_RANGE = InstructionForms("ptx.createpolicy.range_", "createpolicy.range")


@emits(cache_policy="policy", readonly="proxy_readonly")
def ld(
    dtype: PtxType,
    dst: Registers,
    addr: object,
    *,
    space: str | None = "global",
    cache: str | None = None,
    sem: str | None = None,
    scope: str | None = None,
    nc: bool = False,
    evict_l1: str | None = None,
    evict_l2: str | None = None,
    prefetch: str | None = None,
    cache_policy: Reg | None = None,
    mmio: bool = False,
    readonly: bool = False,
    pred: Reg | None = None,
) -> Registers:
    """Emit `ld{.sem{.scope}}{.space}{.cache}{.nc}….type d, [addr];` and return `d`.

    A list of 2, 4 or 8 registers (or a RegArray) loads a vector: `.v4.type {…}`, from an address aligned to its total
    size. `addr` is `ptx.addr(…)`, a register, a symbol or a shared allocation. Types that `ld` does not support are
    loaded as untyped bits (`f16`: `b16`).

    space: `global shared shared::cta shared::cluster local const param param::entry param::func`, or generic (None).
    cache: `ca cg cs lu cv`. sem: `weak volatile relaxed acquire`; the last two need a scope (`cta cluster gpu sys`).
    nc: read through the read-only cache; readonly: through the read-only proxy (PTX 9.4, sm_90). evict_l1, evict_l2:
    eviction priorities. prefetch: `64B 128B 256B` into L2. cache_policy: a 64-bit register of `ptx.createpolicy`. mmio:
    memory-mapped I/O (with `sem` and `scope="sys"`; PTX 8.2, sm_70).

    Manual: "ld", "ld.global.nc".
    """
    checked = _in_memory(dtype, "ptx.ld")
    vector, operand = _vector(dst)
    _check_formats(dtype, operand, "ptx.ld")
    words = _LD.words(
        checked,
        sem=sem,
        scope=scope,
        space=space,
        cache=cache,
        nc=nc,
        evict_l1=evict_l1,
        evict_l2=evict_l2,
        prefetch=prefetch,
        cache_hint=cache_policy is not None,
        mmio=mmio,
        proxy_readonly=readonly,
        vec=vector,
    )
    operands = (operand, as_address(addr)) if cache_policy is None else (operand, as_address(addr), cache_policy)
    active("ptx.ld").emit(words, operands, pred)
    return dst


def ldu(
    dtype: PtxType, dst: Registers, addr: object, *, space: str | None = "global", pred: Reg | None = None
) -> Registers:
    """Emit `ldu{.global}{.vec}.type d, [addr];`: a load from an address that is uniform in the warp. Return `d`.

    Manual: "ldu".
    """
    vector, operand = _vector(dst)
    _check_formats(dtype, operand, "ptx.ldu")
    words = _LDU.words(_in_memory(dtype, "ptx.ldu"), space=space, vec=vector)
    active("ptx.ldu").emit(words, (operand, as_address(addr)), pred)
    return dst


@emits(cache_policy="policy")
def st(
    dtype: PtxType,
    addr: object,
    src: object,
    *,
    space: str | None = "global",
    cache: str | None = None,
    sem: str | None = None,
    scope: str | None = None,
    evict_l1: str | None = None,
    evict_l2: str | None = None,
    cache_policy: Reg | None = None,
    mmio: bool = False,
    pred: Reg | None = None,
) -> None:
    """Emit `st{.sem{.scope}}{.space}{.cache}….type [addr], src;`.

    `src` is a register, a number, or a list of 2, 4 or 8 (a vector: the address must be aligned to its total size).

    space: `global shared shared::cta shared::cluster local param param::func`, or generic (None). cache: `wb cg cs wt`.
    sem: `weak volatile relaxed release`; the last two need a scope (`cta cluster gpu sys`). evict_l1, evict_l2,
    cache_policy, mmio: as for `ptx.ld`.

    Manual: "st".
    """
    checked = ptx_type(dtype, "ptx.st")
    vector, operand = _vector(src)
    _check_formats(checked, operand, "ptx.st")
    words = _ST.words(
        _in_memory(dtype, "ptx.st"),
        sem=sem,
        scope=scope,
        space=space,
        cache=cache,
        evict_l1=evict_l1,
        evict_l2=evict_l2,
        cache_hint=cache_policy is not None,
        mmio=mmio,
        vec=vector,
    )
    if isinstance(operand, list):
        operand = [literal(checked, value) for value in cast("list[object]", operand)]
    else:
        operand = literal(checked, operand)
    operands = (as_address(addr), operand) if cache_policy is None else (as_address(addr), operand, cache_policy)
    active("ptx.st").emit(words, operands, pred)


def _vector(value: object) -> tuple[str | None, object]:
    """Return the modifier `v2`, `v4` or `v8` and the list of a vector's values, or None and the single value."""
    if not isinstance(value, RegArray | list | tuple):
        return None, value
    items = list(cast("Sequence[object]", value))
    if len(items) == 1:
        return None, items[0]
    if len(items) not in _VECTORS:
        raise OperandError(f"a vector must have 2, 4 or 8 elements, got {len(items)}")
    return _VECTORS[len(items)], items


def _check_formats(dtype: PtxType, operand: object, what: str) -> None:
    """Raise RegisterTypeError for a register whose number format is not that of `dtype`: `ld` and `st` do not convert.

    Registers of integers and of untyped bits may contain any format; tf32 is stored as f32.
    """
    for each in cast("list[object]", operand) if isinstance(operand, list) else [operand]:
        if not isinstance(each, Reg) or each.dtype is dtype or {each.dtype.name, dtype.name} == {"f32", "tf32"}:
            continue
        if each.dtype.kind in _FORMATS and dtype.kind in _FORMATS:
            raise RegisterTypeError(
                f"{what}({dtype}, …): type mismatch with the {each.dtype} register {each.raw_name}",
                help="convert with ptx.cvt before the store, or load into a register of the type in memory",
            )


def _in_memory(dtype: object, what: str) -> PtxType:
    """Return the PTX type in which `ld` and `st` access values of type `dtype`: `b16` for f16."""
    checked = ptx_type(dtype, what)
    if checked.memory is None:
        raise RegisterTypeError(
            f"{checked} values cannot be loaded or stored",
            help="load a u8 and compare the u8 with 0, or store a u8 from ptx.selp",
        )
    return from_name(checked.memory)


def prefetch(
    addr: object, level: str = "L1", *, space: str | None = "global", evict: str | None = None, pred: Reg | None = None
) -> None:
    """Emit `prefetch{.space}.level [addr];`; `level` is L1 or L2, `space` is global, local or generic (None).

    With `evict` (`evict_last`, `evict_normal`) emit `prefetch.global.L2::evict [addr];`. The manual's level for TMA
    descriptors prefetches a descriptor (`space` const, param or generic; PTX 8.0, sm_90). `level="L1::32B"` emits
    `prefetch{.global}.L1::32B.valid_addr` (PTX 9.4). Manual: "prefetch, prefetchu".
    """
    words = _PREFETCH.words(space=space, level=level if evict is None else f"{level}::{evict}")
    active("ptx.prefetch").emit(words, (as_address(addr),), pred)


def prefetchu(addr: object, *, pred: Reg | None = None) -> None:
    """Emit `prefetchu.L1 [addr];`: prefetch a generic address to the uniform cache. Manual: "prefetch, prefetchu"."""
    active("ptx.prefetchu").emit(("prefetchu", "L1"), (as_address(addr),), pred)


def discard(addr: object, size: int = 128, *, space: str | None = "global", pred: Reg | None = None) -> None:
    """Emit `discard{.global}.L2 [addr], size;`: discard L2 data without writing it back. Manual: "discard"."""
    active("ptx.discard").emit(_DISCARD.words(space=space), (as_address(addr), size), pred)


def applypriority(addr: object, size: int = 128, *, space: str | None = "global", pred: Reg | None = None) -> None:
    """Emit `applypriority{.global}.L2::evict_normal [addr], size;`. Manual: "applypriority"."""
    active("ptx.applypriority").emit(_APPLY_PRIORITY.words(space=space), (as_address(addr), size), pred)


def isspacep(space: str, pred_out: Reg, address: object, *, pred: Reg | None = None) -> Reg:
    """Emit `isspacep.space p, a;` and return `p`: whether a generic address points into a state space.

    Manual: "isspacep".
    """
    active("ptx.isspacep").emit(_IS_SPACE.words(space=space), (pred_out, address), pred)
    return pred_out


class CreatePolicy:
    """Cache policies (64-bit) for `cache_policy=`; each method emits one `createpolicy`. Manual: "createpolicy"."""

    def fractional(
        self,
        dst: Reg,
        primary: str,
        secondary: str | None = None,
        *,
        fraction: float | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `createpolicy.fractional.L2::primary{.L2::secondary}.b64 d{, fraction};` and return `d`."""
        words = _FRACTIONAL.words(primary=primary, secondary=secondary)
        operands = (dst,) if fraction is None else (dst, literal(ptx_type("f32", "ptx.createpolicy"), fraction))
        active("ptx.createpolicy").emit(words, operands, pred)
        return dst

    def range_(
        self,
        dst: Reg,
        addr: object,
        primary_size: object,
        total_size: object,
        primary: str,
        secondary: str | None = None,
        *,
        space: str | None = "global",
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `createpolicy.range{.global}.L2::primary{.L2::secondary}.b64 d, [addr], primary_size, total_size;`."""
        words = _RANGE.words(space=space, primary=primary, secondary=secondary)
        active("ptx.createpolicy").emit(words, (dst, as_address(addr), primary_size, total_size), pred)
        return dst

    def cvt(self, dst: Reg, access_property: object, *, pred: Reg | None = None) -> Reg:
        """Emit `createpolicy.cvt.L2.b64 d, access_property;` and return `d`."""
        active("ptx.createpolicy").emit(("createpolicy", "cvt", "L2", "b64"), (dst, access_property), pred)
        return dst


createpolicy = CreatePolicy()
