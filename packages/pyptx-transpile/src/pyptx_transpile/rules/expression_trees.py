"""Construction of nested expressions: instructions are inlined where their results are used, in instruction order.

Python evaluates the operands of a call from left to right, and then the call. So an instruction can replace its result
if text order equals evaluation order: the sources of an instruction may be the last expressions before it, in order.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from pyptx_dsl.naming import to_python
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.rules.register_uses import uses_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from pyptx_transpile.reading.rows import Body
    from pyptx_transpile.reading.spelling import Operations

__all__ = ["Tree", "Trees", "call_width", "places_of_sources", "register_width"]

# Maximum estimated columns of a statement with nested calls; a wider one takes two lines, which saves no line.
_WIDEST = 100
_MOST_INSTRUCTIONS = 8  # maximum instructions that are printed as one Python expression
# Maximum elements of a vector operand printed as expressions; a longer vector is a slice of a register group.
_LONGEST_VECTOR = 3
_OF_CALL = len("ptx.inst.()")
_OF_ADDRESS = len("ptx.addr()")
_OF_INDEX = len("r[8 * i]")
_MOST_COLUMNS = (1 << 16) - 1


@dataclass(slots=True)
class Tree:
    """Printed statement: the index of its last instruction, and the instructions inlined for its source registers.

    `operator` is the operation if it is printed as an operator. `width` is the approximate number of columns, `size`
    the number of instructions. A `named` statement prints the register that it writes; others write the next temporary.
    """

    at: int
    result: str | None
    operator: str | None
    width: int
    inner: dict[str, Tree] = field(default_factory=dict[str, "Tree"])
    size: int = 1
    named: bool = False

    def like(self, origin: int) -> Hashable:
        """Return a key that two statements share if they are equal with indices relative to `origin`."""
        return self.at - origin, self.operator, tuple([each.like(origin) for each in self.inner.values()])

    def temporaries(self) -> Iterator[int]:
        """Yield the indices of the inlined instructions in evaluation order, which is text order."""
        for each in self.inner.values():
            yield from each.temporaries()
            yield each.at


class Trees:
    """Builder of statements from the instructions of one body, with as many inlined instructions as permitted."""

    def __init__(self, body: Body, operations: Operations) -> None:
        """Find the registers of the body that are used once."""
        self._body, self._operations = body, operations
        self._once = uses_of(body).once

    def statements(self, places: range, *, turn: bool) -> list[Tree | None]:
        """Return the printed statements for a range of indices; None for each index without an instruction.

        `turn`: whether the range is an iteration of a loop.
        """
        done: list[Tree | None] = []
        for at in places:
            node = self._body.instruction(at)
            if node is None:
                done.append(None)
                continue
            one = self._alone(at, node, turn=turn)
            if self._is_taken(done) and not self._body.deviates(at):
                self._take_in(one, node, done, turn=turn)
            done.append(one)
        return done

    def _alone(self, at: int, node: nodes.Instruction, *, turn: bool) -> Tree:
        """Return an instruction as a `Tree` without inlined sources; no `result` if the `Tree` cannot be inlined."""
        operator = self._operations.operator(node)
        known = node.guard is None and bool(node.operands) and self._operations.banks.type_of(node.operands[0])
        result = node.operands[0] if known and not self._body.deviates(at) else None
        sources = sum([_width(each, turn=turn) for each in node.operands[1:]]) if operator else 0
        width = len(" + ") + sources if operator else call_width(self._body, at, turn=turn)
        return Tree(at, result.name if isinstance(result, tree.Register) else None, operator, width)

    def _is_taken(self, done: Sequence[Tree | None]) -> bool:
        """Return whether the last statement of the range so far may be inlined into a later statement."""
        return bool(done) and done[-1] is not None and done[-1].result in self._once

    def _take_in(self, one: Tree, node: nodes.Instruction, done: list[Tree | None], *, turn: bool) -> None:
        """Inline the last statements into a new statement, as many as compute its sources in order."""
        sources = list(places_of_sources(node))
        taken: list[Tree] = []
        while sources and self._is_taken(done):
            last = done[-1]
            if last is None or last.result is None or last.result not in sources:
                break
            wider = one.width + last.width - register_width(last.result, turn=turn) + len("()")
            if wider > _WIDEST or one.size + last.size > _MOST_INSTRUCTIONS:
                break
            del sources[sources.index(last.result) :]
            one.width, one.size = wider, one.size + last.size
            taken.append(last)
            done.pop()
        one.inner = {each.result: each for each in reversed(taken) if each.result is not None}


def places_of_sources(node: nodes.Instruction) -> Iterator[str]:
    """Yield the registers of an instruction that an expression may replace, in text order."""
    for number, operand in enumerate(node.operands):
        match operand:
            case tree.Register(name) if number:
                yield name
            case tree.Address(base=tree.Register(name)):
                yield name
            case tree.Vector(elements) if number and len(elements) <= _LONGEST_VECTOR:
                yield from (each.name for each in elements if isinstance(each, tree.Register))
            case _:
                pass


def register_width(name: str, *, turn: bool) -> int:
    """Return the approximate columns of a register's expression; more in a loop iteration, which computes its index."""
    return _OF_INDEX if turn else len(name) + (-1 if "$" in name else 1)  # "$" marks a parameter of a helper function


def _width(operand: tree.Operand, *, turn: bool) -> int:
    """Return the approximate number of columns of an operand's Python expression."""
    if type(operand) is tree.Register:  # fast path: most operands are registers
        return register_width(operand.name, turn=turn)
    match operand:
        case tree.Symbol(name) | tree.Immediate(name):
            return len(name) + 1
        case tree.Address(base, offset):
            inner = _width(base, turn=turn)
            return _OF_ADDRESS + inner + (0 if offset is None else len(", ") + _width(offset, turn=turn))
        case tree.Vector(elements):
            return len("[]") + sum(len(", ") + _width(each, turn=turn) for each in elements[:_LONGEST_VECTOR])
        case _:
            return 2 * _OF_ADDRESS


def call_width(body: Body, at: int, *, turn: bool) -> int:
    """Return the approximate number of columns of the Python call of an instruction."""
    known = body.derived(_widths)[turn]
    if not known[at - body.start]:
        known[at - body.start] = min(_call_width(body.branch(at), turn=turn), _MOST_COLUMNS)
    return known[at - body.start]


def _widths(body: Body) -> tuple[array[int], array[int]]:
    """Return two caches of the columns of a body's calls, outside and inside loop iterations; 0 is unknown."""
    none = array("H", bytes(2 * (body.end - body.start)))
    return none, none[:]


def _call_width(node: nodes.Instruction, *, turn: bool) -> int:
    guard = 0 if node.guard is None else len(", pred=~") + register_width(node.guard.register, turn=turn)
    operands = sum([_width(each, turn=turn) for each in node.operands]) + len(", ") * (len(node.operands) - 1)
    return _opcode_width(node.opcode) + guard + max(operands, 0)


@lru_cache(maxsize=4096)
def _opcode_width(opcode: tuple[str, ...]) -> int:
    return _OF_CALL + len(".".join(map(to_python, opcode)))
