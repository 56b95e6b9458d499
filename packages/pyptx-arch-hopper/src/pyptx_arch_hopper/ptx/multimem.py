"""`ptx.multimem`: multimem addresses, which refer to memory of several devices (sm_90). Manual: "multimem.…"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_arch_hopper.ptx.operands import copied_bytes, present
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.types import PtxType

__all__ = ["Multimem", "MultimemCopy", "MultimemReduction", "Values", "multimem"]

Values: TypeAlias = Reg | RegArray | Sequence[Reg]
"""Value operand of a multimem access: one register, or the registers of a vector."""

_LENGTHS = (2, 4, 8)
_COPY = InstructionForms("ptx.multimem.cp.async_.bulk", "multimem.cp.async.bulk")
_REDUCE = InstructionForms("ptx.multimem.cp.reduce.bulk", "multimem.cp.reduce.async.bulk")
_LOAD = InstructionForms("ptx.multimem.ld_reduce", "multimem.ld_reduce")
_STORE = InstructionForms("ptx.multimem.st", "multimem.st")
_STORE_ASYNC = InstructionForms("ptx.multimem.st_async", "multimem.st.async")
_RED = InstructionForms("ptx.multimem.red", "multimem.red")
_RED_ASYNC = InstructionForms("ptx.multimem.red_async", "multimem.red.async")


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
        words = _COPY.words(sem=sem, scope=scope, cp_mask=byte_mask is not None)
        operands = (as_address(dst), as_address(src), copied_bytes(size), *present(byte_mask))
        active(repr(_COPY)).emit(words, operands, pred)


class MultimemReduction:
    """`ptx.multimem.cp.reduce`: bulk reductions from shared memory into all devices (PTX 9.1)."""

    @emits("multimem.cp.reduce.async.bulk")
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

        `scope` emits `.relaxed.scope` (PTX 9.3).
        """
        sem = None if scope is None else "relaxed"
        words = _REDUCE.words(dtype, op=op, noftz=noftz, sem=sem, scope=scope)
        operands = (as_address(dst), as_address(src), copied_bytes(size))
        active(repr(_REDUCE)).emit(words, operands, pred)


class MultimemCopies:
    """Namespace `ptx.multimem.cp`: bulk copies and reductions to all devices."""

    async_ = MultimemCopy()
    reduce = MultimemReduction()


class Multimem:
    """Loads, stores and reductions on multimem addresses; each call emits one instruction.

    `sem` and `scope` (`cta`, `cluster`, `gpu`, `sys`) are given together: `relaxed` or `acquire` for loads, `relaxed`
    or `release` for stores and reductions; otherwise loads and stores are `weak`. None emits no modifier. `space` is
    global, or None for a generic address. Floating-point types are f16, bf16 (vectors of 2, 4, 8), f16x2, bf16x2
    (scalar, vectors of 2, 4), f32 (scalar, vectors of 2, 4; only `add`) and f64 (only `add`); integers are scalar.
    """

    cp = MultimemCopies()

    def ld_reduce(
        self,
        op: str,
        dtype: PtxType,
        dst: Values,
        addr: object,
        *,
        sem: str | None = "weak",
        scope: str | None = None,
        space: str | None = "global",
        acc: str | None = None,
        pred: Reg | None = None,
    ) -> Values:
        """Emit `multimem.ld_reduce{.weak|.sem.scope}.global.op{.acc}{.vec}.type d, [addr];` and return `d`.

        Load from all devices and reduce by `op`: `add`, `min`, `max`, `and`, `or`, `xor`. `acc="f32"` adds f16 and bf16
        in f32.
        """
        vector, operand = _vector(_LOAD, dst)
        words = _LOAD.words(dtype, op=op, acc=acc, sem=_order(sem, scope), scope=scope, space=space, vec=vector)
        active(repr(_LOAD)).emit(words, (operand, as_address(addr)), pred)
        return dst

    def st(
        self,
        dtype: PtxType,
        addr: object,
        src: Values,
        *,
        sem: str | None = "weak",
        scope: str | None = None,
        space: str | None = "global",
        pred: Reg | None = None,
    ) -> None:
        """Emit `multimem.st{.weak|.sem.scope}.global{.vec}.type [addr], b;`: store to all devices."""
        vector, operand = _vector(_STORE, src)
        words = _STORE.words(dtype, sem=_order(sem, scope), scope=scope, space=space, vec=vector)
        active(repr(_STORE)).emit(words, (as_address(addr), operand), pred)

    def red(
        self,
        op: str,
        dtype: PtxType,
        addr: object,
        src: Values,
        *,
        sem: str | None = "relaxed",
        scope: str | None = "gpu",
        space: str | None = "global",
        pred: Reg | None = None,
    ) -> None:
        """Emit `multimem.red.sem.scope.global.op{.vec}.type [addr], b;`: reduce into the memory of all devices."""
        vector, operand = _vector(_RED, src)
        words = _RED.words(dtype, op=op, sem=sem, scope=scope, space=space, vec=vector)
        active(repr(_RED)).emit(words, (as_address(addr), operand), pred)

    @emits("multimem.st.async")
    def st_async(
        self,
        dtype: PtxType,
        addr: object,
        src: object,
        *,
        scope: str = "gpu",
        space: str | None = "global",
        pred: Reg | None = None,
    ) -> None:
        """Emit `multimem.st.async.release.scope{.global}.type [addr], b;`; `scope` is gpu or sys (PTX 9.3, sm_100)."""
        words = _STORE_ASYNC.words(dtype, sem="release", scope=scope, space=space)
        active(repr(_STORE_ASYNC)).emit(words, (as_address(addr), src), pred)

    @emits("multimem.red.async")
    def red_async(
        self,
        op: str,
        dtype: PtxType,
        addr: object,
        src: object,
        *,
        scope: str = "gpu",
        space: str | None = "global",
        pred: Reg | None = None,
    ) -> None:
        """Emit `multimem.red.async.release.scope{.global}.op.type [addr], b;`; `op` is add (PTX 9.3, sm_100)."""
        words = _RED_ASYNC.words(dtype, op=op, sem="release", scope=scope, space=space)
        active(repr(_RED_ASYNC)).emit(words, (as_address(addr), src), pred)


def _order(sem: str | None, scope: str | None) -> str | None:
    """Return the memory-semantics modifier of an access; None instead of "weak" if the access has a scope."""
    return None if sem == "weak" and scope is not None else sem


def _vector(instruction: InstructionForms, value: Values) -> tuple[str | None, object]:
    if isinstance(value, Reg):
        return None, value
    registers = list(cast("Sequence[Reg]", value))
    if len(registers) not in _LENGTHS:
        raise OperandError(f"{instruction!r} takes 1, 2, 4 or 8 registers, got {len(registers)}")
    return f"v{len(registers)}", registers


multimem = Multimem()
