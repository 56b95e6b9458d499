"""`mov`: registers, constants, addresses, packing and unpacking. Manual: "mov"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.syntax.operands import Symbol
from pyptx_sim.instructions.compiling.carrying import carrying, unchanged
from pyptx_sim.instructions.memory.addresses import read_address
from pyptx_sim.machine.memory.paired_bits import apart, paired
from pyptx_sim.program.scopes import FunctionBinding, LabelBinding
from pyptx_sim.types import B128, DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader, Writer
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask, Spread


_NONE: Final = np.zeros((1, 1), np.uint64)
_WORD: Final = np.uint64(32)


def compile_move(operands: Operands) -> Action:
    """Compile `mov`: copy a value, pack a vector of sources, or unpack into a vector of destinations."""
    destination, source = operands.named("d"), operands.named("a")
    outs, ins = operands.elements(destination), operands.elements(source)
    given = operands.unchecked()
    if len(outs) > 1 and len(ins) == 1:
        (part, *_), (whole,) = operands.types("d"), operands.types("a")
        read, writers = given.read(source, whole), [operands.write(out, part) for out in outs]
        step = _unpack(read, writers, part, whole)
        return _carrying(operands, step, (outs, part), (ins, whole), _parted(part, len(outs)))
    if len(ins) > 1 and len(outs) == 1:
        (whole,), (part, *_) = operands.types("d"), operands.types("a")
        step = _pack([given.read(each, part) for each in ins], operands.write(destination, whole), part, whole)
        return _carrying(operands, step, (outs, whole), (ins, part), _put_together(part, whole))
    (kind, *_) = operands.types("d")
    return _carrying(operands, _copy(operands, outs, ins), (outs, kind), (ins, kind), unchanged)


def _carrying(
    operands: Operands,
    step: Action,
    outs: tuple[Sequence[Operand], str],
    ins: tuple[Sequence[Operand], str],
    spread: Spread,
) -> Action:
    """Wrap `step`, a compiled `mov`: in a checked run, propagate undefined bits of sources to destinations."""
    if not operands.checked:
        return step
    read = [operands.carried(each, ins[1]) for each in ins[0]]
    return carrying(step, read, [], [operands.carried(each, outs[1]) for each in outs[0]], spread)


def _put_together(part: str, whole: str) -> Spread:
    dtype, shift = _shadow(whole), int(part[1:])

    def spread(_values: Sequence[Array], bits: Sequence[Array | None], _mask: Mask) -> Sequence[Array]:
        if whole == "b128":
            words = [_NONE if each is None else each.astype(dtype) for each in bits]
            low, high = words if shift == 64 else (words[0] | words[1] << _WORD, words[2] | words[3] << _WORD)
            return [paired(low, high)]
        total = np.zeros((1, 1), dtype)
        for position, each in enumerate(bits):
            if each is not None:
                total = total | (each.astype(dtype) << dtype.type(position * shift))
        return [total]

    return spread


def _parted(part: str, count: int) -> Spread:
    narrow, shift = _shadow(part), int(part[1:])

    def spread(_values: Sequence[Array], bits: Sequence[Array | None], _mask: Mask) -> Sequence[Array]:
        (each,) = bits
        assert each is not None  # noqa: S101 - the only source
        if shift * count == 128:
            halves = apart(each)
            return [(halves[bit // 64] >> np.uint64(bit % 64)).astype(narrow) for bit in range(0, 128, shift)]
        return [(each >> each.dtype.type(position * shift)).astype(narrow) for position in range(count)]

    return spread


def _shadow(ptx_type: str) -> np.dtype[np.unsignedinteger]:
    return np.dtype(f"<u{min(int(ptx_type.lstrip('busf')) // 8, 8)}")


def _copy(operands: Operands, outs: tuple[Operand, ...], ins: tuple[Operand, ...]) -> Action:
    given = operands.unchecked()
    pairs = [
        (operands.write(out, ptx_type), _source(given, each, ptx_type))
        for out, each, ptx_type in zip(outs, ins, operands.types("d"), strict=True)
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
            operands.fail(f"cannot take the address of label {operand.name}")
        if isinstance(found, FunctionBinding):
            return operands.read(operand, ptx_type)
    return read_address(operands, operand, ptx_type) or operands.read(operand, ptx_type)


def _pack(readers: list[Reader], write: Writer, part: str, whole: str) -> Action:
    dtype = _integer(whole)
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


def _unpack(read: Reader, writers: list[Writer], part: str, whole: str) -> Action:
    if whole == "b128":
        return _unpack128(read, writers)
    dtype, narrow = _integer(whole), np.dtype(f"<u{int(part[1:]) // 8}")
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
