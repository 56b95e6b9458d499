"""Instructions that operators emit: expressions of Python, with the registers of intermediate results beside them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.layout import Group, call, keyword
from pyptx_transpile.plan import Claim
from pyptx_transpile.spelling import OPERATORS, Banks, banks_of, operation
from pyptx_transpile.values import WHOLE, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_transpile.body_printer import BodyPrinter
    from pyptx_transpile.plan import Plan, Slot
    from pyptx_transpile.rows import Body

__all__ = ["EXPRESSION"]

_MOST_OPERATORS = 5  # in one expression
_MOST_TEMPORARIES = 12  # of one block


@dataclass(slots=True)
class Tree:
    """An expression: the place of its last instruction, and what is inlined for its sources, by their number."""

    at: int
    inner: dict[int, Tree] = field(default_factory=dict[int, "Tree"])

    @property
    def operators(self) -> int:
        """The number of its operators."""
        return 1 + sum(tree.operators for tree in self.inner.values())

    def places(self) -> Iterator[int]:
        """Yield the places of its instructions in the order in which Python evaluates them."""
        for number in sorted(self.inner):
            yield from self.inner[number].places()
        yield self.at


def find(body: Body, plan: Plan) -> Iterator[Claim]:
    """Yield the runs of operators that have fewer expressions than instructions."""
    banks = banks_of(body)
    spelled = body.row.spelled()
    once = _used_once(body)
    at = body.start
    while at < body.end:
        run = list(_run(body, plan, banks, spelled, at))
        if len(run) < 3:
            at += max(len(run), 1)
            continue
        for trees in _blocks(body, run, once):
            places = [place for each in trees for place in each.places()]
            if len(places) - len(trees) >= 2:
                yield _claim(body, trees, places)
        at = run[-1] + 1


def _run(body: Body, plan: Plan, banks: Banks, spelled: dict[str, dict[str, str]], at: int) -> Iterator[int]:
    """Yield the places of the instructions from a place on that operators emit as this module spells them."""
    while at < body.end and plan.owner(at) is None and not body.deviates(at):
        node = body.instruction(at)
        found = None if node is None else operation(node, banks)
        if node is None or found is None or spelled[found[1]].get(found[0]) != ".".join(node.opcode):
            return
        yield at
        at += 1


def _used_once(body: Body) -> set[str]:
    """Return the registers that one instruction writes and one other reads."""
    writes: Counter[str] = Counter()
    reads: Counter[str] = Counter()
    for at in range(body.start, body.end):
        node = body.instruction(at)
        if node is None:
            continue
        if node.guard is not None:
            reads[node.guard.register] += 1
        for number, operand in enumerate(node.operands):
            names = list(_registers(operand))
            reads.update(names)
            if number == 0:
                writes.update(names)
    return {name for name, count in writes.items() if count == 1 and reads[name] == 2}


def _registers(operand: tree.Operand) -> Iterator[str]:
    match operand:
        case tree.Register(name) | tree.Symbol(name):
            yield name
        case tree.Vector(parts) | tree.CallList(parts) | tree.TensorAddress(parts):
            for part in parts:
                yield from _registers(part)
        case tree.Pair(first, second):
            yield from _registers(first)
            yield from _registers(second)
        case tree.Address(base=inner) | tree.Negated(inner) | tree.Unified(inner):
            yield from _registers(inner)
        case _:
            return


def _blocks(body: Body, run: Sequence[int], once: set[str]) -> Iterator[list[Tree]]:
    """Yield the expressions of a run, in blocks of one type and of not too many temporaries."""
    block: list[Tree] = []
    temporaries, kind = 0, ""
    for each in _trees(body, run, once):
        stem = _destination(body, each.at).rstrip("0123456789")
        if block and (stem != kind or temporaries + each.operators - 1 > _MOST_TEMPORARIES):
            yield block
            block, temporaries = [], 0
        kind = stem
        block.append(each)
        temporaries += each.operators - 1
    if block:
        yield block


def _trees(body: Body, run: Sequence[int], once: set[str]) -> list[Tree]:
    """Return expressions, as large as the order of the instructions lets them be."""
    done: list[Tree] = []
    for at in run:
        node = body.branch(at)
        inlined = {number: done[-1 - back] for back, number in enumerate(reversed(_pending(body, node, done, once)))}
        if 1 + sum(each.operators for each in inlined.values()) > _MOST_OPERATORS:
            inlined = {}
        if inlined:
            del done[-len(inlined) :]
        done.append(Tree(at, inlined))
    return done


def _pending(body: Body, node: nodes.Instruction, done: Sequence[Tree], once: set[str]) -> list[int]:
    """Return the sources that the expressions before it end in, in their order: the last, or the last two."""
    names = [each.name if isinstance(each, tree.Register) else "" for each in node.operands[1:]]
    ends = [_destination(body, each.at) for each in done[-2:]]
    if len(ends) == 2 and names == ends and names[0] != names[1] and set(names) <= once:
        return [1, 2]
    if ends and ends[-1] in once:
        return [number for number, name in enumerate(names, 1) if name == ends[-1]][:1]
    return []


def _destination(body: Body, at: int) -> str:
    destination = body.branch(at).operands[0]
    return destination.name if isinstance(destination, tree.Register) else ""


def _claim(body: Body, trees: Sequence[Tree], places: Sequence[int]) -> Claim:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        ends = {each.at for each in trees}
        temporaries = [printer.values.expression(body.branch(at).operands[0]) for at in places if at not in ends]
        names = Group("(", tuple(temporaries), ",)" if len(temporaries) == 1 else ")")
        with printer.page.block(call("with ptx.expr", [keyword("temps", names), "spelling=SPELLING"])):
            for each in trees:
                destination = printer.values.expression(body.branch(each.at).operands[0])
                printer.page.line(f"{destination} = {_text(printer, body, each)}")

    return Claim("expression", places[0], places[-1] + 1, write, constants=("SPELLING",))


def _text(printer: BodyPrinter, body: Body, expression: Tree) -> str:
    node = body.branch(expression.at)
    sources = [
        f"({_text(printer, body, inner)})" if (inner := expression.inner.get(number)) else _source(printer, operand)
        for number, operand in enumerate(node.operands[1:], 1)
    ]
    return f" {OPERATORS[node.opcode[0]]} ".join(sources)


def _source(printer: BodyPrinter, operand: tree.Operand) -> str:
    if isinstance(operand, tree.Immediate):
        return operand.text if WHOLE.match(operand.text) else quoted(operand.text)
    return printer.values.expression(operand)


EXPRESSION = SugarRule(
    name="expression",
    summary="instructions that operators emit, each used once by the next",
    before="add.s32 %r2, %r1, 8;\n\tshl.b32 %r3, %r2, 4;\n\tand.b32 %r4, %r3, 255;",
    after="with ptx.expr(temps=(r[2], r[3]), spelling=SPELLING):\n    r[4] = ((r[1] + 8) << 4) & 255",
    find=find,
)
