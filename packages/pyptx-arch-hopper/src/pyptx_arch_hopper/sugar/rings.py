"""Waits for a stage of a ring: the barrier's address and the poll are one call, `full.at(stage).wait(phase)`.

What computes the address must stand right in front of the wait, or of one instruction that computes the phase, which
becomes the argument. Where it stands apart (compilers hoist it out of loops), both are said as they are.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.instructions.stage_addresses import BYTES, LOG2_BYTES
from pyptx_dsl.instructions.wait_forms import FORMS
from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.layout import call
from pyptx_transpile.plan import Claim, Constant
from pyptx_transpile.rules.wait_shapes import waits
from pyptx_transpile.rules.waits import common, keywords, literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_transpile.body_printer import BodyPrinter
    from pyptx_transpile.layout import Expression
    from pyptx_transpile.plan import Plan, Slot
    from pyptx_transpile.rows import Body, Row
    from pyptx_transpile.rules.wait_shapes import Found
    from pyptx_transpile.rules.waits import Options

__all__ = ["RING", "find"]

_STEPS = frozenset({"shl", "mul", "cvt", "mov", "add"})
_FEWEST, _MOST = 2, 6  # steps
_RINGS_OF_A_NAME = 3  # which are reserved: see pyptx_transpile.names
Said: TypeAlias = "tuple[int, str, Options]"
"""What is said of a ring at the head of a file: where it begins, the steps to a stage, and how one waits."""


@dataclass(slots=True)
class _Address:
    """The sum that a row of instructions computes, as far as it was read."""

    stage: tree.Operand | None = None
    value: tree.Operand | None = None
    base: tree.Operand | None = None
    moved: tree.Operand | None = None
    offset: int | None = None

    def takes(self, node: nodes.Instruction) -> bool:
        """Read an instruction; tell whether it is the next step to an address."""
        result, *sources = node.operands
        match node.opcode[0], sources:
            case ("shl" | "mul") as scale, [stage, tree.Immediate(number)] if self.stage is None:
                self.stage, self.value = stage, result
                return number == str(LOG2_BYTES if scale == "shl" else BYTES)
            case "cvt", [source] if source == self.value:
                self.value = result
            case "mov", [source] if self.base is None and self.moved is None:
                self.base, self.moved = source, result
            case "add", [base, value] if value == self.value and self.moved in {None, base} and self.offset is None:
                self.base, self.moved = self.base or base, base
                self.value, self.offset = result, 0
            case "add", [value, tree.Immediate(number)] if value == self.value and self.offset == 0:
                self.value, self.offset = result, int(number) if number.isdecimal() else None
                return bool(self.offset)
            case _:
                return False
        return True


@dataclass(frozen=True, slots=True)
class _Ring:
    """A wait for a stage: the place and the steps of its address, and what they add up.

    `phase` is the instruction between the two that computes the phase, if one does.
    """

    found: Found
    start: int
    phase: nodes.Instruction | None
    steps: tuple[nodes.Instruction, ...]
    address: _Address
    offset: int

    @property
    def said(self) -> Said:
        """What other waits may have too."""
        return self.offset, " ".join([".".join(node.opcode) for node in self.steps]), common(self.found)


def find(body: Body, _plan: Plan) -> Iterator[Claim]:
    """Yield a claim for each wait with its address."""
    for ring in _rings(body):
        constant = body.row.derived(_named).get(ring.said)
        if constant is not None:
            yield _claim(ring, constant)


def _rings(body: Body) -> Iterator[_Ring]:
    """Yield the waits of a body whose address is computed right in front of them, with the most steps that fit."""
    for found in waits(body):
        if found.computed or body.deviates(found.start):
            continue
        end = found.start - (_phase(body, found) is not None)
        first = end
        while first > max(end - _MOST, body.start) and _is_step(body, first - 1):
            first -= 1
        read = (_read(body, found, range(start, end)) for start in range(first, end - _FEWEST + 1))
        ring = next(filter(None, read), None)
        if ring is not None:
            yield ring


def _phase(body: Body, found: Found) -> nodes.Instruction | None:
    """Return the instruction in front of a wait if that computes its phase."""
    at = found.start - 1
    node = body.instruction(at) if at >= body.start and not body.deviates(at) else None
    if node is None or node.guard is not None or not node.operands:
        return None
    return node if node.operands[0] == found.operands["phase"] else None


def _is_step(body: Body, at: int) -> bool:
    node = body.instruction(at)
    return node is not None and node.guard is None and node.opcode[0] in _STEPS and bool(node.operands)


def _read(body: Body, found: Found, places: range) -> _Ring | None:
    """Return the ring whose address some instructions compute; None if that is another sum."""
    steps = tuple(map(body.branch, places))
    if any(map(body.deviates, places[1:])):
        return None
    address, mbar = _Address(), found.operands["mbar"]
    if not all(map(address.takes, steps)) or not isinstance(mbar, tree.Address) or mbar.base != address.value:
        return None
    behind = 0 if mbar.offset is None else _number(mbar.offset)
    if address.offset is None or behind is None or (behind and address.offset):
        return None
    return _Ring(found, places.start, _phase(body, found), steps, address, address.offset or behind)


def _number(operand: tree.Operand) -> int | None:
    return int(operand.text) if isinstance(operand, tree.Immediate) and operand.text.isdecimal() else None


def _claim(ring: _Ring, constant: Constant) -> Claim:
    found = ring.found

    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        printer.deviation(ring.start)
        stage, base = ring.address.stage, ring.address.base
        if stage is None or base is None:
            raise TypeError("an address has a stage and a base")
        phase = printer.values.expression(found.operands["phase"]) if ring.phase is None else printer.called(ring.phase)
        temps = printer.values.vector(tuple([node.operands[0] for node in ring.steps]), ())
        place = [printer.values.expression(stage), f"base={printer.values.expression(base)}", f"temps={temps}"]
        how = [phase, *keywords(printer, found, common(found))]
        printer.page.say(call(f"{constant.name}.at({', '.join(place)}).wait", how))

    loops = "again:" in FORMS[found.form].steps
    return Claim("ring", ring.start, found.end, write, opens=0, shared=(constant,), loops=loops)


# --- what rings are called --------------------------------------------------------------------------


def _named(row: Row) -> dict[Said, Constant]:
    """Return the rings of a module, each under a name: what its barriers are for, where that can be told."""
    counted, arrived = _arrivals(row)
    rings = dict.fromkeys(ring.said for body in row.bodies() for ring in _rings(body))
    numbers: defaultdict[str, int] = defaultdict(int)
    named: dict[Said, Constant] = {}
    for said in rings:
        name = "full" if said[0] in counted else "empty" if said[0] in arrived else "barriers"
        numbers[name] += 1
        if numbers[name] <= _RINGS_OF_A_NAME:
            numbered = name if numbers[name] == 1 else f"{name}_{numbers[name]}"
            named[said] = Constant(numbered, _said(said))
    return named


def _said(said: Said) -> Expression:
    offset, address, options = said
    more = [] if offset == 0 else [f"byte_offset={offset}"]
    return call("ptx.mbarrier.ring", [*more, f"address={literal(address)}", *_written(options)])


def _written(options: Options) -> Sequence[str]:
    return [f"{name}={literal(value)}" for name, value in options]


def _arrivals(row: Row) -> tuple[set[int], set[int]]:
    """Return how far behind their bases the barriers lie that count bytes, which full ones do, and others' arrivals."""
    counted: set[int] = set()
    arrived: set[int] = set()
    for body in row.bodies():
        added: dict[tree.Operand, int] = {}
        for at in range(body.start, body.end):
            node = body.instruction(at)
            match node:
                case nodes.Instruction(("add", *_), (result, _, tree.Immediate(number))) if number.isdecimal():
                    added[result] = int(number)
                case nodes.Instruction(("mbarrier", "arrive", *words), operands):
                    (counted if "expect_tx" in words else arrived).update(_distances(operands, added))
                case _:
                    pass
    return counted, arrived - counted


def _distances(operands: Sequence[tree.Operand], added: dict[tree.Operand, int]) -> Iterator[int]:
    """Yield how far behind its base the barrier lies that operands name, if it lies behind one."""
    for operand in operands:
        if isinstance(operand, tree.Address):
            distance = _number(operand.offset) if operand.offset is not None else added.get(operand.base)
            yield from () if distance is None else (distance,)


RING = SugarRule(
    name="ring",
    summary="a wait for a stage of a ring, with the address of its barrier",
    before="shl.b32 %r4, %r1, 3;\n\tadd.s32 %r5, %r2, %r4;\n\tadd.s32 %r6, %r5, 64;\n"
    "$W:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p1, [%r6], %r3;\n\t@!%p1 bra $W;",
    after='barriers.at(r[1], base=r[2], temps=[r[4], r[5], r[6]]).wait(r[3], label="$W", done=p[1])',
    find=find,
)
