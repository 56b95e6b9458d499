"""Registers with operators, the objects that users hold.

Each operator emits its instructions immediately and returns a fresh register; `docs/operators.md` lists them. An
augmented assignment writes the register on its left side.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NoReturn, overload

from pyptx_dsl.errors import ForeignRegisterError, OperandError, RegisterIndexError, TruthValueError
from pyptx_dsl.registers import operators
from pyptx_dsl.registers.faults import no_temporary
from pyptx_dsl.registers.handle import MOST_NAMES, Handle, numbered
from pyptx_dsl.registers.operands import as_count
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType
    from pyptx_ir.syntax.nodes import RegisterName


# mypy takes MYPY as true, so it does not see `Reg.__bool__`, and its truthy-bool check rejects `if register:`.
# mypy would accept `if register:` with a `__bool__` of type NoReturn; only pyright rejects such a condition.
MYPY = False


class Reg(Handle):
    """A register of the running trace; arithmetic on it emits PTX."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the register's name and type as text; does not count as a use of the register."""
        return f"Reg({self.raw_name}, {self.dtype})"

    def __hash__(self) -> int:
        """Return the hash of the register's name; within a trace, registers with equal names are the same."""
        return hash(self.raw_name)

    if not MYPY:

        def __bool__(self) -> NoReturn:
            """Raise TruthValueError: a register's value is known only on the GPU, not while tracing."""
            raise TruthValueError(self.raw_name)

    # --- arithmetic ---------------------------------------------------------------------------------

    def __add__(self, other: object) -> Reg:
        """Emit `add`."""
        return operators.binary("add", self, other)

    def __radd__(self, other: object) -> Reg:
        """Emit `add`."""
        return operators.binary("add", self, other)

    def __iadd__(self, other: object) -> Reg:  # noqa: PYI034  the result is a Reg, in subclasses too
        """Emit `add` into this register."""
        return operators.in_place("add", self, other)

    def __sub__(self, other: object) -> Reg:
        """Emit `sub`."""
        return operators.binary("sub", self, other)

    def __rsub__(self, other: object) -> Reg:
        """Emit `sub` for `number - register`."""
        return operators.reflected("sub", other, self)

    def __isub__(self, other: object) -> Reg:  # noqa: PYI034  as above
        """Emit `sub` into this register."""
        return operators.in_place("sub", self, other)

    def __mul__(self, other: object) -> Reg:
        """Emit `mul.lo` (integers), `mul.rn` (floats)."""
        return operators.binary("mul", self, other)

    def __rmul__(self, other: object) -> Reg:
        """Emit `mul.lo` (integers), `mul.rn` (floats)."""
        return operators.binary("mul", self, other)

    def __imul__(self, other: object) -> Reg:  # noqa: PYI034  as above
        """Emit `mul` into this register."""
        return operators.in_place("mul", self, other)

    def __truediv__(self, other: object) -> Reg:
        """Emit `div.rn` of floats."""
        return operators.binary("truediv", self, other)

    def __rtruediv__(self, other: object) -> Reg:
        """Emit `div.rn` for `number / register`."""
        return operators.reflected("truediv", other, self)

    def __itruediv__(self, other: object) -> Reg:  # noqa: PYI034  as above
        """Emit `div.rn` into this register."""
        return operators.in_place("truediv", self, other)

    def __floordiv__(self, other: object) -> Reg:
        """Emit `div` of integers; signed quotients truncate toward zero, as PTX's do."""
        return operators.binary("div", self, other)

    def __rfloordiv__(self, other: object) -> Reg:
        """Emit `div` for `number // register`."""
        return operators.reflected("div", other, self)

    def __ifloordiv__(self, other: object) -> Reg:  # noqa: PYI034  as above
        """Emit `div` into this register."""
        return operators.in_place("div", self, other)

    def __mod__(self, other: object) -> Reg:
        """Emit `rem` of integers; signed remainders have the sign of the dividend, as PTX's do."""
        return operators.binary("rem", self, other)

    def __rmod__(self, other: object) -> Reg:
        """Emit `rem` for `number % register`."""
        return operators.reflected("rem", other, self)

    def __imod__(self, other: object) -> Reg:  # noqa: PYI034  as above
        """Emit `rem` into this register."""
        return operators.in_place("rem", self, other)

    # --- bits ---------------------------------------------------------------------------------------

    def __lshift__(self, other: object) -> Reg:
        """Emit `shl`."""
        return operators.binary("shl", self, other)

    def __rlshift__(self, other: object) -> Reg:
        """Emit `shl` for `number << register`."""
        return operators.reflected("shl", other, self)

    def __ilshift__(self, other: object) -> Reg:  # noqa: PYI034  as above
        """Emit `shl` into this register."""
        return operators.in_place("shl", self, other)

    def __rshift__(self, other: object) -> Reg:
        """Emit `shr`: arithmetic for signed types, logical for others."""
        return operators.binary("shr", self, other)

    def __rrshift__(self, other: object) -> Reg:
        """Emit `shr` for `number >> register`."""
        return operators.reflected("shr", other, self)

    def __irshift__(self, other: object) -> Reg:  # noqa: PYI034  as above
        """Emit `shr` into this register."""
        return operators.in_place("shr", self, other)

    def __and__(self, other: object) -> Reg:
        """Emit `and`, of bits or predicates."""
        return operators.binary("and", self, other)

    def __rand__(self, other: object) -> Reg:
        """Emit `and`, of bits or predicates."""
        return operators.binary("and", self, other)

    def __iand__(self, other: object) -> Reg:  # noqa: PYI034  as above
        """Emit `and` into this register."""
        return operators.in_place("and", self, other)

    def __or__(self, other: object) -> Reg:
        """Emit `or`, of bits or predicates; for a pair of destinations write `reg.PipeRef(p, q)`."""
        return operators.binary("or", self, other)

    def __ror__(self, other: object) -> Reg:
        """Emit `or`, of bits or predicates."""
        return operators.binary("or", self, other)

    def __ior__(self, other: object) -> Reg:  # noqa: PYI034  as above
        """Emit `or` into this register."""
        return operators.in_place("or", self, other)

    def __xor__(self, other: object) -> Reg:
        """Emit `xor`, of bits or predicates."""
        return operators.binary("xor", self, other)

    def __rxor__(self, other: object) -> Reg:
        """Emit `xor`, of bits or predicates."""
        return operators.binary("xor", self, other)

    def __ixor__(self, other: object) -> Reg:  # noqa: PYI034  as above
        """Emit `xor` into this register."""
        return operators.in_place("xor", self, other)

    # --- unary --------------------------------------------------------------------------------------

    def __neg__(self) -> Reg:
        """Emit `neg`."""
        return operators.unary("neg", self)

    def __pos__(self) -> Reg:
        """Return the register itself; nothing is emitted."""
        return self

    def __abs__(self) -> Reg:
        """Emit `abs` of a signed or floating-point register."""
        return operators.unary("abs", self)

    def __invert__(self) -> Reg:
        """Emit `not` of bits; of a predicate, return its negation `!p` and emit nothing."""
        if self.dtype.kind == "pred":
            return NegPred(self)
        return operators.unary("not", self)

    def max(self, other: object) -> Reg:
        """Emit `max` of this register and `other` in this register's type; return the result."""
        return operators.binary("max", self, other)

    def min(self, other: object) -> Reg:
        """Emit `min` of this register and `other` in this register's type; return the result."""
        return operators.binary("min", self, other)

    # --- comparison ---------------------------------------------------------------------------------

    def __lt__(self, other: object) -> Reg:
        """Emit `setp.lt`."""
        return operators.compare("lt", self, other)

    def __le__(self, other: object) -> Reg:
        """Emit `setp.le`."""
        return operators.compare("le", self, other)

    def __gt__(self, other: object) -> Reg:
        """Emit `setp.gt`."""
        return operators.compare("gt", self, other)

    def __ge__(self, other: object) -> Reg:
        """Emit `setp.ge`."""
        return operators.compare("ge", self, other)

    def __eq__(self, other: object) -> Reg:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]  a predicate, not a bool
        """Emit `setp.eq`."""
        return operators.compare("eq", self, other)

    def __ne__(self, other: object) -> Reg:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]  as above
        """Emit `setp.ne`, for floats `setp.neu`, which is true if an operand is NaN, as in Python."""
        return operators.compare("ne", self, other)


class SpecialReg(Reg):
    """A read-only register such as `%tid.x`; operators copy it first, as ptxas accepts it in `mov` and `cvt` only."""

    __slots__ = ()

    readonly = True


class Unplaced(Reg):
    """Result of an operator in `ptx.expr(temps=…)` without a free temporary: it can only be assigned to a register."""

    __slots__ = ()

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Raise OperandError: `ptx.expr` has no temporary left for this result."""
        raise no_temporary()


class NegPred(Reg):
    """The negation of a predicate, `!p`: a guard or a predicate source; nothing is emitted for it.

    `&`, `|` and `^` with it first emit one `not.pred`.
    """

    __slots__ = ("reg",)

    def __init__(self, reg: Reg) -> None:
        """Store the predicate register that this object negates."""
        super().__init__(reg.raw_name, reg.dtype, reg.trace)
        self.reg = reg

    def __repr__(self) -> str:
        """Return `NegPred(name)` with the name of the predicate."""
        return f"NegPred({self.raw_name})"

    def __invert__(self) -> Reg:
        """Return the predicate register that this object negates; nothing is emitted."""
        return self.reg

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the operand `!p`."""
        return tree.Negated(self.reg.__ptx_operand__(trace))

    __hash__ = Reg.__hash__


class RegArray:
    """`count` registers of one type, `base0 … base(count-1)`; as an operand, the vector `{…}`.

    Each `Reg` object is made on first access: compilers declare groups of which many registers are never used.
    """

    __slots__ = ("_regs", "base", "count", "dtype", "trace")

    def __init__(self, base: str, count: int, dtype: PtxType, trace: Trace) -> None:
        """Store the base name, count and type of registers that `trace` has declared."""
        self.base = base
        self.count = count
        self.dtype = dtype
        self.trace = trace
        self._regs: list[Reg | None] | defaultdict[int, Reg | None] = (
            [None] * count if count <= MOST_NAMES else defaultdict(lambda: None)
        )

    def __len__(self) -> int:
        """Return the number of registers in the array."""
        return self.count

    def __iter__(self) -> Iterator[Reg]:
        """Iterate over the array's registers in order of declaration."""
        return iter(self.regs())

    def __repr__(self) -> str:
        """Return the array's base name, count and type as text."""
        return f"RegArray({self.base}, {self.count}, {self.dtype})"

    @overload
    def __getitem__(self, index: slice) -> list[Reg]: ...

    @overload
    def __getitem__(self, index: int) -> Reg: ...

    def __getitem__(self, index: int | slice) -> Reg | list[Reg]:
        """Return one register (negative indices count from the end) or, for a slice, a list of them."""
        if (
            type(index) is int and 0 <= index < self.count
        ):  # fast path: Python loops index a register array thousands of times
            register = self._regs[index]
            return self._made(index) if register is None else register
        if isinstance(index, slice):
            return [self._made(number) for number in range(self.count)[index]]
        return self._made(self._checked(index))

    def made(self) -> list[Reg]:
        """Return the `Reg` objects that accesses to the array have created so far."""
        regs = self._regs if isinstance(self._regs, list) else self._regs.values()
        return [register for register in regs if register is not None]

    def _made(self, number: int) -> Reg:
        """Return the `Reg` at an index; create the object at its first access."""
        register = self._regs[number]
        if register is None:
            register = self._regs[number] = Reg(numbered(self.base, self.count)[number], self.dtype, self.trace)
        return register

    def __setitem__(self, index: int, value: object) -> None:
        """Emit one `mov` of a register or number into a register of the array."""
        destination = self[self._checked(index)]
        if destination is value:
            return
        operators.move(destination, value)

    def _checked(self, index: object) -> int:
        if isinstance(index, Handle):
            raise OperandError(
                "registers cannot be indexed by a register: they have no addresses",
                help="index with a Python int, or put the data in shared memory",
            )
        number = as_count(index)
        if number is None:
            raise OperandError(f"cannot index registers with {index!r}", help="index with an int or a slice")
        if not -self.count <= number < self.count:
            raise RegisterIndexError(
                f"register index {number} is out of range for {self.base}<{self.count}>",
                help=f"use at most {self.count - 1}, or declare more registers",
            )
        return number % self.count

    def regs(self) -> list[Reg]:
        """Return all registers of the array in order of declaration."""
        return [self._made(number) for number in range(self.count)]

    def hw_order(self, *, reverse: bool = False) -> list[Reg]:
        """Return all registers of the array in order of declaration or, with `reverse`, in reverse order."""
        return self.regs()[::-1] if reverse else self.regs()

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the vector operand `{…}` of all registers."""
        if trace is not self.trace:
            raise ForeignRegisterError(f"{self.base}<{self.count}>", self.trace.name, trace.name)
        return tree.Vector(tuple([register.__ptx_operand__(trace) for register in self.regs()]))


def declared_register(name: RegisterName, dtype: PtxType, trace: Trace) -> Reg | RegArray:
    """Return the `Reg` that a name in `.reg` declares; for a name with a count, the RegArray."""
    if name.count is None:
        return Reg(name.name, dtype, trace)
    return RegArray(name.name, name.count, dtype, trace)
