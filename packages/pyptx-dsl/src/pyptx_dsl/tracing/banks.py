"""Names of a trace's registers, and their declarations.

Unnamed registers get the next number in the register group of their type. A group is one declaration at the start of
the body: `.reg .b32 %r<12>;`. A register with a user's name has its own declaration; a name with the pattern of a group
(`%r7`) becomes a member, and the group grows to include it. All register numbers are per trace.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_dsl.errors import DuplicateNameError, OperandError
from pyptx_ir.syntax.nodes import RegisterDeclaration, RegisterName

if TYPE_CHECKING:
    from pyptx_dsl.types import PtxType


_REGISTER_NAME = re.compile(r"(?!\d)%?[\w$]+")


class Bank:
    """Register group `prefix0 … prefix(count-1)` of one type; `free` are the numbers of unused registers in it."""

    __slots__ = ("count", "free", "prefix", "register")

    def __init__(self, prefix: str, register: str) -> None:
        """Start a register group without registers; `register` is the type in its `.reg` declaration."""
        self.prefix = prefix
        self.register = register
        self.count = 0
        self.free: set[int] = set()

    def take(self) -> str:
        """Add a register with the next number to the register group and return its name."""
        name = f"{self.prefix}{self.count}"
        self.count += 1
        return name

    def claim(self, number: int) -> None:
        """Reserve the register with a number that the user chose; raise DuplicateNameError if it is in use."""
        if number < self.count and number not in self.free:
            raise DuplicateNameError(f"register {self.prefix}{number} is already declared", help="choose another name")
        self.free.discard(number)
        self.free.update(range(self.count, number))
        self.count = max(self.count, number + 1)


class Banks:
    """Register groups and single register names of one trace."""

    __slots__ = ("_banks", "_counters", "_names", "_reserved")

    def __init__(self) -> None:
        """Start without register groups and names."""
        self._banks: dict[str, Bank] = {}
        self._counters: dict[str, int] = {}
        self._names: dict[str, RegisterDeclaration] = {}
        self._reserved: set[str] = set()

    def fresh(self, dtype: PtxType, prefix: str | None = None) -> str:
        """Return the next name in the register group of `dtype` (or of `prefix`)."""
        bank = self._banks.get(prefix or dtype.prefix)
        if bank is None or bank.register != dtype.register:
            bank = self._bank(prefix or dtype.prefix, dtype.register)
        return bank.take()

    def named(self, name: str, dtype: PtxType) -> None:
        """Declare a single register with a name that the user chose."""
        if not _is_register_name(name):
            raise OperandError(f"invalid register name {name!r}", help="write a % and an identifier, as in '%sum'")
        stem = name.rstrip("0123456789")
        digits = name[len(stem) :]
        numbered = bool(digits) and digits == str(int(digits)) and stem not in self._reserved
        if numbered and (stem in self._banks or stem == dtype.prefix):
            self._member(stem, int(digits), dtype)
            return
        if name in self._names:
            raise DuplicateNameError(f"register {name} is already declared", help="choose another name")
        self._names[name] = RegisterDeclaration(type=dtype.register, names=(RegisterName(name),))

    def array(self, dtype: PtxType, count: int, name: str | None = None) -> str:
        """Declare `count` registers in one group of their own; return the group's prefix.

        The first array of a type, if it precedes every scalar of the type, is the start of the type's group (`%f<8>`);
        each later array is a group of its own (`%farr0_<8>`).
        """
        if name is not None:
            return self._named_array(dtype, count, name)
        bank = self._bank(dtype.prefix, dtype.register)
        if bank.count == 0:
            bank.count = count
            return bank.prefix
        number = self._counters.get(bank.prefix, 0)
        self._counters[bank.prefix] = number + 1
        return self._named_array(dtype, count, f"{bank.prefix}arr{number}_")

    def reserve(self, written: RegisterName) -> None:
        """Reserve the names in a `.reg` that the user wrote; raise DuplicateNameError for a name in use."""
        name = written.name
        if not _is_register_name(name):
            raise OperandError(f"invalid register name {name!r}", help="write a % and an identifier, as in '%r'")
        stem = name.rstrip("0123456789")
        for held in (stem, name):
            if held in self._banks and self._banks[held].count:
                raise DuplicateNameError(
                    f"names {held}0 … are already used for automatically numbered registers",
                    help="declare the group before the first register of that type, or choose another name",
                )
        if name in self._names:
            raise DuplicateNameError(f"register {name} is already declared", help="choose another name")
        self._reserved.update((stem, name))

    def declarations(self, leading_trivia: str) -> list[RegisterDeclaration]:
        """Return the `.reg` declarations for the start of the body: groups in order of first use, then single names."""
        banks = [
            RegisterDeclaration(
                type=bank.register, names=(RegisterName(bank.prefix, bank.count),), leading_trivia=leading_trivia
            )
            for bank in self._banks.values()
            if bank.count
        ]
        singles = [
            RegisterDeclaration(type=declaration.type, names=declaration.names, leading_trivia=leading_trivia)
            for declaration in self._names.values()
        ]
        return banks + singles

    def _bank(self, prefix: str, register: str) -> Bank:
        """Return the register group of a prefix; `_` is added to a prefix that another type or a user's `.reg` has."""
        while True:
            if prefix in self._reserved:
                prefix += "_"
                continue
            bank = self._banks.get(prefix)
            if bank is None:
                self._refuse_overlap(prefix)
                bank = self._banks[prefix] = Bank(prefix, register)
            if bank.register == register:
                return bank
            prefix += "_"

    def _named_array(self, dtype: PtxType, count: int, name: str) -> str:
        if not _is_register_name(name):
            raise OperandError(f"invalid register name {name!r}", help="write a % and an identifier, as in '%acc'")
        if name in self._banks and self._banks[name].count:
            raise DuplicateNameError(f"registers {name}0 … are already declared", help="choose another name")
        bank = self._banks.setdefault(name, Bank(name, dtype.register))
        bank.register = dtype.register
        self._refuse_overlap(name)
        bank.count = count
        return name

    def _member(self, stem: str, number: int, dtype: PtxType) -> None:
        """Add a register with a user's name such as `%r7` to the register group `%r`."""
        bank = self._banks.setdefault(stem, Bank(stem, dtype.register))
        if bank.register != dtype.register:
            raise DuplicateNameError(
                f"registers {stem}… are declared .{bank.register}, but {dtype} needs .{dtype.register}",
                help="choose another name",
            )
        bank.claim(number)

    def _refuse_overlap(self, prefix: str) -> None:
        """Raise DuplicateNameError for a register group that would redeclare a register that the user named."""
        for name in self._names:
            if name.startswith(prefix) and name[len(prefix) :].isdecimal():
                raise DuplicateNameError(
                    f"register {name} is already declared, and group {prefix}<…> would declare it again",
                    help="choose a name without a numeric suffix for that register",
                )


def _is_register_name(name: str) -> bool:
    """Return whether a register name is valid: letters, digits, `_` and `$` after an optional `%`."""
    return _REGISTER_NAME.fullmatch(name) is not None
