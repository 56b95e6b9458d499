"""`ptx.multimem`: one address that stands for memory on several devices (sm_90). Manual: "multimem.…"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_arch_hopper.ptx.orders import SCOPES, copied_bytes, order
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.spelling import choice, ptx_type
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.types import PtxType

__all__ = ["Multimem", "MultimemCopy", "MultimemReduction", "Values", "multimem"]

Values: TypeAlias = Reg | RegArray | Sequence[Reg]
"""One register, or several that are loaded or stored together."""

_OPERATIONS = ("add", "min", "max", "and", "or", "xor")
_VECTORS = {2: ("v2",), 4: ("v4",), 8: ("v8",)}


class MultimemCopy:
    """`ptx.multimem.cp.async_`: bulk copies from shared memory to all devices (PTX 9.1)."""

    def bulk(
        self,
        dst: object,
        src: object,
        size: object,
        *,
        byte_mask: object | None = None,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `multimem.cp.async.bulk….global.shared::cta.bulk_group{.cp_mask} [dst], [src], size{, byte_mask};`.

        `sem` is `weak`, or `relaxed` with `scope` (PTX 9.3); `byte_mask` needs sm_100.
        """
        what = "ptx.multimem.cp.async_.bulk"
        words = ("multimem", "cp", "async", "bulk", *order(what, sem, scope), "global", "shared::cta", "bulk_group")
        masked = () if byte_mask is None else (byte_mask,)
        operands = (as_address(dst), as_address(src), copied_bytes(size), *masked)
        more = (*(("cp_mask",) if masked else ()), *(("b128",) if scope else ()))
        active(what).emit((*words, *more), operands, pred)


class MultimemReduction:
    """`ptx.multimem.cp.reduce`: bulk reductions from shared memory into all devices (PTX 9.1)."""

    def bulk(
        self,
        op: str,
        dtype: PtxType,
        dst: object,
        src: object,
        size: object,
        *,
        noftz: bool = False,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `multimem.cp.reduce.async.bulk….global.shared::cta.bulk_group.op{.noftz}.type [dst], [src], size;`.

        `scope` spells `.relaxed.scope` (PTX 9.3).
        """
        what = "ptx.multimem.cp.reduce.bulk"
        ordering = order(what, None if scope is None else "relaxed", scope)
        words = ("multimem", "cp", "reduce", "async", "bulk", *ordering, "global", "shared::cta", "bulk_group")
        kinds = (choice("op", op, (*_OPERATIONS, "inc", "dec")), *(("noftz",) if noftz else ()))
        operands = (as_address(dst), as_address(src), copied_bytes(size))
        active(what).emit((*words, *kinds, ptx_type(dtype, what).name), operands, pred)


class MultimemCopies:
    """`ptx.multimem.cp`."""

    async_ = MultimemCopy()
    reduce = MultimemReduction()


class Multimem:
    """Loads, stores and reductions on multimem addresses; each call emits one instruction.

    `sem` and `scope` (`cta`, `cluster`, `gpu`, `sys`) go together: `relaxed` or `acquire` for loads, `relaxed` or
    `release` for stores and reductions. Floating-point types are f16, bf16 (by 2, 4, 8), f16x2, bf16x2 (alone, by 2,
    4), f32 (alone, by 2, 4; only `add`) and f64 (only `add`); integers are alone.
    """

    cp = MultimemCopies()

    def ld_reduce(
        self,
        op: str,
        dtype: PtxType,
        dst: Values,
        addr: object,
        *,
        sem: str | None = None,
        scope: str | None = None,
        acc: str | None = None,
        pred: Reg | None = None,
    ) -> Values:
        """Emit `multimem.ld_reduce{.weak|.sem.scope}.global.op{.acc}{.vec}.type d, [addr];` and return `d`.

        Load from all devices and combine by `op`: `add`, `min`, `max`, `and`, `or`, `xor`. `acc="f32"` adds f16 and
        bf16 in that precision.
        """
        what = "ptx.multimem.ld_reduce"
        order = _order(what, sem, scope, ("relaxed", "acquire")) or ("weak",)
        precision = () if acc is None else (f"acc::{choice('acc', acc, ('f32', 'f16'))}",)
        vector, operand = _vector(what, dst)
        words = ("multimem", "ld_reduce", *order, "global", choice("op", op, _OPERATIONS), *precision, *vector)
        active(what).emit((*words, ptx_type(dtype, what).name), (operand, as_address(addr)), pred)
        return dst

    def st(
        self,
        dtype: PtxType,
        addr: object,
        src: Values,
        *,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `multimem.st{.weak|.sem.scope}.global{.vec}.type [addr], b;`: store to all devices."""
        what = "ptx.multimem.st"
        order = _order(what, sem, scope, ("relaxed", "release")) or ("weak",)
        vector, operand = _vector(what, src)
        words = ("multimem", "st", *order, "global", *vector, ptx_type(dtype, what).name)
        active(what).emit(words, (as_address(addr), operand), pred)

    def red(
        self,
        op: str,
        dtype: PtxType,
        addr: object,
        src: Values,
        *,
        sem: str = "relaxed",
        scope: str = "gpu",
        pred: Reg | None = None,
    ) -> None:
        """Emit `multimem.red.sem.scope.global.op{.vec}.type [addr], b;`: combine with the memory of all devices."""
        what = "ptx.multimem.red"
        vector, operand = _vector(what, src)
        order = _order(what, sem, scope, ("relaxed", "release"))
        words = ("multimem", "red", *order, "global", choice("op", op, _OPERATIONS), *vector)
        active(what).emit((*words, ptx_type(dtype, what).name), (as_address(addr), operand), pred)


def _order(what: str, sem: str | None, scope: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if sem is None and scope is None:
        return ()
    if sem is None or scope is None:
        raise OperandError(
            f"{what}: sem={sem!r} and scope={scope!r} go together", hint=f'sem="{known[0]}", scope="gpu"'
        )
    return (choice("sem", sem, known), choice("scope", scope, SCOPES))


def _vector(what: str, value: Values) -> tuple[tuple[str, ...], object]:
    if isinstance(value, Reg):
        return (), value
    registers = list(cast("Sequence[Reg]", value))
    if len(registers) not in _VECTORS:
        raise OperandError(f"{what} takes one, 2, 4 or 8 registers, not {len(registers)}")
    return _VECTORS[len(registers)], registers


multimem = Multimem()
