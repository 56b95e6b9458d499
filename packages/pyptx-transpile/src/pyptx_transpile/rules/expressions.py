"""Rewrites of instruction sequences to nested Python expressions, with the intermediate registers listed in `temps`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.printing.layout import Group, call, keyword
from pyptx_transpile.reading.spelling import OPERATORS, Operations, banks_of
from pyptx_transpile.rules.expression_trees import Tree, Trees, register_width
from pyptx_transpile.rules.nested_trees import nested

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.layout import Expression
    from pyptx_transpile.reading.rows import Body

__all__ = ["EXPRESSION", "runs", "statement"]

_LEAST = 2  # minimum instructions of a `ptx.expr` block that are inlined into other expressions
_WIDEST = 72  # maximum columns of the list of temporary registers in the header of a `ptx.expr` block
_SHORT = 3  # maximum statements of a short `ptx.expr` block, which must not take more lines than nested calls do
_FARTHEST = 4  # maximum consecutive statements of a `ptx.expr` block into which no instruction is inlined
_ENDS = frozenset({"bra", "brx", "exit", "ret"})


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a `ptx.expr` block for each run of statements that needs fewer lines with inlined instructions."""
    trees = Trees(body, Operations(banks_of(body), body.row.spelled()))
    for run in runs(body, plan):
        turn = plan.in_turn(run.start)
        for block in _blocks(trees.statements(run, turn=turn), run, turn=turn):
            rewrite = _rewrite(body, block)
            if len(block) > _SHORT or _takes_fewer_lines(body, rewrite, len(block), turn=turn):
                yield rewrite


def _takes_fewer_lines(body: Body, rewrite: Rewrite, statements: int, *, turn: bool) -> bool:
    """Return whether a `ptx.expr` block with its header has no more lines than the equivalent nested calls."""
    calls = nested(body, range(rewrite.start, rewrite.end), turn=turn)
    return statements + 1 <= sum(1 for _ in calls)


def runs(body: Body, plan: RewritePlan, least: int = _LEAST + 1) -> Iterator[range]:
    """Yield the ranges of instructions and `.loc` statements without branches or blocks.

    Statements that rewrites print are excluded.
    """
    for slice_ in list(plan.unclaimed()):  # copied, because the loop below adds rewrites to the plan
        start = slice_.start
        for at in slice_:
            if not _is_plain(body, at):
                if at - start >= least:
                    yield range(start, at)
                start = at + 1
        if slice_.stop - start >= least:
            yield range(start, slice_.stop)


def _is_plain(body: Body, at: int) -> bool:
    node = body.items[at].node
    return node.opcode[0] not in _ENDS if isinstance(node, nodes.Instruction) else isinstance(node, nodes.Loc)


def _blocks(statements: Sequence[Tree | None], run: range, *, turn: bool) -> Iterator[list[int | Tree]]:
    """Yield the `ptx.expr` blocks of a range: lists of `Tree`s, with an index for a statement printed unchanged."""
    block: list[int | Tree] = []
    # End of the block's last statement into which instructions are inlined; number of these instructions; columns of
    # the list of temporary registers.
    end = taken = width = 0
    at = run.start
    for each in statements:
        size, wider = (0, 0) if each is None else (each.size - 1, _width(each, turn=turn))
        if block and (width + wider > _WIDEST or len(block) - end > _FARTHEST):
            if taken >= _LEAST:
                yield block[:end]
            block, end, taken, width = [], 0, 0, 0
        if size or block:
            block.append(at if each is None else each)
        if size:
            end, taken, width = len(block), taken + size, width + wider
        at += 1 + size
    if taken >= _LEAST:
        yield block[:end]


def _width(one: Tree, *, turn: bool) -> int:
    """Return the columns that a statement's intermediate registers occupy in the `temps` list."""
    names = [each.result for each in one.inner.values() if each.result is not None]
    own = sum(len(", ") + register_width(name, turn=turn) for name in names)
    return own + sum(_width(each, turn=turn) for each in one.inner.values())


def _rewrite(body: Body, block: Sequence[int | Tree]) -> Rewrite:
    first, last = block[0], block[-1]
    if isinstance(first, int) or isinstance(last, int):
        raise TypeError("a `ptx.expr` block must start and end with an expression")
    places = [at for each in block if isinstance(each, Tree) for at in each.temporaries()]
    spelt = any(isinstance(each, Tree) and _has_operator(each) for each in block)

    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        registers = tuple(body.branch(at).operands[0] for at in places)
        keywords = [_temporaries(list(printer.values.parts(registers))), *(["spelling=SPELLING"] if spelt else [])]
        with printer.page.block(call("with ptx.expr", keywords)):
            for each in block:
                if isinstance(each, int):
                    printer.statement(each)
                else:
                    statement(printer, each)

    start = next(iter(first.temporaries()))
    like = tuple([each - start if isinstance(each, int) else each.like(start) for each in block])
    return Rewrite("expression", start, last.at + 1, write, constants=("SPELLING",) if spelt else (), like=like)


def _temporaries(names: list[str]) -> Expression:
    """Return the `temps` keyword with the intermediate registers: a slice of a register group, or a tuple."""
    if len(names) == 1 and names[0].startswith("*"):
        return f"temps={names[0][1:]}"
    return keyword("temps", Group("(", tuple(names), ",)" if len(names) == 1 else ")"))


def _has_operator(one: Tree) -> bool:
    return one.operator is not None or any(map(_has_operator, one.inner.values()))


def statement(printer: BodyPrinter, one: Tree) -> None:
    """Print a statement with the instructions inlined for its sources."""
    node = printer.body.branch(one.at)
    if one.operator is not None and not printer.body.deviates(one.at) and printer.is_assigned(node.operands[0]):
        result, operation = printer.values.expression(node.operands[0]), _operation(printer, one, one.operator)
        printer.page.assign(result, operation)
    elif one.inner:
        printer.page.say(_call(printer, one, printer.values.expression(node.operands[0])))
    else:
        printer.statement(one.at)


def _call(printer: BodyPrinter, one: Tree, destination: str) -> Group:
    """Return the call of an instruction; `destination` replaces its first operand if that is a register."""
    node = printer.body.branch(one.at)
    operands: list[Expression] = [_operand(printer, one, each) for each in node.operands]
    if isinstance(node.operands[0], tree.Register):
        operands[0] = destination
    if node.guard is not None:
        operands.append(f"pred={printer.guard(node.guard)}")
    return call(printer.form(node), operands)


def _operation(printer: BodyPrinter, one: Tree, operator: str) -> str:
    """Return the Python operator expression that emits an instruction."""
    node = printer.body.branch(one.at)
    sources = [_operand(printer, one, each, within=True) for each in node.operands[1:]]
    sign = OPERATORS[operator]
    return f"{sign}{sources[0]}" if len(sources) == 1 else f" {sign} ".join(sources)


def _operand(printer: BodyPrinter, one: Tree, operand: tree.Operand, *, within: bool = False) -> str:
    """Return an operand with inlined expressions for its registers; in parentheses if `within` an operator."""
    match operand:
        case tree.Register(name) if (inner := one.inner.get(name)) is not None:
            if inner.operator is None:
                return str(_call(printer, inner, printer.values.expression(operand) if inner.named else "..."))
            text = _operation(printer, inner, inner.operator)
            return f"({text})" if within else text
        case tree.Address(base=tree.Register(name) as base, offset=offset) if name in one.inner:
            more = "" if offset is None else f", {printer.values.expression(offset)}"
            return f"ptx.addr({_operand(printer, one, base)}{more})"
        case tree.Vector(elements) if any(
            isinstance(each, tree.Register) and each.name in one.inner for each in elements
        ):
            return f"[{', '.join(_operand(printer, one, each) for each in elements)}]"
        case _:
            return printer.values.expression(operand, printer.body.branch(one.at).opcode)


EXPRESSION = SugarRule(
    name="expression",
    summary="instructions whose results are used once, nested into the instruction that uses them",
    before="mul.wide.s32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.b32 %r2, [%rd3+8];"
    "\n\tadd.s32 %r3, %r2, 1;",
    after="with ptx.expr(temps=(rd[2], rd[3], r[2]), spelling=SPELLING):\n"
    "    r[3] = ptx.inst.ld.global_.b32(..., ptx.addr(rd[1] + (r[1] * 4), 8)) + 1",
    find=find,
)
