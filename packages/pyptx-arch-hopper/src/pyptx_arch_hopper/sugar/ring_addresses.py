"""Matching of consecutive instructions with which compilers compute the mbarrier address of a pipeline stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.groups.stage_addresses import BYTES, LOG2_BYTES
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_transpile.reading.rows import Body

__all__ = ["StageAddress", "distance_behind", "number", "place_in_front", "steps_text"]

_STEPS = frozenset({"shl", "mul", "cvt", "mov", "add"})
_FEWEST, _MOST = 2, 6  # minimum and maximum number of instructions that compute an mbarrier's address in a ring


@dataclass(slots=True)
class _Address:
    """Partial match of the instructions that compute an mbarrier address."""

    stage: tree.Operand | None = None
    value: tree.Operand | None = None
    base: tree.Operand | None = None
    moved: tree.Operand | None = None
    offset: int | None = None

    def takes(self, node: nodes.Instruction) -> bool:
        """Match an instruction; return whether it is the next step of the computation of an mbarrier address."""
        result, *sources = node.operands
        match node.opcode[0], sources:
            case ("shl" | "mul") as scale, [stage, tree.Immediate(times)] if self.stage is None:
                self.stage, self.value = stage, result
                return times == str(LOG2_BYTES if scale == "shl" else BYTES)
            case "cvt", [source] if source == self.value:
                self.value = result
            case "mov", [source] if self.base is None and self.moved is None:
                self.base, self.moved = source, result
            case "add", [base, value] if value == self.value and self.moved in {None, base} and self.offset is None:
                self.base, self.moved = self.base or base, base
                self.value, self.offset = result, 0
            case "add", [value, tree.Immediate(behind)] if value == self.value and self.offset == 0:
                self.value, self.offset = result, int(behind) if behind.isdecimal() else None
                return bool(self.offset)
            case _:
                return False
        return True


@dataclass(frozen=True, slots=True)
class StageAddress:
    """Address of a pipeline stage's mbarrier, computed by the instructions from index `start` on.

    `stage` is None if the instructions only add to `base`, a register with the address of the mbarrier array plus the
    stage's offset.
    """

    start: int
    steps: tuple[nodes.Instruction, ...]
    stage: tree.Operand | None
    base: tree.Operand
    offset: int


def place_in_front(body: Body, end: int, mbar: tree.Operand) -> StageAddress | None:
    """Return the mbarrier address computed directly before instruction `end`, by the longest match; else None."""
    first = end
    while first > max(end - _MOST, body.start) and _is_step(body, first - 1):
        first -= 1
    found = (_read(body, mbar, range(start, end)) for start in range(first, end - _FEWEST + 1))
    return next(filter(None, found), None)


def distance_behind(body: Body, end: int, mbar: tree.Operand) -> StageAddress | None:
    """Return the mbarrier address computed by one `add` of a constant directly before instruction `end`; else None."""
    node = body.instruction(end - 1) if end > body.start else None
    if node is None or not isinstance(mbar, tree.Address) or mbar.offset is not None:
        return None
    match node:
        case nodes.Instruction(("add", *_), (result, tree.Register() as base, tree.Immediate(text)), None):
            is_place = result == mbar.base and text.isdecimal()
            return StageAddress(end - 1, (node,), None, base, int(text)) if is_place else None
        case _:
            return None


def _is_step(body: Body, at: int) -> bool:
    node = body.instruction(at)
    return node is not None and node.guard is None and node.opcode[0] in _STEPS and bool(node.operands)


def _read(body: Body, mbar: tree.Operand, places: range) -> StageAddress | None:
    """Return the mbarrier address that instructions compute; None if they are not an address computation."""
    steps = tuple(map(body.branch, places))
    if any(map(body.deviates, places[1:])):
        return None
    address = _Address()
    if not all(map(address.takes, steps)) or not isinstance(mbar, tree.Address) or mbar.base != address.value:
        return None
    behind = 0 if mbar.offset is None else number(mbar.offset)
    if address.offset is None or behind is None or (behind and address.offset):
        return None
    if address.stage is None or address.base is None:
        return None
    return StageAddress(places.start, steps, address.stage, address.base, address.offset or behind)


def number(operand: tree.Operand) -> int | None:
    """Return the value of an unsigned decimal literal; None for other operands."""
    return int(operand.text) if isinstance(operand, tree.Immediate) and operand.text.isdecimal() else None


def steps_text(place: StageAddress) -> str:
    """Return the opcodes of the mbarrier address computation, in the format of `ptx.mbarrier.ring(form=…)`."""
    return " ".join([".".join(node.opcode) for node in place.steps])
