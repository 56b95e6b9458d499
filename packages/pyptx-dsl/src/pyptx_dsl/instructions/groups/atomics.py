"""Atomic operations on memory: `ptx.atom.add(u32, old, addr, 1)`, `ptx.red.add(f32, addr, x)`.

Manual: "Parallel Synchronization and Communication Instructions: atom, red".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import ptx_type
from pyptx_dsl.instructions.forms.wrapper import Wrapper
from pyptx_dsl.instructions.groups.compare import literal
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.registers.register import RegArray
from pyptx_dsl.trace_context import active
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.instructions.forms.row_forms import RowForm
    from pyptx_dsl.instructions.groups.memory import Registers
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["Atom", "AtomCas", "AtomOperation", "Red", "RedOperation", "atom", "red"]

_BRAINS = ("bf16", "bf16x2")


class _Atomic(Wrapper):
    """One operation of `atom` or `red`; the instruction table defines types, memory orders, scopes, state spaces."""

    def __init__(self, path: str, operation: str) -> None:
        """Create the function `ptx.<path>.<operation>`."""
        super().__init__(f"{path}.{operation}")
        self.head = path
        self.operation = to_ptx(operation)

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return f"Forms of `{self.head}` with `{self.operation}`."

    @property
    def forms(self) -> tuple[RowForm, ...]:
        """The forms of `atom` or `red` with this operation."""
        from pyptx_dsl.instructions.forms.row_forms import forms_of

        return tuple(form for form in forms_of(self.head) if self.operation in form.choices("op"))

    def _words(self, dtype: PtxType, value: object, policy: Reg | None, **order: str | bool | None) -> tuple[str, ...]:
        """Return the opcode for a type, and for `space`, `sem`, `scope` and `noftz`; a list as `value` adds `.vec`."""
        return self.words(dtype, op=self.operation, vec=_vector(value), cache_hint=policy is not None, **order)

    def _issue(
        self,
        dtype: PtxType,
        words: tuple[str, ...],
        target: tuple[object, ...],
        values: tuple[object, ...],
        policy: Reg | None,
        pred: Reg | None,
    ) -> None:
        """Emit the instruction; numbers become literals of the type `dtype`, lists become vectors."""
        sources = [_literals(dtype, value) for value in values]
        help = () if policy is None else (policy,)
        active(repr(self)).emit(words, (*target, *sources, *help), pred)


class AtomOperation(_Atomic):
    """An `atom` operation: atomically `d = [addr]; [addr] = operation(d, b)`."""

    @emits(cache_policy="policy")
    def __call__(
        self,
        dtype: PtxType,
        dst: Registers | None,
        addr: object,
        b: object,
        *,
        space: str | None = "global",
        sem: str | None = None,
        scope: str | None = None,
        noftz: bool = False,
        cache_policy: Reg | None = None,
        pred: Reg | None = None,
    ) -> Registers | None:
        """Emit `atom{.sem}{.scope}{.space}.op{.vec}.type d, [addr], b;` and return `d`; None as `dst` is the sink `_`.

        Lists of 2, 4 or 8 registers as `dst` and `b` are a vector of floats in global memory (from sm_90). `noftz`
        keeps subnormal results of f32 `add` (PTX 9.4); half-precision `add` always keeps them.
        """
        checked = ptx_type(dtype, repr(self))
        if dst is None and checked.name in _BRAINS:
            # ptxas 13.0 crashes on a bf16 `atom` whose destination is the sink `_`.
            raise OperandError(f"{self!r} of {checked} needs a destination", help=f"use ptx.red.{self.operation}")
        target: object = tree.Sink() if dst is None else dst
        words = self._words(checked, b, cache_policy, space=space, sem=sem, scope=scope, noftz=noftz)
        self._issue(checked, words, (target, as_address(addr)), (b,), cache_policy, pred)
        return dst


class AtomCas(_Atomic):
    """`atom.cas`: atomically `d = [addr]; if d == compare: [addr] = value`."""

    def __call__(
        self,
        dtype: PtxType,
        dst: Reg | None,
        addr: object,
        compare: object,
        value: object,
        *,
        space: str | None = "global",
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> Reg | None:
        """Emit `atom{.sem}{.scope}{.space}.cas.bN d, [addr], compare, value;` and return `d`, the old value."""
        checked = ptx_type(dtype, repr(self))
        words = self.words(checked, op=self.operation, space=space, sem=sem, scope=scope)
        target = (tree.Sink() if dst is None else dst, as_address(addr))
        self._issue(checked, words, target, (compare, value), None, pred)
        return dst


class RedOperation(_Atomic):
    """A `red` operation: atomically `[addr] = operation([addr], b)`, without a result."""

    @emits(cache_policy="policy")
    def __call__(
        self,
        dtype: PtxType,
        addr: object,
        b: object,
        *,
        space: str | None = "global",
        sem: str | None = None,
        scope: str | None = None,
        noftz: bool = False,
        cache_policy: Reg | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `red{.sem}{.scope}{.space}.op{.vec}.type [addr], b;`; vectors and `noftz` are as for `atom`."""
        checked = ptx_type(dtype, repr(self))
        words = self._words(checked, b, cache_policy, space=space, sem=sem, scope=scope, noftz=noftz)
        self._issue(checked, words, (as_address(addr),), (b,), cache_policy, pred)


class Atom:
    """Atomic operations that return the old value; each call emits one `atom`.

    `space` is global, shared (also ::cta, ::cluster) or generic. `sem` is `relaxed`, `acquire`, `release` or `acq_rel`;
    `scope` is `cta`, `cluster`, `gpu` or `sys`. Half-precision `add` is emitted with its mandatory `.noftz`.
    """

    add = AtomOperation("atom", "add")
    min = AtomOperation("atom", "min")
    max = AtomOperation("atom", "max")
    inc = AtomOperation("atom", "inc")
    dec = AtomOperation("atom", "dec")
    and_ = AtomOperation("atom", "and_")
    or_ = AtomOperation("atom", "or_")
    xor_ = AtomOperation("atom", "xor_")
    exch = AtomOperation("atom", "exch")
    cas = AtomCas("atom", "cas")


class Red:
    """Atomic operations without a result; each call emits one `red`.

    The keywords are those of `atom`; `sem` is `relaxed` or `release`.
    """

    add = RedOperation("red", "add")
    min = RedOperation("red", "min")
    max = RedOperation("red", "max")
    inc = RedOperation("red", "inc")
    dec = RedOperation("red", "dec")
    and_ = RedOperation("red", "and_")
    or_ = RedOperation("red", "or_")
    xor_ = RedOperation("red", "xor_")


def _vector(value: object) -> str | None:
    """Return the modifier `v2`, `v4` or `v8` for a list of values; None for a single value."""
    return f"v{len(cast('Sequence[object]', value))}" if isinstance(value, RegArray | list | tuple) else None


def _literals(dtype: PtxType, value: object) -> object:
    """Return the literal of type `dtype` for a number, a list of literals for a list, a register unchanged."""
    if isinstance(value, RegArray | list | tuple):
        return [literal(dtype, each) for each in cast("Sequence[object]", value)]
    return literal(dtype, value)


atom = Atom()
red = Red()
