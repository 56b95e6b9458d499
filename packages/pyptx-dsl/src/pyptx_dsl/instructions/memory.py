"""Loads, stores, prefetches, cache policies. Manual: "Data Movement and Conversion Instructions"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.compare import literal
from pyptx_dsl.instructions.spelling import choice, ptx_type
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_dsl.trace_context import active

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
    "space_words",
    "st",
]

Registers: TypeAlias = Reg | RegArray | Sequence[Reg]
"""One register, or several that are loaded or stored together."""

_LD_SPACES = (
    *("global", "shared", "shared::cta", "shared::cluster", "local", "const"),
    *("param", "param::entry", "param::func", "generic"),
)
_ST_SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::func", "generic")
_LD_CACHE = ("ca", "cg", "cs", "lu", "cv")
_ST_CACHE = ("wb", "cg", "cs", "wt")
_LD_SEM = ("weak", "volatile", "relaxed", "acquire")
_ST_SEM = ("weak", "volatile", "relaxed", "release")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_EVICT_L1 = ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
_EVICT_L2 = ("evict_normal", "evict_first", "evict_last")
_PREFETCH = ("64B", "128B", "256B")
_VECTORS = {1: (), 2: ("v2",), 4: ("v4",), 8: ("v8",)}


def space_words(space: str, spaces: Sequence[str]) -> tuple[str, ...]:
    """Return the word of a state space; none for `generic`."""
    word = choice("space", to_ptx(space), spaces)
    return () if word == "generic" else (word,)


def ld(
    dtype: PtxType,
    dst: Registers,
    addr: object,
    *,
    space: str = "global",
    cache: str | None = None,
    sem: str | None = None,
    scope: str | None = None,
    nc: bool = False,
    evict_l1: str | None = None,
    evict_l2: str | None = None,
    prefetch: str | None = None,
    cache_policy: Reg | None = None,
    pred: Reg | None = None,
) -> Registers:
    """Emit `ld{.sem{.scope}}{.space}{.cache}{.nc}….type d, [addr];` and return `d`.

    A list of 2, 4 or 8 registers (or a RegArray) loads a vector: `.v4.type {…}`, from an address aligned to its whole
    size. `addr` is `ptx.addr(…)`, a register, a symbol or a shared allocation. Types without a load of their own move
    as bits (`f16`: `b16`).

    space: global, shared (also ::cta, ::cluster), local, const, param, or generic.
    cache: `ca cg cs lu cv`. sem: `weak volatile relaxed acquire`; the last two need a scope (`cta cluster gpu sys`).
    nc: read through the read-only cache. evict_l1, evict_l2: eviction priorities. prefetch: `64B 128B 256B` into L2.
    cache_policy: a 64-bit register of `ptx.createpolicy`.

    Manual: "ld", "ld.global.nc".
    """
    words = ["ld", *_order(sem, scope, _LD_SEM), *space_words(space, _LD_SPACES)]
    if cache is not None:
        words.append(choice("cache", cache, _LD_CACHE))
    if nc:
        words.append("nc")
    words += _hints(evict_l1, evict_l2, cache_policy)
    if prefetch is not None:
        words.append(f"L2::{choice('prefetch', prefetch, _PREFETCH)}")
    vector, operand = _vector(dst)
    words += (*vector, _memory_word(ptx_type(dtype, "ptx.ld")))
    operands = (operand, as_address(addr)) if cache_policy is None else (operand, as_address(addr), cache_policy)
    active("ptx.ld").emit(tuple(words), operands, pred)
    return dst


def ldu(dtype: PtxType, dst: Registers, addr: object, *, space: str = "global", pred: Reg | None = None) -> Registers:
    """Emit `ldu{.global}{.vec}.type d, [addr];`: a load of an address that all threads of a warp share. Return `d`.

    Manual: "ldu".
    """
    vector, operand = _vector(dst)
    words = ("ldu", *space_words(space, ("global", "generic")), *vector, _memory_word(ptx_type(dtype, "ptx.ldu")))
    active("ptx.ldu").emit(words, (operand, as_address(addr)), pred)
    return dst


def st(
    dtype: PtxType,
    addr: object,
    src: object,
    *,
    space: str = "global",
    cache: str | None = None,
    sem: str | None = None,
    scope: str | None = None,
    evict_l1: str | None = None,
    evict_l2: str | None = None,
    cache_policy: Reg | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit `st{.sem{.scope}}{.space}{.cache}….type [addr], src;`.

    `src` is a register, a number, or a list of 2, 4 or 8 (a vector: the address must be aligned to its whole size).

    space: global, shared (also ::cta, ::cluster), local, param, or generic. cache: `wb cg cs wt`.
    sem: `weak volatile relaxed release`; the last two need a scope (`cta cluster gpu sys`).
    evict_l1, evict_l2, cache_policy: as for `ptx.ld`.

    Manual: "st".
    """
    checked = ptx_type(dtype, "ptx.st")
    words = ["st", *_order(sem, scope, _ST_SEM), *space_words(space, _ST_SPACES)]
    if cache is not None:
        words.append(choice("cache", cache, _ST_CACHE))
    words += _hints(evict_l1, evict_l2, cache_policy)
    vector, operand = _vector(src)
    words += (*vector, _memory_word(checked))
    if isinstance(operand, list):
        operand = [literal(checked, value) for value in cast("list[object]", operand)]
    else:
        operand = literal(checked, operand)
    operands = (as_address(addr), operand) if cache_policy is None else (as_address(addr), operand, cache_policy)
    active("ptx.st").emit(tuple(words), operands, pred)


def _order(sem: str | None, scope: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """Return the words of the memory order; scope goes with the strong ones."""
    if sem is None and scope is None:
        return ()
    needs_scope = sem is not None and choice("sem", sem, known) in known[2:]
    if needs_scope != (scope is not None):
        raise OperandError(
            f"sem={sem!r} and scope={scope!r} do not go together",
            hint=f"{' and '.join(known[2:])} need a scope ({', '.join(_SCOPES)}), and only they have one",
        )
    words = () if sem is None else (sem,)
    return words if scope is None else (*words, choice("scope", scope, _SCOPES))


def _hints(evict_l1: str | None, evict_l2: str | None, policy: Reg | None) -> tuple[str, ...]:
    """Return the words of the eviction priorities and of the cache policy."""
    words = list[str]()
    if evict_l1 is not None:
        words.append(f"L1::{choice('evict_l1', evict_l1, _EVICT_L1)}")
    if evict_l2 is not None:
        words.append(f"L2::{choice('evict_l2', evict_l2, _EVICT_L2)}")
    if policy is not None:
        words.append("L2::cache_hint")
    return tuple(words)


def _vector(value: object) -> tuple[tuple[str, ...], object]:
    """Return the vector word for a number of registers, and the operand."""
    if isinstance(value, RegArray | list | tuple):
        items = list(cast("Sequence[object]", value))
        word = _VECTORS.get(len(items))
        if word is None:
            raise OperandError(f"a vector has 2, 4 or 8 elements, not {len(items)}")
        return word, items if word else items[0]
    return (), value


def _memory_word(dtype: PtxType) -> str:
    if dtype.memory is None:
        raise RegisterTypeError(f"{dtype} is not in memory", hint="load a u8 and compare it with 0, or select a u8")
    return dtype.memory


def prefetch(
    addr: object, level: str = "L1", *, space: str = "global", evict: str | None = None, pred: Reg | None = None
) -> None:
    """Emit `prefetch{.space}.level [addr];`; `level` is L1 or L2, the space global, local or generic.

    With `evict` (`evict_last`, `evict_normal`) emit `prefetch.global.L2::evict [addr];`. Manual: "prefetch, prefetchu".
    """
    where = space_words(space, ("global", "local", "generic"))
    word = choice("level", level, ("L1", "L2"))
    if evict is not None:
        word = f"{word}::{choice('evict', evict, ('evict_last', 'evict_normal'))}"
    active("ptx.prefetch").emit(("prefetch", *where, word), (as_address(addr),), pred)


def prefetchu(addr: object, *, pred: Reg | None = None) -> None:
    """Emit `prefetchu.L1 [addr];`: a generic address into the uniform cache. Manual: "prefetch, prefetchu"."""
    active("ptx.prefetchu").emit(("prefetchu", "L1"), (as_address(addr),), pred)


def discard(addr: object, size: int = 128, *, space: str = "global", pred: Reg | None = None) -> None:
    """Emit `discard{.global}.L2 [addr], size;`: drop a line of L2 without writing it back. Manual: "discard"."""
    words = ("discard", *space_words(space, ("global", "generic")), "L2")
    active("ptx.discard").emit(words, (as_address(addr), size), pred)


def applypriority(addr: object, size: int = 128, *, space: str = "global", pred: Reg | None = None) -> None:
    """Emit `applypriority{.global}.L2::evict_normal [addr], size;`. Manual: "applypriority"."""
    words = ("applypriority", *space_words(space, ("global", "generic")), "L2::evict_normal")
    active("ptx.applypriority").emit(words, (as_address(addr), size), pred)


_POINTED = ("const", "global", "local", "shared", "shared::cta", "shared::cluster", "param", "param::entry")


def isspacep(space: str, pred_out: Reg, address: object, *, pred: Reg | None = None) -> Reg:
    """Emit `isspacep.space p, a;` and return `p`: whether a generic address points into a state space.

    Manual: "isspacep".
    """
    words = ("isspacep", *space_words(space, _POINTED))
    active("ptx.isspacep").emit(words, (pred_out, address), pred)
    return pred_out


_PRIMARY = ("evict_last", "evict_normal", "evict_first", "evict_unchanged")
_SECONDARY = ("evict_first", "evict_unchanged")


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
        words = ("createpolicy", "fractional", *self._priorities(primary, secondary), "b64")
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
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `createpolicy.range.global.L2::primary{.L2::secondary}.b64 d, [addr], primary_size, total_size;`."""
        words = ("createpolicy", "range", "global", *self._priorities(primary, secondary), "b64")
        active("ptx.createpolicy").emit(words, (dst, as_address(addr), primary_size, total_size), pred)
        return dst

    def cvt(self, dst: Reg, access_property: object, *, pred: Reg | None = None) -> Reg:
        """Emit `createpolicy.cvt.L2.b64 d, access_property;` and return `d`."""
        active("ptx.createpolicy").emit(("createpolicy", "cvt", "L2", "b64"), (dst, access_property), pred)
        return dst

    def _priorities(self, primary: str, secondary: str | None) -> tuple[str, ...]:
        first = f"L2::{choice('primary', primary, _PRIMARY)}"
        return (first,) if secondary is None else (first, f"L2::{choice('secondary', secondary, _SECONDARY)}")


createpolicy = CreatePolicy()
