"""`tensormap.replace` and `tensormap.cp_fenceproxy`: tensor maps modified by kernels.

Manual: "tensormap.replace", "tensormap.cp_fenceproxy".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_arch_hopper.sim.fences import TENSOR_MAPS
from pyptx_arch_hopper.sim.tma.map_fields import FIELDS, SIZE, replaced
from pyptx_arch_hopper.sim.tma.maps import ALIGNMENT
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.extension import InstructionSemantics

if TYPE_CHECKING:
    from pyptx_sim.extension import AccessKind, Action, ExecutionContext, IntArray, Operands

# Tensor map fields with one value per dimension.
_LISTS = frozenset({"box_dim", "global_dim", "element_stride", "global_stride"})
# State spaces of a tensor map that tensormap.replace can modify. Manual: "tensormap.replace".
_SPACES = frozenset({"global", "shared"})
# Tensor map fields whose value is the number of a mode, and the number of modes that the simulator implements.
_MODES = {"elemtype": 16, "interleave_layout": 3, "swizzle_mode": 4, "swizzle_atomicity": 4, "fill_mode": 2}


def compile_tensor_map(operands: Operands) -> Action:
    """Return the action of tensormap.replace or tensormap.cp_fenceproxy."""
    return _compile_replace(operands) if operands.word("replace") else _compile_copy(operands)


def _compile_replace(operands: Operands) -> Action:
    field = operands.word("field") or next(filter(operands.word, _MODES))
    ordinal = operands.number("ordinal") if field in _LISTS else 0
    value = operands.names[-1]
    if field in _MODES and operands.number(value) >= _MODES[field]:
        raise MissingSemantics(f"no simulator semantics for tensor maps with .{field} {operands.number(value)}")
    place, new = operands.place("addr"), operands.source(value, operands.word("b64") or "b32")
    if (field, ordinal) not in FIELDS:
        last = max(number for name, number in FIELDS if name == field)
        message = f"invalid ordinal {ordinal} of .{field}: must be 0 to {last}"
        help = "use the ordinal of a dimension; .global_stride has none for the innermost one"
        return operands.action(lambda turn: turn.misuse("tensor-map", message, help))

    def replace(turn: ExecutionContext) -> None:
        for part, memory, addresses in turn.by_memory(place):
            if memory not in _SPACES:
                message = f"tensormap.replace of a tensor map in {memory} memory"
                part.misuse("tensor-map", message, "copy the map to global or shared memory first")
                continue
            found = _accessed(part, memory, addresses, "read", "write")
            if found is None:
                continue
            some, offsets = found
            for offset, number in zip(offsets.tolist(), some.each(new).tolist(), strict=True):
                _edit(some, memory, offset, (field, ordinal, number))

    return operands.action(replace)


def _accessed(
    turn: ExecutionContext, memory: str, addresses: IntArray, *kinds: AccessKind
) -> tuple[ExecutionContext, IntArray] | None:
    """Return the threads with a valid tensor map address, and the map's offset for each; record their accesses."""
    found = turn.located(memory, addresses, SIZE, kinds[-1], alignment=ALIGNMENT)
    if found is not None:
        for kind in kinds:
            found[0].accessed(memory, found[1], SIZE, kind)
    return found


def _edit(turn: ExecutionContext, memory: str, offset: int, change: tuple[str, int, int]) -> None:
    """Replace a tensor map field; `change`: field, ordinal, value. 128 zero bytes are a map without valid fields."""
    arena = turn.memory(memory).arena
    edited = replaced(arena.bytes_at(offset, SIZE), *change)
    if edited is None:
        message = f"tensormap.replace.{change[0]} of 128 bytes that are not a valid tensor map"
        help = "copy an encoded tensor map to this address first, or zero the 128 bytes and replace every field"
        turn.misuse("tensor-map", message, help)
        return
    arena.set_bytes(offset, edited)
    turn.changed()


def _compile_copy(operands: Operands) -> Action:
    """Copy a 128-byte tensor map from shared to global memory, once per warp, and release it to the tensormap proxy."""
    into, out_of = operands.place("dst", "global"), operands.place("src", "shared")

    def copy(turn: ExecutionContext) -> None:
        one = turn.first_lanes()
        written = [_accessed(part, memory, at, "write") for part, memory, at in one.by_memory(into)]
        read = [_accessed(part, memory, at, "read") for part, memory, at in one.by_memory(out_of)]
        targets, sources = ([found[1] for found in ends if found is not None] for ends in (written, read))
        if len(targets) == len(sources) == 1 and len(targets[0]) == len(sources[0]):
            to, start = turn.memory("global").arena, turn.memory("shared").arena
            for target, source in zip(targets[0].tolist(), sources[0].tolist(), strict=True):
                to.set_bytes(target, start.bytes_at(source, SIZE))
            turn.changed()
        turn.release_to(TENSOR_MAPS)

    return operands.action(copy)


def map_fence(operands: Operands) -> Action:
    """Release a thread's writes to the tensormap proxy, or acquire one map for the proxy. Manual: "membar, fence"."""
    if operands.word("release"):
        return operands.action(lambda turn: turn.release_to(TENSOR_MAPS))
    place = operands.place("addr", "generic")

    def acquire(turn: ExecutionContext) -> None:
        for part, memory, addresses in turn.by_memory(place):
            if memory != "global":
                message = f"fence.proxy.tensormap acquire of a tensor map in {memory} memory"
                part.misuse("tensor-map", message, "acquire only maps in global memory, which kernels can modify")
                continue
            found = part.located(memory, addresses, SIZE, alignment=ALIGNMENT)
            if found is not None:
                found[0].acquire_through(TENSOR_MAPS, memory, found[1], SIZE)

    return operands.action(acquire)


STEPS: Final = (
    InstructionSemantics(opcode="tensormap", effect="access", compile=compile_tensor_map),
    InstructionSemantics(opcode="fence.proxy.tensormap::generic", effect="order", compile=map_fence),
)
