"""Rewrites of the instructions that compute a matrix descriptor from an address to one call, `descriptor(a, 32, …)`.

Each instruction takes the result of the previous one; the last one writes the descriptor. Other instructions between
them, or instructions shared by several descriptors, are printed unchanged. The rule of an architecture decides which
sequences are descriptors and which function builds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.instructions.groups.matrix_descriptors import STEPS
from pyptx_ir.syntax import nodes, spell
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Constant, Rewrite
from pyptx_transpile.printing.layout import call
from pyptx_transpile.printing.values import WHOLE, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.layout import Expression
    from pyptx_transpile.reading.rows import Body, Row

__all__ = ["DescriptorMatch", "DescriptorSums"]

_FEWEST = 3  # minimum instructions that one matrix descriptor call replaces
Said: TypeAlias = "tuple[str, str]"
"""Properties that matrix descriptors may share: the bits other than the address, and the opcodes of the computation."""


@dataclass(frozen=True, slots=True)
class DescriptorMatch:
    """Candidate for a matrix descriptor: instructions from index `start`, and their operands other than the address.

    Operands are numbers, or parameters of helper functions.
    """

    start: int
    steps: tuple[nodes.Instruction, ...]
    taken: dict[str, tree.Operand]

    @property
    def said(self) -> Said:
        """Constant bits of the descriptor and opcodes of its instructions; other descriptors may share both."""
        return spell(self.taken["const_bits"]), " ".join([".".join(node.opcode) for node in self.steps])

    @property
    def result(self) -> tree.Operand:
        """Register to which the last instruction writes the descriptor."""
        return self.steps[-1].operands[0]


@dataclass(frozen=True, slots=True)
class DescriptorSums:
    """Finder of matrix descriptors for a rule: `among(body, found)` returns the candidates that are descriptors.

    `function` is the Python function that emits a descriptor. `names` are the Python variables to which `function` is
    bound with arguments that several descriptors share; `pyptx_transpile.reading.names` reserves these names.
    """

    rule: str
    function: str
    names: tuple[str, ...]
    among: Callable[[Body, list[DescriptorMatch]], list[DescriptorMatch]]

    def find(self, body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
        """Yield a rewrite for each candidate with the constant bits and opcodes of some descriptor of the module."""
        for found in _sums(body):
            constant = body.row.derived(self._named).get(found.said)
            if constant is not None:
                yield self._rewrite(found, constant)

    def _rewrite(self, found: DescriptorMatch, constant: Constant) -> Rewrite:
        def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
            printer.deviation(found.start)
            expression = printer.values.expression
            base, *temps = (found.steps[0].operands[1], *(node.operands[0] for node in found.steps))
            given = [expression(each) for each in (base, found.taken.get("byte_offset")) if each is not None]
            if "mask" in found.taken:
                given.append(f"mask={expression(found.taken['mask'])}")
            given.append(f"temps={printer.values.vector(tuple(temps), ())}")
            printer.page.say(call(constant.name, given))

        end = found.start + len(found.steps)
        return Rewrite(self.rule, found.start, end, write, opens=0, shared=(constant,), like=found.said)

    def _named(self, row: Row) -> dict[Said, Constant]:
        """Return a named constant for each pair of constant bits and opcodes among a module's descriptors."""
        made = [found for body in row.bodies() for found in self.among(body, list(_sums(body)))]
        shared = dict.fromkeys(found.said for found in made)
        return {said: Constant(name, self._partial(*said)) for name, said in zip(self.names, shared, strict=False)}

    def _partial(self, const_bits: str, steps: str) -> Expression:
        return call("partial", [self.function, f"const_bits={const_bits}", f"steps={quoted(steps)}"])


def _sums(body: Body) -> Iterator[DescriptorMatch]:
    """Yield the descriptor candidates of a body, each with all instructions that compute the descriptor."""
    for at in body.places("or"):
        found = _read(body, at)
        if found is not None:
            yield found


def _read(body: Body, last: int) -> DescriptorMatch | None:
    """Return the descriptor candidate whose last instruction is at `last`; None if the instructions do not match."""
    steps: list[nodes.Instruction] = []
    taken: dict[str, tree.Operand] = {}
    at, wanted = last, body.branch(last).operands[0]
    while at >= body.start and (node := body.instruction(at)) is not None and _is_step(node, wanted, taken):
        if steps and body.deviates(at + 1):
            break
        steps.append(node)
        at, wanted = at - 1, node.operands[1]
    if len(steps) < _FEWEST or not _is_whole(taken["const_bits"]):
        return None
    return DescriptorMatch(at + 1, tuple(reversed(steps)), taken)


def _is_step(node: nodes.Instruction, wanted: tree.Operand, taken: dict[str, tree.Operand]) -> bool:
    """Return whether an instruction computes `wanted` from operands that `taken` lacks; if so, add these to `taken`."""
    takes = STEPS.get(node.opcode[0])
    if takes is None or node.guard is not None or node.operands[0] != wanted or len(node.operands) != 2 + len(takes):
        return False
    more = dict(zip(takes, node.operands[2:], strict=True))
    if not isinstance(node.operands[1], tree.Register) or more.keys() & taken.keys():
        return False
    if any(isinstance(name, int) and value != tree.Immediate(str(name)) for name, value in more.items()):
        return False
    taken |= {name: value for name, value in more.items() if isinstance(name, str)}
    return all(isinstance(value, tree.Register) or _is_whole(value) for value in more.values())


def _is_whole(operand: tree.Operand) -> bool:
    return isinstance(operand, tree.Immediate) and WHOLE.match(operand.text) is not None
