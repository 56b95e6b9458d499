"""Regions of tensor memory: lanes and columns of an allocation, sliced, checked and drawn.

Manual: "Tensor Memory Addressing", "Access restrictions". An address has the lane in its upper and the column in its
lower 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import OperandError, RegisterIndexError, RegisterTypeError
from pyptx_dsl.registers.operands import AddressOperand, as_count
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import b32, u32

if TYPE_CHECKING:
    from pyptx_arch_blackwell.tensor_memory_map import TensorMemoryPart
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_ir.syntax.operands import Operand

__all__ = ["COLUMNS", "LANES", "TensorMemory"]

LANES, COLUMNS = 128, 512
_QUARTER = 32
_LANE_SHIFT = 16
_SHOWN_COLUMNS = 64


@dataclass(frozen=True, slots=True, eq=False)
class TensorMemory:
    """Lanes and columns of tensor memory: the address operand of `mma`, `ld`, `st`, `cp` and `shift`.

    A slice of a region `t` is a region: `t[32:64, 0:128]` has 32 lanes and 128 columns, `t[:, 64:]` has all lanes and
    the columns from 64 on. Indices count from the region's first lane and column, at which an instruction with this
    operand starts. `base` is the register with the address of the allocation; the first lane and column are encoded in
    the instruction as a constant offset from `base`.
    """

    base: Reg
    first_lane: int = 0
    lanes: int = LANES
    first_column: int = 0
    columns: int = COLUMNS

    @property
    def offset(self) -> int:
        """Offset from the address in `base`: lane << 16 | column."""
        return self.first_lane << _LANE_SHIFT | self.first_column

    def tensor_memory_address(self) -> AddressOperand:
        """Return the operand `[base+offset]`."""
        return AddressOperand(self.base, self.offset)

    def __ptx_operand__(self, trace: Trace) -> Operand:
        """Return the register with the allocation's address; raise OperandError for a region with an offset."""
        if self.offset:
            raise OperandError(
                f"{self!r} is a region with an offset, not a register",
                help="pass the region's address in a register: region.address()",
            )
        return self.base.__ptx_operand__(trace)

    def address(self) -> Reg:
        """Return a register with the region's address: `base` without an offset, else the result of one `add.u32`."""
        if not self.offset:
            return self.base
        trace = active("TensorMemory.address")
        result = trace.fresh(b32)
        trace.emit(("add", "u32"), (result, self.base, self.offset))
        return result

    def __getitem__(self, index: object) -> TensorMemory:
        """Return a subregion: `t[lanes, columns]`, with slices of numbers; `t[lanes]` has all columns."""
        parts = cast("tuple[object, ...]", index) if isinstance(index, tuple) else (index,)
        if len(parts) > 2:
            raise OperandError(
                f"tensor memory has two dimensions (lanes, columns), got {len(parts)} indices", help="t[0:32, 0:64]"
            )
        every = (*parts, *(slice(None),) * (2 - len(parts)))
        lane, lanes = _extent("lanes", every[0], self.lanes)
        column, columns = _extent("columns", every[1], self.columns)
        return replace(
            self,
            first_lane=self.first_lane + lane,
            lanes=lanes,
            first_column=self.first_column + column,
            columns=columns,
        )

    def quarter(self, warp: object) -> TensorMemory:
        """Return the lane quarter that a warp can load and store: number `warp % 4`, the warp's index in the warpgroup.

        Emits nothing for a number, for a register two instructions, `and.b32` and `mad.lo.u32`. Manual: "Access
        restrictions".
        """
        if self.lanes != LANES:
            raise OperandError(
                f"quarter() needs all 128 lanes, got {self!r}",
                help="take the quarter before the columns: t.quarter(warp)[:, 0:64]",
            )
        number = as_count(warp)
        if number is not None:
            return self[_QUARTER * (number % 4) : _QUARTER * (number % 4 + 1)]
        if not isinstance(warp, Reg):
            raise OperandError(f"quarter() needs a warp index, got {warp!r}", help="pass a number or a 32-bit register")
        if not warp.dtype.is_integer or warp.dtype.bits != u32.bits:
            raise RegisterTypeError(
                f"quarter() needs a 32-bit warp index, got the {warp.dtype} register {warp.raw_name}"
            )
        trace = active("TensorMemory.quarter")
        place, base = trace.fresh(u32), trace.fresh(b32)
        trace.emit(("and", "b32"), (place, warp, 3))
        trace.emit(("mad", "lo", "u32"), (base, place, _QUARTER << _LANE_SHIFT, self.base))
        return replace(self, base=base, lanes=_QUARTER)

    def advance(self, columns: int, times: Reg) -> TensorMemory:
        """Return the region `times * columns` columns further, with one `mad.lo.u32`; `times` is a 32-bit register.

        The result is as large as this region: `t[:, 0:256].advance(256, times=stage)` is one stage of a ring.
        """
        trace = active("TensorMemory.advance")
        base = trace.fresh(b32)
        trace.emit(("mad", "lo", "u32"), (base, times, columns, self.base))
        return replace(self, base=base)

    def __repr__(self) -> str:
        """Return the region's lanes and columns as text."""
        lanes = f"{self.first_lane}:{self.first_lane + self.lanes}"
        columns = f"{self.first_column}:{self.first_column + self.columns}"
        return f"TensorMemory({self.base.raw_name}, lanes {lanes}, columns {columns})"

    def __str__(self) -> str:
        """Return a picture of the region: per lane quarter, its columns and the warp that can access them."""
        last_lane, last_column = self.first_lane + self.lanes, self.first_column + self.columns
        rows = [
            f"tensor memory: lanes {self.first_lane}-{last_lane - 1}, columns {self.first_column}-{last_column - 1}"
        ]
        marks = [
            "#" if self.first_column <= column < last_column else "."
            for column in range(0, COLUMNS, _SHOWN_COLUMNS // 4)
        ]
        for quarter in range(4):
            first = quarter * _QUARTER
            inside = self.first_lane < first + _QUARTER and first < last_lane
            bar = "".join(mark if inside else "." for mark in marks)
            rows.append(f"lanes {first:3}-{first + _QUARTER - 1:3}  {bar}  warp {quarter} of a warpgroup")
        rows.append(f"each character is {_SHOWN_COLUMNS // 4} columns of 32 bits")
        return "\n".join(rows)

    def part(self, name: str) -> TensorMemoryPart:
        """Return the region as a named part of a `TensorMemoryMap`, relative to the address in `base`."""
        from pyptx_arch_blackwell.tensor_memory_map import TensorMemoryPart

        return TensorMemoryPart(name, self.first_lane, self.lanes, self.first_column, self.columns)

    def _repr_html_(self) -> str:
        """Return a drawing of the region for notebooks."""
        from pyptx_arch_blackwell.tensor_memory_map import TensorMemoryMap

        return TensorMemoryMap(repr(self), (self.part(self.base.raw_name),))._repr_html_()


def _bounds(index: object, size: int) -> tuple[int | None, int | None]:
    """Return the start and end of a lane or column index or slice; None for bounds that are not numbers."""
    if not isinstance(index, slice):
        number = as_count(index)
        return number, None if number is None else number + 1
    parts = cast("slice[object, object, object]", index)
    if parts.step not in (None, 1):
        return None, None
    return (0 if parts.start is None else as_count(parts.start), size if parts.stop is None else as_count(parts.stop))


def _extent(name: str, index: object, size: int) -> tuple[int, int]:
    """Return the start and length of an index or slice of lanes or columns."""
    start, stop = _bounds(index, size)
    if start is None or stop is None:
        raise OperandError(
            f"{name} of tensor memory must be a slice of numbers, got {index!r}",
            help="use t.quarter(warp) or t.advance(columns, times=stage) for a position in a register",
        )
    if not 0 <= start < stop <= size:
        raise RegisterIndexError(f"{name} {start}:{stop} is out of range: the region has {size} {name}")
    return start, stop - start
