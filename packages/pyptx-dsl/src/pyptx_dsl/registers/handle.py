"""Base class of registers, without operators: a name, a type, and the trace that declared it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, overload

from pyptx_dsl.errors import ForeignRegisterError
from pyptx_ir.syntax.drafts import register
from pyptx_ir.syntax.operands import Symbol

if TYPE_CHECKING:
    from pyptx_dsl.registers.offsets import OffsetSlot
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType
    from pyptx_ir.syntax.operands import Operand


_LARGE = 1 << 12
"""Maximum size of a register group whose tuple of names is cached for all functions; larger groups are rare."""
MOST_NAMES = 1 << 16
"""Maximum size of a register group whose names are stored one by one: `.reg .b32 %r<1000000000>;` is valid PTX."""


class NumberedNames(Sequence[str]):
    """Names of a register group, `stem0` to `stem(size-1)`, each with a suffix, computed on access."""

    __slots__ = ("size", "stem", "suffix")

    def __init__(self, stem: str, size: int, suffix: str = "") -> None:
        """Store the pattern of `size` names; a suffix, such as `.x`, is a component of each vector register."""
        self.stem = stem
        self.size = size
        self.suffix = suffix

    def __len__(self) -> int:
        """Return the number of names in the register group."""
        return self.size

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        """Return the name at an index, or a list of names for a slice."""
        if isinstance(index, slice):
            return [self[number] for number in range(self.size)[index]]
        return f"{self.stem}{range(self.size)[index]}{self.suffix}"

    def __contains__(self, name: object) -> bool:
        """Return whether a name belongs to the register group: its number is less than the group's size."""
        if not isinstance(name, str) or not (name.startswith(self.stem) and name.endswith(self.suffix)):
            return False
        digits = name[len(self.stem) : len(name) - len(self.suffix)]
        is_number = digits.isascii() and digits.isdecimal() and (digits[0] != "0" or digits == "0")
        return is_number and len(digits) <= len(str(self.size)) and int(digits) < self.size


@lru_cache(maxsize=8)
def numbered(stem: str, count: int) -> Sequence[str]:
    """Return the names `stem0 … stem(count-1)`; cached, because a declaration calls this several times."""
    if count > MOST_NAMES:
        return NumberedNames(stem, count)
    if count > _LARGE:
        return tuple([f"{stem}{number}" for number in range(count)])
    return _bank(stem, 1 << count.bit_length())[:count]


@lru_cache(maxsize=64)
def _bank(stem: str, count: int) -> tuple[str, ...]:
    """Return the names `stem0 … stem(count-1)`; smaller groups with that stem share the strings."""
    half = _bank(stem, count // 2) if count > 1 else ()
    return half + tuple([f"{stem}{number}" for number in range(len(half), count)])


@lru_cache(maxsize=1 << 14)
def _operand(name: str) -> Operand:
    """Return the operand node for a register name; cached for all functions, because most use `%r1`."""
    # As in the PTX parser, a name that starts with % is a register, and any other name a symbol.
    return register(name) if name[:1] == "%" else Symbol(name)


class Handle:
    """A register of one trace; `slot` is the OffsetSlot that computes it and its exact wider copies, or None."""

    __slots__ = ("dtype", "operand", "raw_name", "slot", "trace")

    readonly = False
    # `array + register` must raise one DslError; NumPy would add the register to each element in a loop.
    __array_ufunc__ = None

    def __init__(self, name: str, dtype: PtxType, trace: Trace, slot: OffsetSlot | None = None) -> None:
        """Store the name and type of a register that `trace` has declared, or of a special register."""
        self.raw_name = name
        self.dtype = dtype
        self.trace = trace
        self.slot = slot
        self.operand = _operand(name)

    @property
    def name(self) -> str:
        """The register's name in the PTX; reading the name of an offset (OffsetSlot) requests its narrow register."""
        if self.slot is not None:
            self.slot.need_narrow()
        return self.raw_name

    def __ptx_operand__(self, trace: Trace) -> Operand:
        """Return the register as an operand of its own trace; raise ForeignRegisterError in any other."""
        if trace is not self.trace:
            raise ForeignRegisterError(self.raw_name, self.trace.name, trace.name)
        if self.slot is not None:
            self.slot.need_narrow()
        return self.operand
