"""`mov`: registers, constants, addresses, packing and unpacking. Manual: "mov"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.syntax.operands import Symbol
from pyptx_sim.instructions.memory.addresses import read_address
from pyptx_sim.program.scopes import FunctionBinding, LabelBinding
from pyptx_sim.types import B128, DType

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader, Writer
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array


def compile_move(operands: Operands) -> Action:
    """Move a value; a vector on either side packs or unpacks."""
    destination, source = operands.named("d"), operands.named("a")
    outs, ins = operands.elements(destination), operands.elements(source)
    if len(outs) > 1 and len(ins) == 1:
        return _unpack(operands, outs, source)
    if len(ins) > 1 and len(outs) == 1:
        return _pack(operands, destination, ins)
    return _copy(operands, outs, ins)


def _copy(operands: Operands, outs: tuple[Operand, ...], ins: tuple[Operand, ...]) -> Action:
    pairs = [
        (operands.write(out, ptx_type), _source(operands, given, ptx_type))
        for out, given, ptx_type in zip(outs, ins, operands.types("d"), strict=True)
    ]
    if len(pairs) == 1:
        write, read = pairs[0]
        return lambda wave, lanes: write(wave, lanes, read(wave, lanes))

    def step(wave: Wave, lanes: Lanes) -> None:
        values = [read(wave, lanes) for _, read in pairs]
        for (write, _), value in zip(pairs, values, strict=True):
            write(wave, lanes, value)

    return step


def _source(operands: Operands, operand: Operand, ptx_type: str) -> Reader:
    if isinstance(operand, Symbol):
        found = operands.scope.find(operand.name)
        if isinstance(found, LabelBinding):
            operands.fail(f"the address of the label {operand.name} cannot be taken")
        if isinstance(found, FunctionBinding):
            return operands.read(operand, ptx_type)
    return read_address(operands, operand, ptx_type) or operands.read(operand, ptx_type)


def _pack(operands: Operands, destination: Operand, ins: tuple[Operand, ...]) -> Action:
    (ptx_type,), (part, *_) = operands.types("d"), operands.types("a")
    readers = [operands.read(given, part) for given in operands.defined(ins)]
    write = operands.write(destination, ptx_type)
    dtype = _integer(ptx_type)
    shift = int(part[1:])

    def step(wave: Wave, lanes: Lanes) -> None:
        values = [read(wave, lanes) for read in readers]
        write(wave, lanes, _pack128(values) if dtype == B128 else _joined(values, dtype, shift))

    return step


def _joined(values: list[Array], dtype: DType, shift: int) -> Array:
    total = values[0].astype(dtype)
    for position, value in enumerate(values[1:], 1):
        total = total | (value.astype(dtype) << dtype.type(position * shift))
    return total


def _pack128(values: list[Array]) -> Array:
    if len(values) != 2:
        words = np.dtype(np.uint64)
        values = [_joined(values[:2], words, 32), _joined(values[2:], words, 32)]
    packed = np.empty(np.broadcast_shapes(*(value.shape for value in values)), B128)
    packed["lo"], packed["hi"] = values
    return packed


def _unpack(operands: Operands, outs: tuple[Operand, ...], source: Operand) -> Action:
    (part, *_), (ptx_type,) = operands.types("d"), operands.types("a")
    read = operands.read(source, ptx_type)
    writers = [operands.write(out, part) for out in outs]
    if ptx_type == "b128":
        return _unpack128(read, writers)
    dtype, narrow = _integer(ptx_type), np.dtype(f"<u{int(part[1:]) // 8}")
    shift = int(part[1:])

    def step(wave: Wave, lanes: Lanes) -> None:
        value = read(wave, lanes).view(dtype)
        for position, write in enumerate(writers):
            write(wave, lanes, (value >> dtype.type(position * shift)).astype(narrow))

    return step


def _unpack128(read: Reader, writers: list[Writer]) -> Action:
    def step(wave: Wave, lanes: Lanes) -> None:
        value = read(wave, lanes)
        halves = [value["lo"], value["hi"]]
        if len(writers) != 2:
            halves = [
                part for half in halves for part in (half.astype(np.uint32), (half >> np.uint64(32)).astype(np.uint32))
            ]
        for write, half in zip(writers, halves, strict=True):
            write(wave, lanes, half)

    return step


def _integer(ptx_type: str) -> DType:
    bits = int(ptx_type.lstrip("busf"))
    return B128 if bits == 128 else np.dtype(f"<u{bits // 8}")
