"""The names of a trace's registers, and their declarations.

Registers without a name of their own take the next number of their type's bank, and a bank is one declaration at the
head of the body: `.reg .b32 %r<12>;`. A name that the user gives is declared as it is; one that falls into a bank
(`%r7`) is a member of it, and the bank grows over it. Nothing here counts across traces.
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
    """`prefix0 … prefix(count-1)`, all declared with one type; `free` are numbers that nobody holds."""

    __slots__ = ("count", "free", "prefix", "register")

    def __init__(self, prefix: str, register: str) -> None:
        """Start empty."""
        self.prefix = prefix
        self.register = register
        self.count = 0
        self.free: set[int] = set()

    def take(self) -> str:
        """Return the next name behind all others."""
        name = f"{self.prefix}{self.count}"
        self.count += 1
        return name

    def claim(self, number: int) -> None:
        """Take a number that the user chose; raise DuplicateNameError when it is held."""
        if number < self.count and number not in self.free:
            raise DuplicateNameError(
                f"register {self.prefix}{number} is declared already", hint="give this register another name"
            )
        self.free.discard(number)
        self.free.update(range(self.count, number))
        self.count = max(self.count, number + 1)


class Banks:
    """All register names of one trace."""

    __slots__ = ("_banks", "_counters", "_names", "_reserved")

    def __init__(self) -> None:
        """Start with no register."""
        self._banks: dict[str, Bank] = {}
        self._counters: dict[str, int] = {}
        self._names: dict[str, RegisterDeclaration] = {}
        self._reserved: set[str] = set()

    def fresh(self, dtype: PtxType, prefix: str | None = None) -> str:
        """Take the next name of the bank of `dtype` (or of `prefix`)."""
        bank = self._banks.get(prefix or dtype.prefix)
        if bank is None or bank.register != dtype.register:
            bank = self._bank(prefix or dtype.prefix, dtype.register)
        return bank.take()

    def named(self, name: str, dtype: PtxType) -> None:
        """Declare a single register under the user's name."""
        if not _is_register_name(name):
            raise OperandError(f"{name!r} is no register name", hint="write a % and an identifier, as in '%sum'")
        stem = name.rstrip("0123456789")
        digits = name[len(stem) :]
        numbered = bool(digits) and digits == str(int(digits)) and stem not in self._reserved
        if numbered and (stem in self._banks or stem == dtype.prefix):
            self._member(stem, int(digits), dtype)
            return
        if name in self._names:
            raise DuplicateNameError(f"register {name} is declared already", hint="give this register another name")
        self._names[name] = RegisterDeclaration(type=dtype.register, names=(RegisterName(name),))

    def array(self, dtype: PtxType, count: int, name: str | None = None) -> str:
        """Declare `count` registers in one bank of their own; return what stands before their numbers.

        The first array of a type, if it comes before every scalar of it, is the head of the type's bank (`%f<8>`);
        later ones are banks of their own (`%farr0_<8>`).
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
        """Leave names to a `.reg` that the user writes; raise DuplicateNameError for those that are declared here."""
        name = written.name
        if not _is_register_name(name):
            raise OperandError(f"{name!r} is no register name", hint="write a % and an identifier, as in '%r'")
        stem = name.rstrip("0123456789")
        for held in (stem, name):
            if held in self._banks and self._banks[held].count:
                raise DuplicateNameError(
                    f"the trace numbers registers {held}0 … itself, and declares them at the head of the body",
                    hint="declare the bank before the first register of that type, or give it another name",
                )
        if name in self._names:
            raise DuplicateNameError(f"register {name} is declared already", hint="give this register another name")
        self._reserved.update((stem, name))

    def declarations(self, lead: str) -> list[RegisterDeclaration]:
        """Return the declarations for the head of the body: banks in order of first use, then single names."""
        banks = [
            RegisterDeclaration(type=bank.register, names=(RegisterName(bank.prefix, bank.count),), lead=lead)
            for bank in self._banks.values()
            if bank.count
        ]
        singles = [
            RegisterDeclaration(type=declaration.type, names=declaration.names, lead=lead)
            for declaration in self._names.values()
        ]
        return banks + singles

    def _bank(self, prefix: str, register: str) -> Bank:
        """Return the bank of a prefix; a prefix that another type holds gets an underscore."""
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
            raise OperandError(f"{name!r} is no register name", hint="write a % and an identifier, as in '%acc'")
        if name in self._banks and self._banks[name].count:
            raise DuplicateNameError(f"registers {name}0 … are declared already", hint="give this array another name")
        bank = self._banks.setdefault(name, Bank(name, dtype.register))
        bank.register = dtype.register
        self._refuse_overlap(name)
        bank.count = count
        return name

    def _member(self, stem: str, number: int, dtype: PtxType) -> None:
        """Make a user's `%r7` a member of the bank `%r`."""
        bank = self._banks.setdefault(stem, Bank(stem, dtype.register))
        if bank.register != dtype.register:
            raise DuplicateNameError(
                f"registers {stem}… are declared .{bank.register} here, and {dtype} needs .{dtype.register}",
                hint="give this register another name",
            )
        bank.claim(number)

    def _refuse_overlap(self, prefix: str) -> None:
        """Refuse to open a bank whose stem a single name has: it would be declared again."""
        for name in self._names:
            if name.startswith(prefix) and name[len(prefix) :].isdecimal():
                raise DuplicateNameError(
                    f"register {name} is declared already, and the bank {prefix}<…> would declare it again",
                    hint="give that register a name that does not look like a numbered one",
                )


def _is_register_name(name: str) -> bool:
    """`%`, then letters, digits, `_` and `$`; also a plain identifier, which PTX allows."""
    return _REGISTER_NAME.fullmatch(name) is not None
