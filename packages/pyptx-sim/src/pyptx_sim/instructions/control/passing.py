"""Parameters of calls: transfer from a register or `.param` variable of one function to one of another function.

A scalar parameter is in a register, every other parameter in the frame of its function. Manual: "Parameter State
Space", "call".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np

from pyptx_ir.syntax.operands import Register, Symbol
from pyptx_sim.instructions.compiling.carrying import Carried
from pyptx_sim.instructions.compiling.registers import read_register, write_register
from pyptx_sim.machine.lanes import WARP, IntArray, Lanes, pick
from pyptx_sim.machine.wave import Wave
from pyptx_sim.operation import Array
from pyptx_sim.program.program import FRAME_SLOT
from pyptx_sim.program.scopes import ParameterBinding, Placement, RegisterBinding, UnsizedParameter
from pyptx_sim.types import bits_dtype, byte_size

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader, Writer
    from pyptx_sim.machine.undefined import Origin
    from pyptx_sim.program.scopes import Binding

V = TypeVar("V")
# Functions that read and write the value of a parameter at a frame base address. The value is a register array, or the
# bytes of a variable, `[rows|1, 32|1, size]`.
_Fetch: TypeAlias = Callable[[Wave, Lanes, IntArray], Array]
_Deliver: TypeAlias = Callable[[Wave, Lanes, IntArray, Array], None]


@dataclass(frozen=True, slots=True)
class Transfer(Generic[V]):
    """Transfer of one parameter: `fetch` reads its value in one call frame, `deliver` writes the value to another."""

    fetch: Callable[[Wave, Lanes, IntArray], V]
    deliver: Callable[[Wave, Lanes, IntArray, V], None]


@dataclass(frozen=True, slots=True)
class _Scalar:
    """Value of a parameter in a register, with its undefined bits and their origin."""

    value: Array
    bits: Array | None = None
    origin: Origin | None = None


def _fetch(operands: Operands, binding: Binding, ptx_type: str) -> _Fetch:
    if isinstance(binding, ParameterBinding | RegisterBinding):
        register = binding.register if isinstance(binding, ParameterBinding) else binding
        read = read_register(register, ptx_type, checked=operands.checked)
        return lambda wave, lanes, _base: read(wave, lanes)
    if isinstance(binding, Placement) and binding.space == "local":
        return _fetch_bytes(binding)
    return operands.fail("parameter must be a .param variable or a register")


def _fetch_bytes(place: Placement) -> _Fetch:
    def fetch(wave: Wave, lanes: Lanes, base: IntArray) -> Array:
        memory = wave.memories["local"]
        start = memory.flat(lanes.select(base) + np.int64(place.offset), lanes)
        where = start[:, :, None] + np.arange(place.size)
        if memory.arena.defined is None:
            return np.asarray(memory.arena.data[where])
        # Each 16-bit element has a data byte in the low half, and the mask of its defined bits in the high half.
        marks = memory.arena.defined[where].astype(np.uint16) << 8
        return np.asarray(memory.arena.data[where].astype(np.uint16) | marks)

    return fetch


def _fetch_address(operands: Operands, binding: Binding) -> _Fetch:
    """Return a function that returns the local memory address of an argument, for a parameter `.param .b8 name[]`."""
    if isinstance(binding, UnsizedParameter):
        read = read_register(binding.register, "u64", checked=operands.checked)
        return lambda wave, lanes, _base: read(wave, lanes)
    if not isinstance(binding, Placement) or binding.space != "local":
        operands.fail("expected a .param array for a parameter without a size")
    offset = np.int64(binding.offset)
    return lambda _wave, lanes, base: (lanes.select(base) + offset).astype(np.uint64)


def _deliver(operands: Operands, binding: Binding, ptx_type: str) -> _Deliver:
    if isinstance(binding, ParameterBinding | RegisterBinding):
        register = binding.register if isinstance(binding, ParameterBinding) else binding
        write = write_register(register, ptx_type, checked=operands.checked)
        return lambda wave, lanes, _base, value: write(wave, lanes, value)
    if isinstance(binding, Placement) and binding.space == "local":
        return _deliver_bytes(binding)
    return operands.fail("parameter must be a .param variable or a register")


def _deliver_bytes(place: Placement) -> _Deliver:
    def deliver(wave: Wave, lanes: Lanes, base: IntArray, value: Array) -> None:
        arena, memory = wave.memories["local"].arena, wave.memories["local"]
        start = memory.flat(lanes.select(base) + np.int64(place.offset), lanes)
        positions, columns = lanes.active
        where = pick(start, positions, columns)[:, None] + np.arange(place.size)
        full = np.broadcast_to(value, (lanes.height, WARP, value.shape[-1]))
        chosen = full[positions, columns][:, : place.size]
        where = where[:, : chosen.shape[1]]
        arena.data[where] = chosen.astype(np.uint8)
        if arena.defined is not None:
            arena.defined[where] = (chosen >> 8).astype(np.uint8) if chosen.dtype == np.uint16 else 0xFF

    return deliver


def _scalar(binding: Binding) -> tuple[str, int] | None:
    """Return the type and the size in bytes of a parameter or variable in a register; None if it is in memory."""
    if isinstance(binding, ParameterBinding):
        return binding.register.type, binding.register.width
    return (binding.type, binding.width) if isinstance(binding, RegisterBinding) else None


def pass_value(operands: Operands, source: Binding, destination: Binding) -> Transfer[Any]:
    """Return the `Transfer` of one parameter's value from the register or variable `source` to `destination`."""
    if isinstance(destination, UnsizedParameter):
        write = write_register(destination.register, "u64", checked=operands.checked)
        return Transfer(_fetch_address(operands, source), lambda wave, lanes, _base, value: write(wave, lanes, value))
    given, wanted = _scalar(source), _scalar(destination)
    if given is not None and wanted is not None:
        narrow = given[0] if given[1] <= wanted[1] else wanted[0]
        return _between_registers(operands, _register(source), _register(destination), narrow)
    if given is None and wanted is None:
        return Transfer(_fetch(operands, source, "b8"), _deliver(operands, destination, "b8"))
    if given is not None:
        bits = f"b{given[1] * 8}"
        return Transfer(_as_bytes(_fetch(operands, source, bits)), _deliver(operands, destination, "b8"))
    size = wanted[1] if wanted is not None else 0
    return Transfer(_from_bytes(_fetch(operands, source, "b8"), size), _deliver(operands, destination, f"b{size * 8}"))


def _register(binding: Binding) -> RegisterBinding:
    register = binding.register if isinstance(binding, ParameterBinding) else binding
    assert isinstance(register, RegisterBinding)  # noqa: S101 - asked of scalars only
    return register


def _between_registers(
    operands: Operands, source: RegisterBinding, destination: RegisterBinding, ptx_type: str
) -> Transfer[Any]:
    """Return the `Transfer` of a scalar with its undefined bits: compilers leave bits undefined that are never read."""
    read = read_register(source, ptx_type, checked=False)
    write = write_register(destination, ptx_type, checked=operands.checked)
    if not operands.checked:
        return Transfer(lambda wave, lanes, _base: read(wave, lanes), lambda wave, lanes, _b, v: write(wave, lanes, v))

    given, taken = Carried(source, ptx_type, operands.pc), Carried(destination, ptx_type, operands.pc)

    def fetch(wave: Wave, lanes: Lanes, _base: IntArray) -> _Scalar:
        bits = given.read(wave, lanes)
        return _Scalar(read(wave, lanes), bits, None if bits is None else given.origin(wave))

    def deliver(wave: Wave, lanes: Lanes, _base: IntArray, passed: _Scalar) -> None:
        write(wave, lanes, passed.value)
        if passed.bits is not None and passed.origin is not None:
            taken.leave(wave, lanes, passed.bits, passed.origin)

    return Transfer(fetch, deliver)


def _as_bytes(fetch: _Fetch) -> _Fetch:
    def fetch_bytes(wave: Wave, lanes: Lanes, base: IntArray) -> Array:
        return _bytes_of(fetch(wave, lanes, base))

    return fetch_bytes


def _bytes_of(value: Array) -> Array:
    whole = np.ascontiguousarray(value)
    return whole.view(np.uint8).reshape(*whole.shape, whole.itemsize)


def _from_bytes(fetch: _Fetch, size: int) -> _Fetch:
    def fetch_value(wave: Wave, lanes: Lanes, base: IntArray) -> Array:
        raw = np.ascontiguousarray(fetch(wave, lanes, base)[..., :size].astype(np.uint8))
        return raw.view(bits_dtype(size))[..., 0]

    return fetch_value


def _constant_transfer(operands: Operands, operand: Operand, destination: Binding) -> Transfer[Array]:
    """Return the `Transfer` of an immediate or a variable's address to a parameter of the callee."""
    wanted = _scalar(destination)
    if wanted is None:
        if not isinstance(destination, Placement) or destination.size != byte_size(destination.type):
            operands.fail("expected a .param array, got a constant")
        given = operands.read(operand, destination.type)
        return Transfer(_as_bytes(lambda wave, lanes, _base: given(wave, lanes)), _deliver(operands, destination, "b8"))
    read = operands.read(operand, wanted[0])
    return Transfer(lambda wave, lanes, _base: read(wave, lanes), _deliver(operands, destination, wanted[0]))


def pass_argument(operands: Operands, operand: Operand, parameter: Binding) -> Transfer[Any]:
    """Return the `Transfer` of an argument (variable, register or constant) to a parameter of the callee."""
    if isinstance(operand, Symbol | Register):
        found = operands.scope.find(operand.name)
        if isinstance(found, ParameterBinding | RegisterBinding | UnsizedParameter) or (
            isinstance(found, Placement) and found.space == "local"
        ):
            return pass_value(operands, found, parameter)
    return _constant_transfer(operands, operand, parameter)


def taker_of(operands: Operands, operand: Operand) -> Binding:
    """Return the variable or register that receives a result of a call."""
    if not isinstance(operand, Symbol | Register):
        operands.fail(f"expected a variable or register for the result of a call, got {operand!r}")
    return operands.find(operand.name)


def read_argument(operands: Operands, operand: Operand) -> Reader:
    """Return a function that reads an argument of a built-in function, widened to 64 bits."""
    found = operands.scope.find(operand.name) if isinstance(operand, Symbol | Register) else None
    if isinstance(found, Placement) and found.space == "local":
        fetch = _from_bytes(_fetch_bytes(found), found.size)
        return lambda wave, lanes: fetch(wave, lanes, full_frame_base(wave)).astype(np.uint64)
    scalar = _scalar(found) if found is not None else None
    if found is None or scalar is None:
        return operands.read(operand, "b64")
    kept = _fetch(operands, found, f"b{scalar[1] * 8}")
    return lambda wave, lanes: kept(wave, lanes, full_frame_base(wave)).astype(np.uint64)


def write_result(operands: Operands, operand: Operand) -> Writer:
    """Return a function that writes a built-in function's result to the variable or register `operand`."""
    found = taker_of(operands, operand)
    scalar = _scalar(found)
    if scalar is None:
        deliver = _deliver(operands, found, "b8")
        return lambda wave, lanes, value: deliver(wave, lanes, full_frame_base(wave), _bytes_of(value))
    dtype = np.dtype(f"<u{scalar[1]}")
    keep = _deliver(operands, found, f"b{scalar[1] * 8}")
    return lambda wave, lanes, value: keep(wave, lanes, full_frame_base(wave), value.astype(dtype))


def full_frame_base(wave: Wave) -> IntArray:
    """Return the local memory address of the running function's stack frame in every lane of the wave."""
    base = wave.registers[FRAME_SLOT]
    assert base is not None  # noqa: S101 - set when the wave starts
    return base
