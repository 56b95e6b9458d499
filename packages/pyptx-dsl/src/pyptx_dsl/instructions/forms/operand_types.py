"""Types of `ptx.inst` operands for type checkers; `pyptx_dsl.registers.operands` lists the resulting PTX."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import SupportsFloat, SupportsIndex, TypeAlias

from pyptx_dsl.registers.operands import PipeRef, PtxValue
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_ir.syntax.operands import Operand

__all__ = ["Constant", "Guard", "Name", "NoResult", "Result", "TwoResults", "Value", "Values"]

Name: TypeAlias = PtxValue | Operand | str
Constant: TypeAlias = SupportsIndex | Operand | str
Value: TypeAlias = PtxValue | Operand | str | SupportsIndex | SupportsFloat
Values: TypeAlias = Sequence[Value] | RegArray | Operand
TwoResults: TypeAlias = PipeRef | Operand | str
NoResult: TypeAlias = Operand | str
Result: TypeAlias = Reg | EllipsisType
Guard: TypeAlias = Reg | None
