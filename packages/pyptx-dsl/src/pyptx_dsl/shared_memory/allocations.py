"""Shared allocations: symbol, shape and swizzle; element addresses, element loads and stores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, SupportsIndex, cast, overload

from pyptx_dsl.errors import ForeignRegisterError, OperandError, RegisterIndexError, RegisterTypeError
from pyptx_dsl.registers import operators
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.operands import AddressOperand, as_count, as_items
from pyptx_dsl.shared_memory.swizzle import Swizzle, find_swizzle
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import b8, b64, u32
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.memories import MemoryRegion
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType


_ELEMENTS = "allocations.elements"


class SharedAddress:
    """An address in shared memory: a symbol with a constant offset, or a register with a computed address.

    `layout` is the swizzle of the allocation, if the address is a constant offset from the allocation's start.
    """

    __slots__ = ("byte_offset", "layout", "name", "register", "trace")

    def __init__(
        self, name: str, byte_offset: int, trace: Trace, register: Reg | None = None, layout: Swizzle | None = None
    ) -> None:
        """Store the address `byte_offset` bytes after the start of allocation `name`, or the address in `register`."""
        self.name = name
        self.byte_offset = byte_offset
        self.trace = trace
        self.register = register
        self.layout = layout

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the operand `symbol`, `symbol+offset`, or the register that contains the address."""
        if trace is not self.trace:
            raise ForeignRegisterError(self.name, self.trace.name, trace.name)
        if self.register is not None:
            return self.register.__ptx_operand__(trace)
        symbol = tree.Symbol(self.name)
        return tree.Binary("+", symbol, tree.Immediate(str(self.byte_offset))) if self.byte_offset else symbol


class SharedAlloc:
    """An allocation of `shape` elements of `dtype`, row-major, with its swizzle.

    `byte_offset` is in bytes from the kernel's first shared allocation. `gmma_layout` and `gmma_major` are matrix
    descriptor data that another package attached; this class does not read them.
    """

    __slots__ = ("_swizzle", "_trace", "dtype", "gmma_layout", "gmma_major", "region", "shape", "swizzle")

    def __init__(
        self, region: MemoryRegion, dtype: PtxType, shape: tuple[int, ...], swizzle: str | None, trace: Trace
    ) -> None:
        """Store the name, shape and type of an allocation in the trace's shared memory layout."""
        self.region = region
        self.dtype = dtype
        self.shape = shape
        self.swizzle = swizzle
        self.gmma_layout: object | None = None
        self.gmma_major: str | None = None
        self._swizzle: Swizzle | None = find_swizzle(swizzle)
        self._trace = trace

    @property
    def name(self) -> str:
        """Symbol of the allocation, if the kernel's allocations are static variables."""
        return self.region.name

    @property
    def byte_offset(self) -> int:
        """Offset in bytes from the start of the kernel's shared allocations."""
        return self.region.offset

    def __repr__(self) -> str:
        """Return the allocation's name, type and shape as text."""
        return f"SharedAlloc({self.name!r}, {self.dtype}, {self.shape})"

    def __len__(self) -> int:
        """Return the size of the allocation's first dimension."""
        return self.shape[0]

    def __iter__(self) -> Iterator[Reg | SharedSlice]:
        """Iterate over the first dimension: yield stage or row addresses; for a one-dimensional array, its elements."""
        return (self[stage] for stage in range(self.shape[0]))

    def __getitem__(self, index: object) -> Reg | SharedSlice:
        """Load an element if there is one index per dimension (`s[i]`, `s[row, col]`); else return an address.

        With fewer indices than dimensions (`s[stage]`), return the start address of the selected stage or row.
        `s.address(i)` is the address of an element.
        """
        indices = _indices(index)
        if len(indices) < len(self.shape):
            return SharedSlice(self, indices)
        element = self.load(*indices)
        if len(indices) == 1:
            _elements(self._trace)[element.raw_name] = self.name
        return element

    def __setitem__(self, index: object, value: object) -> None:
        """Emit a store of a register or number to the element at `index`, one index per dimension."""
        self.store(value, *_indices(index))

    def load(self, *indices: object) -> Reg:
        """Emit the load of the element at one index per dimension; return the register with its value."""
        return load(self.dtype, self.address(*indices))

    def store(self, value: object, *indices: object) -> None:
        """Emit the store of a value to the element at one index per dimension."""
        if isinstance(value, (SharedSlice, SharedAlloc)):
            raise OperandError("cannot store a shared address", help="load the element first: s.load(i)")
        store(self.dtype, self.address(*indices), value)

    def address(self, *indices: object) -> SharedAddress:
        """Return the swizzled address of one element; for register indices, emit its computation."""
        if len(indices) != len(self.shape):
            raise RegisterIndexError(
                f"{self.name} has {len(self.shape)} dimensions, got {len(indices)} indices",
                help=f"pass one index per dimension of the shape {self.shape}",
            )
        return self._at(indices)

    def _at(self, indices: Sequence[object]) -> SharedAddress:
        """Return the address of the row, stage or element that indices of the first dimensions select."""
        constant, terms = 0, list[tuple[Handle, int]]()
        for dimension, index in enumerate(indices):
            stride = self._stride(dimension)
            if isinstance(index, Handle):
                terms.append((index_register(index), stride))
            else:
                constant += self._checked(dimension, index) * stride
        if not terms:
            place = constant if self._swizzle is None else self._swizzle.apply(constant)
            return SharedAddress(self.name, place, self._own(), layout=self._swizzle)
        return self._computed(constant, terms)

    def _computed(self, constant: int, terms: list[tuple[Handle, int]]) -> SharedAddress:
        trace = self._own()
        address = trace.fresh(u32)
        if self._swizzle is None or _unswizzled(self._swizzle, constant, terms):
            trace.emit(("mov", "u32"), (address, SharedAddress(self.name, constant, trace)))
            for register, stride in terms:
                trace.emit(("mad", "lo", "u32"), (address, register, stride, address))
            return SharedAddress(self.name, 0, trace, address)
        offset: object = constant
        logical = trace.fresh(u32)
        for register, stride in terms:
            trace.emit(("mad", "lo", "u32"), (logical, register, stride, offset))
            offset = logical
        swizzled = self._swizzle.emit(trace, logical)
        trace.emit(("mov", "u32"), (address, tree.Symbol(self.name)))
        trace.emit(("add", "u32"), (address, address, swizzled))
        return SharedAddress(self.name, 0, trace, address)

    def _stride(self, dimension: int) -> int:
        """Return the distance in bytes between consecutive indices of a dimension."""
        bits = math.prod(self.shape[dimension + 1 :]) * self.dtype.bits
        if bits % 8:
            raise RegisterTypeError(
                f"{self.dtype} elements have no byte addresses: several are packed in one byte",
                help="allocate whole bytes, such as u8",
            )
        return bits // 8

    def _checked(self, dimension: int, index: object) -> int:
        number, size = as_count(index), self.shape[dimension]
        if number is None:
            raise OperandError(f"cannot index shared memory with {index!r}", help="use an int or an integer register")
        if not -size <= number < size:
            raise RegisterIndexError(
                f"index {number} is out of range for dimension {dimension} of {self.name}: size {size} (shape "
                f"{self.shape})"
            )
        return number % size

    def _own(self) -> Trace:
        here = active("an access to shared memory")
        if here is not self._trace:
            raise ForeignRegisterError(self.name, self._trace.name, here.name)
        return here

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the symbol operand, the address of the first element."""
        return SharedAddress(self.name, 0, self._trace).__ptx_operand__(trace)


# The number of dimensions determines the type of `s[i]`. Subclasses of SharedAlloc declare this type for type checkers.
class SharedVector(SharedAlloc):
    """A one-dimensional allocation: one index selects an element."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __getitem__(self, index: object) -> Reg: ...


class SharedMatrix(SharedAlloc):
    """A two-dimensional allocation: one index selects a row, two an element."""

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: tuple[object, object]) -> Reg: ...
        @overload
        def __getitem__(self, index: SupportsIndex | Reg) -> SharedSlice: ...
        @overload
        def __getitem__(self, index: object) -> Reg | SharedSlice: ...
        def __getitem__(self, index: object) -> Reg | SharedSlice: ...


class SharedStages(SharedAlloc):
    """A three-dimensional allocation: one index selects a stage, two a row of a stage, three an element."""

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: tuple[object, object, object]) -> Reg: ...
        @overload
        def __getitem__(self, index: SupportsIndex | Reg | tuple[object, object]) -> SharedSlice: ...
        @overload
        def __getitem__(self, index: object) -> Reg | SharedSlice: ...
        def __getitem__(self, index: object) -> Reg | SharedSlice: ...


OF_RANK: dict[int, type[SharedAlloc]] = {1: SharedVector, 2: SharedMatrix, 3: SharedStages}
"""Number of dimensions -> class of an allocation; SharedAlloc for any other number."""


class SharedSlice(SharedAddress):
    """Address of the stage, row or element that indices of an allocation's first dimensions select."""

    __slots__ = ("alloc", "indices")

    def __init__(self, alloc: SharedAlloc, indices: tuple[object, ...]) -> None:
        """Compute the address of the slice; one register index emits two instructions (more if the swizzle applies)."""
        if len(indices) > len(alloc.shape):
            raise RegisterIndexError(f"{alloc.name} has {len(alloc.shape)} dimensions, got {len(indices)} indices")
        self.alloc = alloc
        self.indices = indices
        # A swizzle does not change the start of a stage whose size is a multiple of the swizzle period.
        place = alloc._at(indices)  # noqa: SLF001  the two classes are one thing
        super().__init__(place.name, place.byte_offset, place.trace, place.register, place.layout)

    @property
    def stage(self) -> object:
        """The index of the first dimension, which usually is the pipeline stage."""
        return self.indices[0]

    @property
    def dtype(self) -> PtxType:
        """The type of the allocation's elements."""
        return self.alloc.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the allocation's dimensions that have no index."""
        return self.alloc.shape[len(self.indices) :]

    @property
    def swizzle(self) -> str | None:
        """The name of the allocation's swizzle; None without a swizzle."""
        return self.alloc.swizzle

    def __repr__(self) -> str:
        """Return the allocation's name and the indices as text."""
        return f"SharedSlice({self.alloc.name!r}[{', '.join(map(repr, self.indices))}])"

    def __getitem__(self, index: object) -> Reg | SharedSlice:
        """Index the remaining dimensions: load an element if all have an index, else return the address of a slice."""
        indices = (*self.indices, *_indices(index))
        if len(indices) == len(self.alloc.shape):
            return self.alloc.load(*indices)
        return SharedSlice(self.alloc, indices)

    def __setitem__(self, index: object, value: object) -> None:
        """Emit a store to the element at an index for each remaining dimension."""
        self.alloc.store(value, *self.indices, *_indices(index))


def refuse_plain_offset(base: object, offset: int) -> None:
    """Raise OperandError for an offset from `base` at which a swizzle puts another element than row-major order."""
    if isinstance(base, SharedAlloc):
        place, swizzle = 0, find_swizzle(base.swizzle)
    elif isinstance(base, SharedAddress):
        place, swizzle = base.byte_offset, base.layout
    else:
        return
    # A swizzle is its own inverse: applied twice, it gives the original byte offset.
    if swizzle is not None and swizzle.apply(swizzle.apply(place) + offset) != place + offset:
        raise OperandError(
            f"an offset of {offset} bytes in {base.name} reaches another element, due to the swizzle {swizzle.name}",
            help=f"index the element, {base.name}[row, column]; to ignore the swizzle, move the address to a register "
            "first: ptx.mov(u32, register, address)",
        )


def refuse_element(value: Handle) -> None:
    """Raise OperandError if an address operand is the value of an element that `s[i]` loaded."""
    name = _elements(value.trace).get(value.raw_name)
    if name is not None and value.dtype.bits <= u32.bits:
        raise OperandError(
            f"{value.raw_name} is the value of an element of {name}, not an address",
            help="write s.address(i) for the address of an element; s.load(i) loads an element that is itself an "
            "address",
        )


def _elements(trace: Trace) -> dict[str, str]:
    """Return the trace's dict of register -> allocation name, for registers that `s[i]` loaded from shared memory."""
    found = trace.notes.get(_ELEMENTS)
    if found is None:
        found = trace.notes[_ELEMENTS] = dict[str, str]()
    return cast("dict[str, str]", found)


def load(dtype: PtxType, address: object) -> Reg:
    """Emit `ld.shared` of type `dtype` into a fresh register and return it."""
    trace = active("smem.load")
    if dtype.memory is None:
        raise RegisterTypeError(f"{dtype} cannot be loaded from memory", help="load a u8 and compare the u8 with 0")
    result = trace.fresh(dtype)
    trace.emit(("ld", "shared", dtype.memory), (result, _bracketed(address)))
    return result


def store(dtype: PtxType, address: object, value: object) -> None:
    """Emit `st.shared` of a register or number as type `dtype`."""
    trace = active("smem.store")
    if dtype.memory is None:
        raise RegisterTypeError(f"{dtype} cannot be stored to memory", help="select a u8 with ptx.selp first")
    if isinstance(value, Handle):
        _check_stored(dtype, value)
        operand: object = value
    else:
        operand = operators.immediate(dtype, value)
    trace.emit(("st", "shared", dtype.memory), (_bracketed(address), operand))


def _unswizzled(swizzle: Swizzle, constant: int, terms: list[tuple[Handle, int]]) -> bool:
    """Return whether a swizzle leaves an offset unchanged: `constant` and index strides are multiples of its period."""
    return all(step % swizzle.period == 0 for step in (constant, *(stride for _, stride in terms)))


def _indices(index: object) -> tuple[object, ...]:
    items = as_items(index)
    return (index,) if items is None else tuple(items)


def index_register(index: Handle) -> Handle:
    """Return an index register, copied if it is special; raise RegisterTypeError unless it is a 32-bit integer."""
    if not index.dtype.is_integer or index.dtype.bits != u32.bits:
        raise RegisterTypeError(
            f"a {index.dtype} register cannot index shared memory",
            help="convert the index to a 32-bit integer with ptx.cvt",
        )
    return operators.staged(index)


def _bracketed(address: object) -> object:
    if isinstance(address, AddressOperand | tree.Address):
        return address
    return AddressOperand(address)


def _check_stored(dtype: PtxType, value: Handle) -> None:
    """Raise RegisterTypeError for a stored register whose width or number format differs from type `dtype`."""
    wide_enough = dtype.bits < b8.bits * 2 and value.dtype.bits <= b64.bits and value.dtype.is_integer
    kinds = {dtype.kind, value.dtype.kind}
    mixed = kinds > {"float"} and kinds & {"signed", "unsigned"}
    other_float = kinds == {"float"} and dtype is not value.dtype and {dtype.name, value.dtype.name} != {"f32", "tf32"}
    if (value.dtype.bits != dtype.bits and not wide_enough) or mixed or other_float or value.dtype.kind == "pred":
        raise RegisterTypeError(
            f"cannot store a {value.dtype} register as {dtype}",
            help="convert the register with ptx.cvt, or move its bits with ptx.mov",
        )
