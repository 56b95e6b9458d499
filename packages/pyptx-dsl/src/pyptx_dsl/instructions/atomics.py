"""Atomic operations on memory: `ptx.atom.add(u32, old, addr, 1)`, `ptx.red.add(f32, addr, x)`.

Manual: "Parallel Synchronization and Communication Instructions: atom, red".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.compare import literal
from pyptx_dsl.instructions.memory import space_words
from pyptx_dsl.instructions.wrapper import choice, ptx_type
from pyptx_dsl.trace_context import active
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["Atom", "AtomCas", "AtomOperation", "Red", "RedOperation", "atom", "red"]

_SPACES = ("global", "shared", "shared::cta", "shared::cluster", "generic")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_ATOM_SEM = ("relaxed", "acquire", "release", "acq_rel")
_RED_SEM = ("relaxed", "release")
_BRAINS = ("bf16", "bf16x2")
_HALVES = ("f16", "f16x2", *_BRAINS)
_BITS = ("b32", "b64", "u32", "u64", "s32", "s64")
_ADD = ("u32", "s32", "u64", "f32", "f64", *_HALVES)
_ORDER = ("u32", "s32", "u64", "s64")


class _Operation:
    """One operation for some types; `bits` spells the type as `b` and its width."""

    def __init__(self, opcode: str, name: str, types: tuple[str, ...], *, bits: bool = False) -> None:
        """Describe `opcode.name`."""
        self._opcode = opcode
        self._name = name
        self._types = types
        self._bits = bits

    def __repr__(self) -> str:
        return f"ptx.{self._opcode}.{self._name}"

    def _words(
        self, dtype: PtxType, space: str, sem: str | None, scope: str | None, policy: Reg | None
    ) -> tuple[str, ...]:
        checked = ptx_type(dtype, repr(self))
        if checked.name not in self._types:
            raise OperandError(f"{self!r} has no form for {checked}", hint=f"it takes {', '.join(self._types)}")
        words = [self._opcode]
        if sem is not None:
            words.append(choice("sem", sem, _ATOM_SEM if self._opcode == "atom" else _RED_SEM))
        if scope is not None:
            words.append(choice("scope", scope, _SCOPES))
        words += [*space_words(space, _SPACES), self._name]
        if checked.name in _HALVES and self._name == "add":
            words.append("noftz")
        if policy is not None:
            words.append("L2::cache_hint")
        return (*words, f"b{checked.bits}" if self._bits else checked.name)


class AtomOperation(_Operation):
    """`d = [addr]; [addr] = operation(d, b)`, in one step."""

    def __call__(
        self,
        dtype: PtxType,
        dst: Reg | None,
        addr: object,
        b: object,
        *,
        space: str = "global",
        sem: str | None = None,
        scope: str | None = None,
        cache_policy: Reg | None = None,
        pred: Reg | None = None,
    ) -> Reg | None:
        """Emit `atom{.sem}{.scope}{.space}.op.type d, [addr], b;` and return `d`; None as `dst` is the sink `_`."""
        checked = ptx_type(dtype, repr(self))
        words = self._words(checked, space, sem, scope, cache_policy)
        if dst is None and checked.name in _BRAINS:
            # ptxas 13.0 crashes on `atom.….bf16 _, …`.
            raise OperandError(f"{self!r} of {checked} needs a destination", hint=f"use ptx.red.{self._name}")
        target: object = tree.Sink() if dst is None else dst
        policy = () if cache_policy is None else (cache_policy,)
        active(repr(self)).emit(words, (target, as_address(addr), literal(checked, b), *policy), pred)
        return dst


class AtomCas(_Operation):
    """Compare and swap."""

    def __call__(
        self,
        dtype: PtxType,
        dst: Reg | None,
        addr: object,
        compare: object,
        value: object,
        *,
        space: str = "global",
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> Reg | None:
        """Emit `atom{.sem}{.scope}{.space}.cas.bN d, [addr], compare, value;` and return `d`, the old value."""
        checked = ptx_type(dtype, repr(self))
        words = self._words(checked, space, sem, scope, None)
        target: object = tree.Sink() if dst is None else dst
        sources = (as_address(addr), literal(checked, compare), literal(checked, value))
        active(repr(self)).emit(words, (target, *sources), pred)
        return dst


class RedOperation(_Operation):
    """`[addr] = operation([addr], b)`, in one step and without an answer."""

    def __call__(
        self,
        dtype: PtxType,
        addr: object,
        b: object,
        *,
        space: str = "global",
        sem: str | None = None,
        scope: str | None = None,
        cache_policy: Reg | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `red{.sem}{.scope}{.space}.op.type [addr], b;`."""
        checked = ptx_type(dtype, repr(self))
        words = self._words(checked, space, sem, scope, cache_policy)
        policy = () if cache_policy is None else (cache_policy,)
        active(repr(self)).emit(words, (as_address(addr), literal(checked, b), *policy), pred)


class Atom:
    """Atomic operations that return the old value; each call emits one `atom`.

    `space` is global, shared (also ::cta, ::cluster) or generic; `sem` is `relaxed`, `acquire`, `release` or
    `acq_rel`, `scope` `cta`, `cluster`, `gpu` or `sys`. Half-precision `add` carries the `.noftz` that it must have.
    """

    add = AtomOperation("atom", "add", _ADD)
    min = AtomOperation("atom", "min", _ORDER)
    max = AtomOperation("atom", "max", _ORDER)
    inc = AtomOperation("atom", "inc", ("u32",))
    dec = AtomOperation("atom", "dec", ("u32",))
    and_ = AtomOperation("atom", "and", _BITS, bits=True)
    or_ = AtomOperation("atom", "or", _BITS, bits=True)
    xor_ = AtomOperation("atom", "xor", _BITS, bits=True)
    exch = AtomOperation("atom", "exch", (*_BITS, "f32", "f64", "b128"), bits=True)
    cas = AtomCas("atom", "cas", ("b16", "u16", "s16", *_BITS, "f32", "f64", "b128"), bits=True)


class Red:
    """Atomic operations without a result; each call emits one `red`.

    The keywords are those of `atom`; `sem` is `relaxed` or `release`.
    """

    add = RedOperation("red", "add", _ADD)
    min = RedOperation("red", "min", _ORDER)
    max = RedOperation("red", "max", _ORDER)
    inc = RedOperation("red", "inc", ("u32",))
    dec = RedOperation("red", "dec", ("u32",))
    and_ = RedOperation("red", "and", _BITS, bits=True)
    or_ = RedOperation("red", "or", _BITS, bits=True)
    xor_ = RedOperation("red", "xor", _BITS, bits=True)


atom = Atom()
red = Red()
