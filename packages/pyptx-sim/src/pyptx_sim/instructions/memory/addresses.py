"""Address operands, and the instructions that compute addresses: `cvta`, `isspacep`, `mapa`, `getctarank`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.isa.constant_values import wrapped
from pyptx_ir.syntax.operands import Address, Binary, Index, Parenthesized, Register, Symbol
from pyptx_sim.instructions.compiling.registers import Reader, read_register
from pyptx_sim.machine.lanes import IntArray, Lanes, pick
from pyptx_sim.machine.memory.access import by_space, fault
from pyptx_sim.machine.memory.spaces import SpaceMemory
from pyptx_sim.machine.memory.variables import Within, staying, variable_left
from pyptx_sim.machine.wave import Wave
from pyptx_sim.program.program import FRAME_SLOT
from pyptx_sim.program.provenance import variables_of
from pyptx_sim.program.scopes import DYNAMIC_OFFSET, ParameterBinding, Placement, UnsizedParameter
from pyptx_sim.program.windows import GLOBAL_WINDOW, LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW, WINDOWS

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.operation import Array
    from pyptx_sim.program.scopes import RegisterBinding

Target: TypeAlias = Callable[[Wave, Lanes], Iterator[tuple[SpaceMemory, Lanes, IntArray]]]

SPACES = ("global", "shared", "local", "const", "param")
_MASK64 = (1 << 64) - 1
# opcodes whose address may be invalid, so it is not checked
_HELP = frozenset({"prefetch", "prefetchu", "discard", "applypriority"})
_RANKS = 0xFF  # mask of the bits of a CTA rank that `mapa` inserts into an address


def space_of(opcode: tuple[str, ...]) -> str:
    """Return the state space in an opcode, without sub-qualifier (`shared` for `.shared::cta`); else `generic`."""
    for word in opcode[1:]:
        space = word.partition("::")[0].partition("[")[0]
        if space in SPACES:
            return space
    return "generic"


def parameter_register(operands: Operands, operand: Operand) -> ParameterBinding | None:
    """Return the `.param` variable named by an address operand, if the simulator stores it in a register; else None."""
    if not isinstance(operand, Address) or not isinstance(operand.base, Symbol):
        return None
    found = operands.find(operand.base.name)
    return found if isinstance(found, ParameterBinding) else None


def unsized(operands: Operands, operand: Operand) -> RegisterBinding | None:
    """Return the register with the local memory address of a parameter `.param .b8 name[]`; None for other operands."""
    found = operands.scope.find(operand.name) if isinstance(operand, Symbol | Register) else None
    return found.register if isinstance(found, UnsizedParameter) else None


def shared_target(operands: Operands, operand: Operand) -> Target:
    """Return a `Target` for an operand that is in shared memory, even if the opcode does not specify a space.

    Without a space the address is generic. ptxas 13.0 and 13.5 use its lower half, so an unconverted shared address
    works as well; it is reported as a note (`generic-address`).
    """
    register = operands.register(operands.address(operand).base)
    if operands.space != "generic" or register is None:
        return target(operands, operand, operands.space)
    addresses = _address_in(operands, operand, register)
    return lambda wave, lanes: by_space(wave, lanes, addresses(wave, lanes), shared=True)


def target(operands: Operands, operand: Operand, space: str) -> Target:
    """Return a `Target`: a function that yields, per state space, the lanes with addresses in it and their addresses.

    The addresses are those of the operand, relative to the space. In a checked run, the function reports addresses
    outside the variable from which they are formed.
    """
    find, within = bare_target(operands, operand, space), within_of(operands, operand)
    return find if within is None else staying(within, find)


def bare_target(operands: Operands, operand: Operand, space: str) -> Target:
    """Return a `Target` without a check of variable bounds; the caller's `Access.within` checks them faster."""
    if space == "shared::cluster":
        return _anywhere(operands, operand, "shared")
    find = _anywhere(operands, operand, space)
    return _of_own_block(find) if space == "shared" and _names_own_block(operands) else find


def within_of(operands: Operands, operand: Operand) -> Within | None:
    """Return the variable from which an address is formed; None if unknown, or if the address is surely inside it."""
    if not operands.checked or operands.opcode[0] in _HELP:
        return None
    address = operands.address(operand)
    register = operands.register(address.base) or unsized(operands, address.base)
    if register is not None:
        variable = variables_of(operands.program).get(register.slot)
    else:
        delta = _offset(operands, operand)
        variable = variable_left(*placed(operands, address.base), delta)
    return None if variable is None else Within.of(variable)


def _names_own_block(operands: Operands) -> bool:
    """Return whether the opcode requires shared addresses in the executing thread's CTA (`.shared`, `.shared::cta`)."""
    spaces = operands.form().spaces
    return "shared::cluster" not in spaces and not {"shared", "shared::cta"}.isdisjoint(spaces)


def _of_own_block(find: Target) -> Target:
    """Wrap the `Target` in `find`: shared addresses in another CTA fault. Manual: "Shared State Space"."""

    def own(wave: Wave, lanes: Lanes) -> Iterator[tuple[SpaceMemory, Lanes, IntArray]]:
        found = find(wave, lanes)
        # a `rank_base` of size 1: each cluster has one CTA
        return found if wave.rank_base.size == 1 else _checked(wave, found)

    return own


def _checked(
    wave: Wave, found: Iterator[tuple[SpaceMemory, Lanes, IntArray]]
) -> Iterator[tuple[SpaceMemory, Lanes, IntArray]]:
    size = wave.machine.launch.cluster_size
    for memory, lanes, addresses in found:
        ranks = addresses >> RANK_SHIFT
        foreign = lanes.narrowed((ranks != lanes.select(wave.rank)[:, None]) & (ranks >= 0) & (ranks < size))
        if foreign is not None:
            _report_foreign(wave, foreign, addresses)
        yield memory, lanes, addresses


def _report_foreign(wave: Wave, lanes: Lanes, addresses: IntArray) -> None:
    positions, columns = lanes.active
    address = int(pick(addresses, positions, columns)[0])
    thread = wave.geometry.thread_name(int(lanes.warps(positions[:1])[0]), int(columns[0]))
    where = wave.shared.describe(address)
    message = f".shared::cta access to shared memory of CTA {address >> RANK_SHIFT} of the cluster: {where}"
    help = "use .shared::cluster (.shared alone means .shared::cta)"
    fault(wave, "out-of-bounds", message, help, lanes.count, label=f"access by {thread}")


def _anywhere(operands: Operands, operand: Operand, space: str) -> Target:
    """Return a `Target` of an address operand that accepts a shared address in any CTA of the cluster."""
    base = operands.address(operand).base
    register = operands.register(base) or unsized(operands, base)
    if register is None:
        return _symbol_target(operands, base, _offset(operands, operand), space)
    if space == "global":
        return _in_space(space, _address_in(operands, operand, register, -GLOBAL_WINDOW))
    addresses = _address_in(operands, operand, register)
    if space == "param":
        in_entry = operands.pc in operands.program.entry.body
        return _generic(_of_parameters(addresses, WINDOWS["param"] if in_entry else LOCAL_WINDOW))
    return _generic(addresses) if space == "generic" else _in_space(space, addresses)


def _offset(operands: Operands, operand: Operand) -> int:
    """Return the constant offset of an address operand in bytes: 4 for `[%r1+4]`."""
    offset = operands.address(operand).offset
    return operands.integer(offset) if offset is not None else 0


def _address_in(
    operands: Operands, operand: Operand, register: RegisterBinding, further: int = 0
) -> Callable[[Wave, Lanes], IntArray]:
    """Return a function that reads an address: a register plus the operand's constant offset and `further` bytes."""
    read = read_register(register, f"u{register.width * 8}", checked=operands.checked)
    return _biased(read, _offset(operands, operand) + further, register.width)


def _biased(read: Reader, delta: int, width: int) -> Callable[[Wave, Lanes], IntArray]:
    """Return a function that adds `delta` to the address from `read`, modulo `256 ** width`, and returns int64."""
    if width == 8:
        bias = np.uint64(delta & _MASK64)
        if not delta:
            return lambda wave, lanes: read(wave, lanes).view(np.int64)
        return lambda wave, lanes: (read(wave, lanes) + bias).view(np.int64)
    short = np.uint32(delta & 0xFFFFFFFF)
    if not delta:
        return lambda wave, lanes: read(wave, lanes).astype(np.int64)
    return lambda wave, lanes: (read(wave, lanes) + short).astype(np.int64)


def _of_parameters(addresses: Callable[[Wave, Lanes], IntArray], window: int) -> Callable[[Wave, Lanes], IntArray]:
    """Convert addresses for `.param` accesses, from registers, to generic addresses.

    Addresses of device functions' parameters are relative to local memory, which stores these parameters. Addresses of
    the entry's parameters are generic already, except in 32-bit registers: relative to `window`. Manual: "mov", "Device
    Function Parameters".
    """

    def find(wave: Wave, lanes: Lanes) -> IntArray:
        address = addresses(wave, lanes)
        return np.where(address >> 32 == 0, address + window, address)

    return find


def _in_space(space: str, addresses: Callable[[Wave, Lanes], IntArray]) -> Target:
    def find(wave: Wave, lanes: Lanes) -> Iterator[tuple[SpaceMemory, Lanes, IntArray]]:
        yield wave.memories[space], lanes, addresses(wave, lanes)

    return find


def _generic(addresses: Callable[[Wave, Lanes], IntArray]) -> Target:
    return lambda wave, lanes: by_space(wave, lanes, addresses(wave, lanes))


def _symbol_target(operands: Operands, base: Operand, delta: int, space: str) -> Target:
    placement, offset = placed(operands, base)
    if placement is None:
        fixed = np.full((1, 1), _wrapped(offset + delta), np.int64)
        if space in {"generic", "param"}:
            return _generic(lambda _wave, _lanes: fixed)
        shift = GLOBAL_WINDOW if space == "global" else 0
        return _in_space(space, lambda _wave, _lanes: fixed - shift)
    if placement.space == "local":
        relative = np.int64(_wrapped(offset + delta))
        return _in_space("local", lambda wave, lanes: frame_base(wave, lanes) + relative)
    start = np.full((1, 1), _wrapped(offset + delta), np.int64)
    if placement.space == "shared":
        return _in_space("shared", lambda wave, lanes: start + lanes.select(wave.rank_base))
    return _in_space(placement.space, lambda _wave, _lanes: start)


def _wrapped(address: int) -> int:
    """Return a 64-bit address, reduced modulo 2^64, as a signed integer."""
    return wrapped(address, unsigned=False)


def frame_base(wave: Wave, lanes: Lanes) -> IntArray:
    """Return the local memory address of the running function's stack frame, for the executing warps."""
    base = wave.registers[FRAME_SLOT]
    assert base is not None  # noqa: S101 - set when the wave starts
    return lanes.select(base)


def placed(operands: Operands, operand: Operand) -> tuple[Placement | None, int]:
    """Return an address expression's variable and the address in its space; without a variable, None and a number."""
    if not isinstance(operand, Symbol | Index):
        operands.check_expression(operand)
    match operand:
        case Parenthesized(inner):
            return placed(operands, inner)
        case Binary("+" | "-" as op, left, right):
            placement, offset = placed(operands, left)
            delta = operands.integer(right)
            return placement, offset + delta if op == "+" else offset - delta
        case Symbol(name) if isinstance(found := operands.find(name), Placement):
            placement = operands.dynamic(found) if found.offset == DYNAMIC_OFFSET else found
            return placement, placement.offset
        case _:
            return None, operands.integer(operand)


def read_address(operands: Operands, operand: Operand, ptx_type: str) -> Reader | None:
    """Return a function that reads the address of the variable `operand`; None if it is not a variable in memory."""
    passed = unsized(operands, operand)
    if passed is not None:
        return read_register(passed, ptx_type, checked=operands.checked)
    if not isinstance(operand, Symbol | Binary | Parenthesized):
        return None
    if isinstance(operand, Symbol) and not isinstance(operands.scope.find(operand.name), Placement):
        return None
    placement, offset = placed(operands, operand)
    if placement is None:
        return None
    dtype = np.dtype(f"<u{8 if ptx_type.endswith('64') else 4}")
    if placement.space == "local":
        start = np.int64(_wrapped(offset))
        return lambda wave, lanes: (frame_base(wave, lanes) + start).astype(dtype)
    if placement.space == "shared":
        first = np.int64(_wrapped(offset))
        return lambda wave, lanes: (lanes.select(wave.rank_base) + first).astype(dtype)
    shift = {"global": GLOBAL_WINDOW, "param": WINDOWS["param"]}.get(placement.space, 0)
    value = np.full((1, 1), (offset + shift) & _MASK64, np.uint64).astype(dtype)
    return lambda _wave, _lanes: value


# --- instructions -------------------------------------------------------------------------------


def compile_cvta(operands: Operands) -> Action:
    """Compile `cvta`: convert an address of a state space to a generic address, or back. Manual: "cvta"."""
    space, ptx_type = operands.space, operands.word("size")
    # Global addresses are generic already; so are parameter addresses, unless the register has only their low 32 bits.
    shift = 0 if space in {"param", "global", "generic"} else WINDOWS[space]
    source = operands.named("a")
    read = read_address(operands, source, ptx_type) or operands.read(source, ptx_type)
    write = operands.write(operands.named("p"), ptx_type)
    bits = 64 if ptx_type.endswith("64") else 32
    delta = -shift if operands.word("to") else shift
    bias = np.array(delta & ((1 << bits) - 1), np.dtype(f"<u{bits // 8}"))[None, None]

    def step(wave: Wave, lanes: Lanes) -> None:
        value = read(wave, lanes)
        write(wave, lanes, value.view(bias.dtype) + bias if delta else value)

    def complete(wave: Wave, lanes: Lanes) -> None:
        value = read(wave, lanes).view(bias.dtype)
        write(wave, lanes, np.where(value >> np.uint64(32) == 0, value | np.uint64(WINDOWS["param"]), value))

    return complete if space == "param" and bits == 64 else step


def compile_isspacep(operands: Operands) -> Action:
    """Compile `isspacep`: test whether a generic address is in a state space. Manual: "isspacep"."""
    space, own_cta = operands.space, _names_own_block(operands)
    write, read = operands.write(operands.named("p"), "pred"), operands.read(operands.named("a"), "u64")

    def step(wave: Wave, lanes: Lanes) -> None:
        address = read(wave, lanes)
        if space == "global":
            inside = address >= np.uint64(GLOBAL_WINDOW)
        else:
            inside = address >> np.uint64(32) == np.uint64(WINDOWS[space] >> 32)
        if space == "shared" and own_cta:
            rank = (address & np.uint64(0xFFFFFFFF)) >> np.uint64(RANK_SHIFT)
            inside = inside & (rank == lanes.select(wave.rank)[:, None])
        write(wave, lanes, inside)

    return step


def compile_mapa(operands: Operands) -> Action:
    """Compile `mapa`: map a shared address to the same offset in another CTA's shared memory. Manual: "mapa"."""
    ptx_type, source = operands.word("type"), operands.named("a")
    read = read_address(operands, source, ptx_type) or operands.read(source, ptx_type)
    write, read_rank = operands.write(operands.named("d"), ptx_type), operands.read(operands.named("b"), "u32")
    dtype = np.dtype(f"<u{8 if ptx_type.endswith('64') else 4}")
    keep, shift = (
        dtype.type((SHARED_WINDOW if dtype.itemsize == 8 else 0) | ((1 << RANK_SHIFT) - 1)),
        dtype.type(RANK_SHIFT),
    )

    def step(wave: Wave, lanes: Lanes) -> None:
        # ptxas uses only the low byte of mapa's CTA rank
        ranks = (read_rank(wave, lanes) & np.uint32(_RANKS)).astype(dtype)
        write(wave, lanes, (read(wave, lanes) & keep) | (ranks << shift))

    return step


def compile_getctarank(operands: Operands) -> Action:
    """Compile `getctarank`: return the cluster rank of the CTA of a shared address. Manual: "getctarank"."""
    ptx_type, source = operands.word("type"), operands.named("a")
    read = read_address(operands, source, ptx_type) or operands.read(source, ptx_type)
    write = operands.write(operands.named("d"), "u32")

    def step(wave: Wave, lanes: Lanes) -> None:
        address: Array = read(wave, lanes).astype(np.uint32)
        write(wave, lanes, address >> np.uint32(RANK_SHIFT))

    return step
