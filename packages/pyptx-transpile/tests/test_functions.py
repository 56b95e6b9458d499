"""Helper functions for repeated statements: their arguments, and rejection of helpers that emit wrong PTX."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyptx_transpile import transpile
from pyptx_transpile.printing.page import Page
from pyptx_transpile.rules.functions import FUNCTION
from pyptx_transpile.rules.table import RULES

from .test_proof import rebuilt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_ir.plugins.rows import SugarRule
    from pyptx_transpile import Rewrite
    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.outlined import Helper
    from pyptx_transpile.reading.names import Naming
    from pyptx_transpile.reading.rows import Body

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
TAB = "\t"
OTHERS = [f"{name}.b32" for name in ("mov", "not", "popc", "clz", "brev", "cnot")] + [
    f"{name}.s32" for name in ("abs", "neg", "mov", "bfind")
]
REGISTERS = "\t.reg .pred %p<9>;\n\t.reg .b32 %r<99>;\n\t.reg .f32 %f<99>;\n\t.reg .b64 %rd<99>;\n"


def module(*bodies: str) -> str:
    """Return a module with one kernel per body, k0, k1, …."""
    kernels = [
        f"\n.visible .entry k{number}()\n{{\n{REGISTERS}{textwrap.indent(body, TAB)}\tret;\n}}\n"
        for number, body in enumerate(bodies)
    ]
    return HEAD + "".join(kernels)


def asm(*registers: int) -> str:
    """Return `{ }` scopes as of an asm statement, one for each register, separated by other instructions."""
    return "".join(
        f"{{\n.reg .pred p;\nsetp.ne.b32 p, %r{at}, 0;\n@p shfl.sync.idx.b32 %r{at}, %r0, 0, 31, -1;\n}}\n"
        f"{OTHERS[at]} %r{at + 20}, %r{at};\n"
        for at in registers
    )


def defined(text: str) -> list[str]:
    """Return the names of a printed Python file's functions, in order."""
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


# --- statements that become a function ------------------------------------------------------------------


def test_one_function_serves_several_kernels_and_stands_above_them() -> None:
    source = module(asm(1, 2), asm(3))
    done = transpile(source, RULES)
    assert defined(done.text) == ["shfl_idx", "k0", "k1"]
    assert done.text.count("    shfl_idx(r[") == done.applied["function"] == 3
    assert rebuilt(done.text) == source


def test_what_saves_no_line_stays() -> None:
    done = transpile(module(asm(1, 2)), RULES)
    assert done.applied["function"] == 0
    assert defined(done.text) == ["k0"]


def test_a_function_does_not_take_the_name_of_a_kernel() -> None:
    source = module(asm(1, 2, 3)).replace("k0", "shfl_idx")
    done = transpile(source, RULES)
    assert defined(done.text) == ["shfl_idx_b32", "shfl_idx"]
    assert rebuilt(done.text) == source


ARGUMENTS = {
    "a vector is one argument": (
        [f"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{%f{n},%f{n + 1},%f{n + 2},%f{n + 3}}}, "
         f"{{%r1,%r1,%r1,%r{n}}}, {{%r1,%r{n}}}, {{%f{n},%f{n + 1},%f{n + 2},%f{n + 3}}};\n"
         f"bar.sync 0;\nst.global.u32 [%rd1], %r{n};\nmembar.gl;\n"
         for n in (10, 25, 31)],
        "mma_m16n8k8(f[10:14],",
    ),
    "a vector of one register is that register": (
        [f"st.shared.v4.b32 [%r{n}], {{%r{n + 1},%r{n + 1},%r{n + 1},%r{n + 1}}};\nbar.sync 0;\n"
         "membar.gl;\nbar.sync 1;\n"
         for n in (10, 25, 31)],
        "(r[25], r[26])",
    ),
    "a vector may repeat a register": (
        [f"st.shared.v4.b32 [%r{n}], {{%r{n + 1},%r{n + 1},%r{n + 1},%r{n + 4}}};\nbar.sync 0;\n"
         "membar.gl;\nbar.sync 1;\n"
         for n in (10, 25, 31)],
        "(r[25], [r[26], r[26], r[26], r[29]])",
    ),
    "consecutive registers are a list": (
        [f"xor.b32 %r{n}, %r{n + 1}, 7;\nshf.l.wrap.b32 %r{n + 2}, %r{n}, %r{n}, 3;\npopc.b32 %r{n + 3}, %r{n + 2};\n"
         f"bar.sync 0;\nbrev.b32 %r{n + 4}, %r{n + 3};\n" for n in (20, 33, 57)],
        "(r[20:25])",
    ),
    "repeated code that differs in one number": (
        [f"ld.global.f32 %f1, [%rd1+{n}];\nsqrt.rn.f32 %f2, %f1;\nmul.f32 %f3, %f2, 0f3F000000;\nbar.sync 0;\n"
         f"st.global.f32 [%rd1+{n}], %f3;\n" for n in (4, 60, 100)],
        "60)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(case: str) -> None:
    sequences, expected = ARGUMENTS[case]
    source = module("membar.cta;\n".join(sequences))
    done = transpile(source, [FUNCTION])
    assert done.applied["function"] == len(sequences), done.text
    assert expected in done.text
    assert not done.rejected
    assert rebuilt(done.text) == source


STAYS = {
    "a branch into the repeated sequence": "mov.b32 %r1, {n};\n$L{n}:\npopc.b32 %r3, %r1;\n@%p1 bra $L{n};\n",
    "a load of a kernel parameter": "ld.param.u32 %r{n}, [q];\nret;\n",
    "too many arguments": (
        "add.s32 %r{n}, %r1{n}, %r2{n};\nadd.f32 %f{n}, %f1{n}, %f2{n};\nadd.s64 %rd{n}, %rd1{n}, %rd2{n};\n"
    ),
}


@pytest.mark.parametrize("case", STAYS)
def test_what_is_no_function(case: str) -> None:
    source = module("membar.cta;\n".join(STAYS[case].replace("{n}", str(n)) for n in (2, 3, 5, 7)))
    source = source.replace("k0()", "k0(\n\t.param .u32 q\n)")
    done = transpile(source, RULES)
    assert done.applied["function"] == 0
    assert rebuilt(done.text) == source


def test_a_declaration_stays_with_its_scope() -> None:
    beginning = "{{\n.reg .b32 t;\nmov.b32 t, %r{0};\nnot.b32 t, t;\nneg.s32 t, t;\nst.global.u32 [%rd{0}], t;\n"
    longer = beginning + "bar.sync {0};\nbar.sync {0};\nld.global.u32 t, [%rd1];\n}}\n"
    scopes = [(longer if at % 2 else f"{beginning}}}}}\n").format(at) for at in range(1, 9)]
    source = module("".join(f"{scope}{OTHERS[at]} %r9, %r9;\n" for at, scope in enumerate(scopes)))
    done = transpile(source, RULES)
    assert done.applied["function"] >= 4
    helpers = [node for node in ast.parse(done.text).body if isinstance(node, ast.FunctionDef) and node.name != "k0"]
    for node in helpers:
        assert ast.unparse(node).count("ptx.scope()") == ast.unparse(node).count("reg.declare") > 0
    assert rebuilt(done.text) == source


# --- wrong functions ------------------------------------------------------------------------------------


class Broken:
    """A helper function whose printed lines are changed, so that verification fails."""

    def __init__(self, helper: Helper, change: Callable[[str], str]) -> None:
        self._helper, self._change = helper, change

    def __getattr__(self, name: str) -> object:
        return getattr(self._helper, name)

    def write(self, page: Page, naming: Naming) -> None:
        own = Page()
        self._helper.write(own, naming)
        for line in own.lines:
            page.line(self._change(line))


def with_helper(change: Callable[[str], str]) -> list[SugarRule]:
    """Return the transpiler rules, with `change` applied to each line of every generated helper function."""
    made: dict[Helper, Broken] = {}

    def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
        for rewrite in FUNCTION.find(body, plan):
            helper = rewrite.helper
            yield replace(rewrite, helper=made.setdefault(helper, Broken(helper, change)))

    return [replace(rule, find=find) if rule is FUNCTION else rule for rule in RULES]


def with_call(change: Callable[[str], str], *sites: int) -> list[SugarRule]:
    """Return the transpiler rules, with `change` applied to the helper calls numbered `sites` in module order."""
    numbers: dict[tuple[str, int, int], int] = {}

    def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
        for rewrite in FUNCTION.find(body, plan):
            number = numbers.setdefault(rewrite.key, len(numbers))
            yield replace(rewrite, write=changed(rewrite)) if number in sites else rewrite

    def changed(rewrite: Rewrite) -> Callable[[BodyPrinter, tuple[Slot, ...]], None]:
        def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
            first = len(printer.page.lines)
            rewrite.write(printer, slots)
            printer.page.lines[first:] = [change(line) for line in printer.page.lines[first:]]

        return write

    return [replace(rule, find=find) if rule is FUNCTION else rule for rule in RULES]


SEVERAL = module(asm(1, 2, 3), asm(4, 5), asm(6, 7, 8, 9))
CALLS: dict[str, Callable[[str], str]] = {
    "another register": lambda line: line.replace("r[", "r[1"),
    "a nonexistent register": lambda line: line.replace("r[", "r[999"),
    "a predicate as argument": lambda line: line.replace("r[0])", "p[0])"),
    "a missing argument": lambda line: line.replace(", r[0])", ")"),
    "twice": lambda line: f"{line}; {line.strip()}",
    "nothing": lambda line: line[: len(line) - len(line.lstrip())] + "pass",
    "a syntax error": lambda line: line.replace("(", "(("),
}


@pytest.mark.parametrize("fault", CALLS)
@pytest.mark.parametrize("site", [0, 2, 4, 8])
def test_a_wrong_call_is_rejected_alone(fault: str, site: int) -> None:
    done = transpile(SEVERAL, with_call(CALLS[fault], site))
    (one,) = done.rejected
    assert one.rule == "function"
    assert done.applied["function"] == done.matched["function"] - 1 == 8
    assert rebuilt(done.text) == SEVERAL


@pytest.mark.parametrize("fault", CALLS)
def test_so_are_two(fault: str) -> None:
    done = transpile(SEVERAL, with_call(CALLS[fault], 1, 6))
    assert len(done.rejected) == 2
    assert done.applied["function"] == 7
    assert rebuilt(done.text) == SEVERAL


BODIES: dict[str, Callable[[str], str]] = {
    "another instruction": lambda line: line.replace("setp.ne", "setp.eq"),
    "another number": lambda line: line.replace("31", "30"),
    "raises": lambda line: line.replace("31", "1 // 0"),
    "an unknown name": lambda line: line.replace("pred=p", "pred=q"),
    "an unknown instruction": lambda line: line.replace("shfl.sync.idx", "shfl.sync.side"),
    "a syntax error": lambda line: line.replace("with", "without"),
    "too many parameters": lambda line: line.replace("a: reg.Reg", "a, b, c"),
    "another function name": lambda line: line.replace("def shfl_idx", "def other"),
}


@pytest.mark.parametrize("fault", BODIES)
def test_a_wrong_function_is_rejected_with_all_its_calls(fault: str) -> None:
    done = transpile(SEVERAL, with_helper(BODIES[fault]))
    assert {one.rule for one in done.rejected} == {"function"}
    assert len(done.rejected) == done.matched["function"] == 9
    assert done.applied["function"] == 0
    assert defined(done.text) == ["k0", "k1", "k2"]
    assert rebuilt(done.text) == SEVERAL


def test_what_is_left_of_too_few_calls_is_no_function() -> None:
    source = module(asm(1, 2, 3))
    done = transpile(source, with_call(CALLS["another register"], 1))
    assert len(done.rejected) == 1
    assert done.applied["function"] == 0
    assert defined(done.text) == ["k0"]
    assert rebuilt(done.text) == source


def test_the_same_text_gives_the_same_functions() -> None:
    assert transpile(SEVERAL, RULES).text == transpile(SEVERAL, [replace(rule) for rule in RULES[1:]]).text


# --- functions and loops ------------------------------------------------------------------------------


def epilogue(*places: tuple[int, int, int]) -> str:
    """Return `count` equal-shaped groups of statements per (count, register, address), after a distinct instruction."""
    found: list[str] = []
    for number, (count, register, address) in enumerate(places):
        found.append(f"{OTHERS[number]} %r1, %r2;\n")
        for turn in range(count):
            at = register + 6 * turn
            found += [
                f"cvt.rn.bf16x2.f32 %r{at + k}, %f{8 * turn + 2 * k + 1}, %f{8 * turn + 2 * k};\n" for k in range(4)
            ]
            found += [f"popc.b32 %r{at + 4}, %r{at};\nbrev.b32 %r{at + 5}, %r{at + 4};\n"]
            vector = ", ".join(f"%r{at + k}" for k in range(4))
            found += [f"st.shared.v4.b32 [%r0+{address + 32 * turn}], {{{vector}}};\nbar.sync {number};\n"]
    return "".join(found)


def test_what_loops_have_in_common_is_a_function_that_their_turns_call() -> None:
    source = module(epilogue((3, 4, 0), (5, 28, 512), (4, 60, 1024)))
    done = transpile(source, RULES)
    assert not done.rejected
    assert rebuilt(done.text) == source
    assert done.applied["function"] == 3 + 5 + 4
    (kernel,) = (node for node in ast.parse(done.text).body if isinstance(node, ast.FunctionDef) and node.name == "k0")
    loops = [ast.unparse(node) for node in kernel.body if isinstance(node, ast.For)]
    assert len(loops) == 3
    assert all(loop.splitlines()[1].startswith("    popc(r[") for loop in loops)


def test_a_wrong_call_in_a_turn_is_rejected_and_the_bytes_are_right() -> None:
    source = module(epilogue((3, 4, 0), (5, 28, 512), (4, 60, 1024)))
    done = transpile(source, broken("function", 4))
    assert {one.rule for one in done.rejected} == {"function"}
    assert done.applied["function"] < 3 + 5 + 4
    assert rebuilt(done.text) == source


def broken(name: str, site: int) -> list[SugarRule]:
    """Return the transpiler rules; rule `name` prints its lines twice at rewrite number `site`."""

    def find_in(rule: SugarRule) -> Callable[[Body, RewritePlan], Iterator[Rewrite]]:
        def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
            for number, rewrite in enumerate(rule.find(body, plan)):
                yield replace(rewrite, write=doubled(rewrite)) if number == site else rewrite

        return find

    def doubled(rewrite: Rewrite) -> Callable[[BodyPrinter, tuple[Slot, ...]], None]:
        def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
            rewrite.write(printer, slots)
            rewrite.write(printer, slots)

        return write

    return [replace(rule, find=find_in(rule)) if rule.name == name else rule for rule in RULES]


def test_a_vector_that_is_a_parameter_is_no_operand_that_a_call_returns() -> None:
    vector = "{{%r{0}, %r{1}, %r{2}, %r{3}}}"
    copies = [
        f"add.s64 %rd{n}, %rd0, 16;\nbar.sync 0;\nmembar.gl;\n"
        f"ld.global.v4.u32 {vector.format(*range(n, n + 4))}, [%rd{n}];\n"
        f"st.shared.v4.u32 [%r9], {vector.format(*range(n, n + 4))};\n"
        for n in (11, 25, 37, 52)
    ]
    source = module("".join(f"{OTHERS[at]} %r1, %r2;\n{copy}" for at, copy in enumerate(copies)))
    done = transpile(source, RULES)
    assert done.applied["function"] == len(copies), done.text
    (function,) = (
        node for node in ast.parse(done.text).body if isinstance(node, ast.FunctionDef) and node.name != "k0"
    )
    *_, load, store = (ast.unparse(each) for each in function.body)
    assert load.startswith("ptx.inst.ld.global_.v4.u32(d_2, ")
    assert store.startswith("ptx.inst.st.shared.v4.u32(")
    assert not done.rejected
    assert rebuilt(done.text) == source
