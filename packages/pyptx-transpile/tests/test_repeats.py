"""Loops made of repeated statements: nesting, iteration starts, numbers as expressions, rejection of wrong loops."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyptx_transpile import transpile
from pyptx_transpile.printing.layout import lines, parsed
from pyptx_transpile.rules.table import RULES
from pyptx_transpile.rules.turns import looped

from .test_proof import rebuilt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_ir.plugins.rows import SugarRule
    from pyptx_transpile import Rewrite
    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry k()\n{\n"
REGISTERS = "\t.reg .pred %p<99>;\n\t.reg .b32 %r<999>;\n\t.reg .f32 %f<999>;\n\t.reg .b64 %rd<99>;\n"


def module(*statements: str) -> str:
    return f"{HEAD}{REGISTERS}" + "".join(f"\t{each};\n" for each in (*statements, "ret")) + "}\n"


def body_of(text: str) -> str:
    """Return the Python lines of the kernel between its register declarations and the final `ret`."""
    return text.partition("b64, 99)\n")[2].partition("    ptx.inst.ret()")[0]


def groups(count: int) -> Iterator[str]:
    """Yield groups of four conversions and one store of their results, like a GEMM epilogue."""
    for group in range(count):
        at = 10 + 6 * group
        yield from (f"cvt.rn.bf16x2.f32 %r{at + k}, %f{8 * group + 2 * k + 1}, %f{8 * group + 2 * k}" for k in range(4))
        yield f"xor.b32 %r{at + 4}, %r1, {32 * group}"
        yield f"st.shared.v4.b32 [%r{at + 4}], {{%r{at}, %r{at + 1}, %r{at + 2}, %r{at + 3}}}"


def butterfly() -> str:
    """Return five steps of a butterfly reduction as emitted by LLVM with line information."""
    steps = (
        f"$L__tmp{2 * n + 4}:\n\t.loc\t1 7 3\n"
        f"\tshfl.sync.bfly.b32 %r{2 * n + 21}, %r{2 * n + 20}, {16 >> n}, 31, -1;\n"
        f"$L__tmp{2 * n + 5}:\n\t.loc\t1 9 1\n"
        f"\tmax.s32 %r{2 * n + 22}, %r{2 * n + 20}, %r{2 * n + 21};\n"
        for n in range(5)
    )
    return "".join(steps)


def test_labels_of_debuggers_count_with_what_repeats() -> None:
    source = module().replace("\tret", f"{butterfly()}\tret").replace("\n.visible", '\n.file\t1 "k.py"\n.visible')
    done = transpile(source, RULES)
    assert body_of(done.text) == (
        "    for i, t in enumerate((16, 8, 4, 2, 1)):\n"
        '        ptx.label(f"$L__tmp{4 + 2 * i}")\n'
        "        ptx.loc(1, 7, 3)\n"
        "        ptx.inst.shfl.sync.bfly.b32(r[21 + 2 * i], r[20 + 2 * i], t, 31, -1)\n"
        '        ptx.label(f"$L__tmp{5 + 2 * i}")\n'
        "        ptx.loc(1, 9, 1)\n"
        "        ptx.inst.max.s32(r[22 + 2 * i], r[20 + 2 * i], r[21 + 2 * i])\n"
    )
    assert not done.rejected
    assert rebuilt(done.text) == source


@pytest.mark.parametrize(
    "change",
    [("$L__tmp6:", "$L__tmp77:"), ("$L__tmp6:", "$L__tmp06:"), ("\tret", "\t@%p1 bra $L__tmp6;\n\tret")],
    ids=["another number", "a leading zero", "a branch"],
)
def test_a_label_that_does_not_count_ends_what_repeats(change: tuple[str, str]) -> None:
    source = module().replace("\tret", f"{butterfly()}\tret").replace("\n.visible", '\n.file\t1 "k.py"\n.visible')
    source = source.replace(*change)
    done = transpile(source, RULES)
    assert "range(5)" not in done.text
    assert "enumerate((16, 8, 4, 2, 1))" not in done.text
    assert not done.rejected
    assert rebuilt(done.text) == source


def test_labels_count_in_two_loops() -> None:
    turns = [[f'ptx.label(f"$L{{{at + 1} + 2 * j}}")', "ptx.loc(1, 2, 3)"] for at in (4, 8, 12)]
    loop = looped(turns, 0)
    assert loop is not None
    assert loop.lines == ['ptx.label(f"$L{5 + 4 * i + 2 * j}")', "ptx.loc(1, 2, 3)"]
    assert looped([['ptx.label("$A1")'], ['ptx.label("$B2")']], 0) is None


def test_a_loop_is_in_a_loop() -> None:
    source = module(*groups(3))
    done = transpile(source, RULES)
    assert body_of(done.text) == (
        "    for i in range(3):\n"
        "        for j in range(4):\n"
        "            ptx.inst.cvt.rn.bf16x2.f32(r[10 + 6 * i + j], f[1 + 8 * i + 2 * j], f[8 * i + 2 * j])\n"
        "        ptx.inst.xor.b32(r[14 + 6 * i], r[1], 32 * i)\n"
        "        ptx.inst.st.shared.v4.b32(ptx.addr(r[14 + 6 * i]), r[10 + 6 * i : 14 + 6 * i])\n"
    )
    assert not done.rejected
    assert rebuilt(done.text) == source


def test_registers_of_arrays_and_places_in_variables_count() -> None:
    turn = (
        ("mov.u32 %r{at}, ring+{place}", "ld.shared.v2.f32 {{%sums0_{a}, %sums0_{b}}}, [%r{at}]"),
        ("mul.f32 %sums0_{a}, %sums0_{a}, %f1", "st.shared.f32 [%r{at}+4], %sums0_{b}"),
    )
    rows = [{"at": 10 + k, "place": 8 + 16 * k, "a": 2 * k, "b": 2 * k + 1} for k in range(4)]
    source = module(*(each.format(**row) for row in rows for pair in turn for each in pair))
    source = source.replace(REGISTERS, f"{REGISTERS}\t.reg .f32 %sums0_<8>;\n\t.shared .align 8 .b8 ring[128];\n")
    done = transpile(source, RULES)
    assert done.text.partition("for i in range(4):\n")[2].partition("    ptx.inst.ret()")[0] == (
        '        ptx.inst.mov.u32(r[10 + i], f"ring+{8 + 16 * i}")\n'
        "        ptx.inst.ld.shared.v2.f32([sums0[2 * i], sums0[1 + 2 * i]], ptx.addr(r[10 + i]))\n"
        "        ptx.inst.mul.f32(sums0[2 * i], sums0[2 * i], f[1])\n"
        "        ptx.inst.st.shared.f32(ptx.addr(r[10 + i], 4), sums0[1 + 2 * i])\n"
    )
    assert not done.rejected
    assert rebuilt(done.text) == source


def negated() -> str:
    """Return a module that negates four elements, after a negation and a store like at the end of an iteration."""
    turn = "ld.f32 %f{a}, [%rd1+{o}]", "neg.f32 %f{b}, %f{a}", "st.global.f32 [%rd2+{o}], %f{b}"
    rows = [each.format(a=10 + 2 * k, b=11 + 2 * k, o=4 * k) for k in range(4) for each in turn]
    return module("neg.f32 %f2, %f1", "st.global.f32 [%rd2+96], %f2", *rows)


def test_turns_begin_where_nothing_is_handed_to_the_next_one() -> None:
    done = transpile(negated(), RULES)
    assert body_of(done.text).partition("for i in range(4):\n")[2] == (
        "        ptx.inst.neg.f32(f[11 + 2 * i], ptx.inst.ld.f32(f[10 + 2 * i], ptx.addr(rd[1], 4 * i)))\n"
        "        ptx.inst.st.global_.f32(ptx.addr(rd[2], 4 * i), f[11 + 2 * i])\n"
    )
    assert rebuilt(done.text) == negated()


@pytest.mark.parametrize(
    ("turns", "level", "line"),
    [
        (["r[4] = r[5] - 3", "r[6] = r[7] - 5"], 0, "r[4 + 2 * i] = r[5 + 2 * i] - (3 + 2 * i)"),
        (["r[0] = 8 * r[1]", "r[1] = 6 * r[1]"], 0, "r[i] = (8 - 2 * i) * r[1]"),
        (["f(r[0 + j])", "f(r[8 + j])"], 0, "f(r[8 * i + j])"),
        (["f(r[0 - 2 * j])", "f(r[0 - 2 * j])"], 0, "f(r[-2 * j])"),
        (["f(r[0])", "f(r[1])"], 1, "f(r[0 + j])"),
        (["f(r[4:8])", "f(r[8:12])"], 0, "f(r[4 + 4 * i : 8 + 4 * i])"),
        (['f("a 1")', 'f("a 1")'], 0, 'f("a 1")'),
        (['f("ring+8", r[1])', 'f("ring+24", r[2])'], 0, 'f(f"ring+{8 + 16 * i}", r[1 + i])'),
        (['f(f"ring+{8 + 4 * j}")', 'f(f"ring+{40 + 4 * j}")'], 0, 'f(f"ring+{8 + 32 * i + 4 * j}")'),
    ],
)
def test_numbers_of_turns_become_sums(turns: list[str], level: int, line: str) -> None:
    loop = looped([[each] for each in turns], level)
    assert loop is not None
    assert loop.lines == [line]


@pytest.mark.parametrize("turns", [["f(1)", "g(1)"], ["f('1')", "f('2')"], ["f(1)", "f(1, 2)"], ['f("a1")', 'f("b1")']])
def test_turns_that_differ_in_more_are_no_loop(turns: list[str]) -> None:
    assert looped([[each] for each in turns], 0) is None


LONG = "x" * 60


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        (f"r[1] = {LONG} + ({LONG} * 8)", [f"r[1] = {LONG} + (", f"    {LONG} * 8", ")"]),
        (f"r[1] = ({LONG} + {LONG}) | 5", ["r[1] = (", f"    {LONG} + {LONG}", ") | 5"]),
        (f"r[1] = {LONG} + f({LONG}, b(4))", [f"r[1] = {LONG} + f(", f"    {LONG}, b(4)", ")"]),
        (f"r[1] = {LONG} + {LONG} + r[2]", ["r[1] = (", f"    {LONG} + {LONG} + r[2]", ")"]),
        (f"g(r[{LONG}], ({LONG} + 1), 3)", ["g(", f"    r[{LONG}],", f"    ({LONG} + 1),", "    3,", ")"]),
    ],
)
def test_long_lines_are_broken_as_formatters_do(line: str, broken: list[str]) -> None:
    before, expression, behind = parsed(line)
    assert list(lines(expression, 0, before, behind)) == broken


def test_white_space_that_repeats_lines_is_a_product() -> None:
    empty = "\n\t// begin inline asm\n\t// end inline asm"
    source = module("mov.b32 %r1, 0", "mov.b32 %r2, 1").replace("0;\n\tmov", f"0;{empty * 40}\n\tmov")
    done = transpile(source, RULES)
    assert (
        '    ptx.formatted(leading="\\n\\t// begin inline asm\\n\\t// end inline asm" * 40 + "\\n\\t")\n' in done.text
    )
    assert rebuilt(done.text) == source


# --- wrong loops ------------------------------------------------------------------------------------------


def spoiled(rule: str, change: Callable[[str], str], turn: int | None = None) -> list[SugarRule]:
    """Return the transpiler rules; `change` alters the lines of all rewrites of `rule`, or of rewrite number `turn`."""

    def wrong(rewrite: Rewrite) -> Rewrite:
        def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
            first = len(printer.page.lines)
            rewrite.write(printer, slots)
            for at in range(first, len(printer.page.lines)):
                if printer.page.owners[at] is printer.page.owner:
                    printer.page.lines[at] = change(printer.page.lines[at])

        return replace(rewrite, write=write)

    def found(one: SugarRule) -> SugarRule:
        def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
            for number, rewrite in enumerate(one.find(body, plan)):
                yield wrong(rewrite) if turn is None or turn == number else rewrite

        return replace(one, find=find) if one.name == rule else one

    return [found(one) for one in RULES]


def test_a_wrong_rewrite_in_one_turn_is_rejected_and_the_loop_stays() -> None:
    done = transpile(negated(), spoiled("operand", lambda line: line.replace("rd[1]", "rd[2]"), turn=2))
    assert [(one.rule, one.statement) for one in done.rejected] == [("operand", "ld.f32 %f12, [%rd1+4];")]
    assert "for i in range(4):" in done.text
    assert rebuilt(done.text) == negated()


@pytest.mark.parametrize(("right", "wrong"), [("range(4)", "range(3)"), ("for i", "for z")])
def test_a_wrong_loop_is_rejected_and_its_turns_are_statements_again(right: str, wrong: str) -> None:
    done = transpile(negated(), spoiled("repeat", lambda line: line.replace(right, wrong)))
    assert [one.rule for one in done.rejected] == ["repeat"]
    assert done.text.count("-ptx.inst.ld.f32(..., ") == 4
    assert rebuilt(done.text) == negated()


def loads(count: int) -> str:
    """Return a module of loads whose addresses follow no arithmetic sequence."""
    numbers = [(7 * at * at + 3 * at) % 97 for at in range(count)]
    return module(*[f"ld.shared.b32 %r{at + 200}, [%r{one}+{4096 + one * one}]" for at, one in enumerate(numbers)])


@pytest.mark.parametrize("count", [10, 24, 60, 97])
def test_a_table_never_takes_more_lines_than_it_saves(count: int) -> None:
    done = transpile(loads(count), RULES)
    assert body_of(done.text).count("\n") <= count
    assert rebuilt(done.text) == loads(count)


@pytest.mark.parametrize(("steps", "loops"), [((1, 2, 30, 50), True), ((1, 2, 30, 50, 7), False)])
def test_two_turns_that_differ_in_many_steps_are_none(steps: tuple[int, ...], loops: bool) -> None:  # noqa: FBT001  a parameter
    names = ("not", "cnot", "brev", "popc", "clz")
    turns = [
        f"{name}.b32 %r{100 + turn * step}, %r{300 + turn * step}"
        for turn in range(2)
        for name, step in zip(names, steps, strict=False)
    ]
    done = transpile(module(*turns), RULES)
    assert ("for i in range(2):" in done.text) is loops
    assert rebuilt(done.text) == module(*turns)
