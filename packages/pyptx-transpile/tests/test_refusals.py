"""Statements that are rejected by the checks or missing in the instruction table: only these are emitted unchecked."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl.errors import InstructionUseError
from pyptx_transpile import transpile
from pyptx_transpile.command import run
from pyptx_transpile.rules.table import RULES

from .test_functions import HEAD, OTHERS, module
from .test_proof import rebuilt

if TYPE_CHECKING:
    from pathlib import Path

    from pyptx_transpile.transpiler import Transpiled

UNKNOWN = "frob.b32 is not in the instruction table, and is not checked"
MARK = "ptx.formatted(unchecked=True)\n"
COUNTED = """mov.b32 %r1, 0;
$L__BB0_1:
add.s32 %r1, %r1, 1;
{}
shl.b32 %r3, %r2, 1;
setp.lt.s32 %p1, %r1, 8;
@%p1 bra $L__BB0_1;
"""
REPEATED = "".join(f"add.s32 %r{at}, %r{at + 20}, 1;\nxor.b32 %r{at + 40}, %r{at}, 5;\n" for at in range(8))


def done(source: str) -> Transpiled:
    """Transpile a module; its Python must emit the module again, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = transpile(source, RULES)
        assert rebuilt(found.text) == source
    assert not found.rejected
    return found


def asm(*registers: int, ins: str = "frob.b32") -> str:
    """Return `{ }` scopes that become one helper function, separated by other instructions."""
    return "".join(
        f"{{\n.reg .b32 t;\n{ins} t, %r{at};\nadd.s32 %r{at}, t, 3;\n}}\n{OTHERS[at]} %r{at + 20}, %r{at};\n"
        for at in registers
    )


@pytest.mark.parametrize("at", [0, 1])
def test_an_unknown_instruction_exempts_itself_only(at: int) -> None:
    bodies = ["add.s32 %r1, %r2, 3;\nmul.lo.s32 %r4, %r1, %r1;\n", "sub.s32 %r1, %r2, 4;\n"]
    bodies[at] += "frob.b32 %r2, %r1;\n"
    found = done(module(*bodies))
    assert [(each.function, each.statement, each.reason) for each in found.unchecked] == [
        (f"k{at}", "frob.b32 %r2, %r1;", UNKNOWN)
    ]
    assert not found.refused
    assert f"    # {UNKNOWN}\n    {MARK}    ptx.inst.frob.b32(r[2], r[1])\n" in found.text
    assert found.text.count("unchecked") == 1
    for edited in (
        found.text.replace("ptx.inst.sub.s32(r[1], r[2], 4)", "ptx.inst.sub.s32(r[1], rd[2], 4)"),
        found.text.replace("ptx.inst.add.s32(r[1], r[2], 3)", "ptx.inst.add.s32(r[1], rd[2], 3)"),
        found.text.replace("ptx.inst.add.s32(r[1], r[2], 3)", "ptx.inst.add.s31(r[1], r[2], 3)"),
    ):
        assert edited != found.text
        with pytest.raises(InstructionUseError):
            rebuilt(edited)


@pytest.mark.parametrize(("bad", "why"), [("frob.b32", UNKNOWN), ("brev.b31", "brev.b31: brev has no modifier .b31")])
def test_loops_are_folded_around_it(bad: str, why: str) -> None:
    found = done(module(COUNTED.format(f"{bad} %r2, %r1;") + REPEATED))
    assert found.applied["loop"] + found.applied["range"] == 1
    assert found.applied["repeat"] == 1
    assert f"        # {why}\n        {MARK}        ptx.inst.{bad}(r[2], " in found.text
    for right, wrong in [("shl.b32(r[3]", "shl.b32(rd[3]"), ("add.s32(r[i]", "add.s32(rd[i]")]:
        assert right in found.text
        with pytest.raises(InstructionUseError):
            rebuilt(found.text.replace(right, wrong))


def test_turns_of_one_loop_have_one_mark() -> None:
    body = "".join(f"frob.b32 %r{at}, %r{at + 8};\nadd.s32 %r{at}, %r{at}, 1;\n" for at in range(4))
    found = done(module(body))
    assert len(found.unchecked) == 4
    assert f"        # {UNKNOWN}\n        {MARK}        ptx.inst.frob.b32(r[i], r[8 + i])\n" in found.text
    assert found.text.count(MARK) == 1


def test_turns_that_are_refused_for_other_reasons_are_written_out() -> None:
    body = "".join(f"bar.sync {at};\nadd.s32 %r{at}, %r{at}, 1;\n" for at in range(96, 99))
    found = done(module(body))
    assert found.text.count(MARK) == len(found.unchecked) == 3


BRANCHES = {
    "a branch": "{jump}.x $L__BB0_2;\nadd.s32 %r1, %r1, 1;\n$L__BB0_2:\n",
    "a loop": "$L__BB0_1:\nadd.s32 %r1, %r1, 1;\n{jump}.x $L__BB0_1;\n",
    "a condition": "setp.zz.s32 %p1, %r1, 0;\n@%p1 bra $L__BB0_2;\nadd.s32 %r1, %r1, 1;\n$L__BB0_2:\n",
    "a counter": COUNTED.format("brev.b32 %r2, %r1;").replace("add.s32", "add.zz.s32"),
    "a parameter": "ld.param.zz.u32 %r1, [k0_param_0];\n",
    "an operand": "mov.zz.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\nshl.zz.b32 %r3, %r2, 4;\nadd.s32 %r4, %r3, %r1;\n",
    "an address": ".shared .b8 s[64];\nmov.zz.u32 %r1, s;\nadd.s32 %r2, %r1, 16;\nst.shared.u32 [%r2], %r1;\n",
}


@pytest.mark.parametrize("what", BRANCHES)
@pytest.mark.parametrize("jump", ["bra", "@%p1 bra"])
def test_no_rule_says_what_is_refused(what: str, jump: str) -> None:
    source = module(BRANCHES[what].format(jump=jump)).replace("k0()", "k0(.param .u32 k0_param_0)")
    found = done(source)
    assert found.text.count(MARK) == len(found.unchecked) > 0


@pytest.mark.parametrize("ins", ["frob.b32", "brev.b31"])
def test_a_function_of_what_repeats_has_the_mark_inside(ins: str) -> None:
    found = done(module(asm(1, 2, 3, 4, ins=ins), asm(5, 6, 7, ins=ins)))
    assert found.applied["function"] == 7
    assert found.text.count(MARK) == found.text.count(f"ptx.inst.{ins}(") == 1
    helper, *kernels = found.text.split("\n@module.entry")
    assert MARK in helper
    assert not [kernel for kernel in kernels if "unchecked" in kernel]
    with pytest.raises(InstructionUseError):
        rebuilt(found.text.replace("ptx.inst.add.s32(", "ptx.inst.add.s31("))


def test_what_is_like_it_and_right_is_no_call_of_its_function() -> None:
    body = asm(1, 2, 3, ins="add.s32 %r9,").replace("add.s32 %r9, t", "add.s32 t, 1")
    wrong = body.replace("t, 1, %r1", "t, 1, %rd1", 1)
    assert len(done(module(wrong + body)).unchecked) == 1


REDUX = module("redux.sync.add.s32 %r1, %r2, -1;\n")
CAUSES = {
    "a modifier": (module("add.s31 %r2, %r1, 1;\n"), "add.s31 %r2"),
    "a register": (module("add.s32 %r2, %rd1, 1;\n"), "add.s32 %r2"),
    "a target": (REDUX.replace("sm_90", "sm_75"), "redux"),
    "a constant": (module("bar.sync 99;\n"), "bar.sync 99"),
    "a variable of a body": (module(".local .pred x;\n"), ".local .pred x"),
    "a .file in a body": (module('.file 1 "a.cu"\n'), ".file 1"),
    "a header": (module("").replace("k0()", "k0(.param .pred x)"), ".visible .entry k0"),
    "a declaration": (module("").replace(".visible", ".extern .func (.param .pred a) f();\n\n.visible"), ".extern"),
    "a variable": (module("").replace(".visible", ".const .pred x;\n\n.visible"), ".const"),
    "a pragma": (module("").replace(".visible", '.pragma "x";\n\n.visible'), ".pragma"),
    "a .file": (HEAD + '\n.file 1 "a.cu"\n.file 1 "b.cu"\n', '.file 1 "b.cu"'),
    "a number": (HEAD + "\n.section .debug_x\n{\n\t.b8 1\n\t.b8 2\n\t.b8 300\n\t.b8 4\n\t.b8 5\n}\n", ".b8 300"),
    "a label": (HEAD + "\n.section .debug_x\n{\n\t.b8 1\nlab:\n\t.b8 2\nlab:\n\t.b8 3\n}\n", "lab:"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_each_refused_statement_is_exempt_alone(cause: str) -> None:
    source, begins = CAUSES[cause]
    found = done(source)
    assert not found.refused
    assert [each.statement.startswith(begins) for each in found.unchecked] == [True]
    assert found.text.count("unchecked=True") == 1


@pytest.mark.parametrize(
    ("right", "wrong"), [("sm_90", "sm_2345"), ("8.0", "8.9"), ("8.0", "6.0"), ("sm_90", "sm_90, x"), (HEAD, "")]
)
def test_a_head_exempts_the_module_that_it_is_of(right: str, wrong: str) -> None:
    source = module("frob.b32 %r2, %r1;\n").replace(right, wrong, 1)
    found = done(source)
    assert found.refused
    assert not found.unchecked
    assert f"# Not checked against the instruction table, which rejects this: {found.refused}\n" in found.text


def test_nothing_is_looked_for_in_a_module_that_is_right() -> None:
    found = transpile(module("add.s32 %r1, %r2, 3;\n"), RULES)
    assert not found.unchecked
    assert "unchecked" not in found.text


def test_the_second_module_of_a_listing_has_a_head_of_its_own() -> None:
    found = done(REDUX.replace("sm_90", "sm_75") + REDUX)
    assert found.text.index(MARK) < found.text.index('target("sm_90")')
    assert len(found.unchecked) == 1


def test_the_command_tells_of_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.ptx"
    source.write_text(module("frob.b32 %r2, %r1;\nadd.s31 %r2, %r1, 1;\n"), encoding="ascii")
    assert run([str(source), "-o", str(tmp_path / "k.py"), "--report", "json"]) == 0
    told, _, report = capfd.readouterr().err.partition("\n")
    assert told == f"pyptx transpile: {source}: 2 statements are emitted with unchecked=True: {UNKNOWN}"
    problems = json.loads(report)["problems"]
    assert [(each["rule"], each["severity"]) for each in problems] == [("unchecked", "warning")] * 2
    assert problems[1]["message"].startswith("add.s31 %r2, %r1, 1; in k0 is emitted with unchecked=True: ")


def test_a_reason_cannot_speak_to_a_terminal() -> None:
    found = done(module("").replace(".visible", '.pragma "\x1b[2J\xe9";\n\n.visible'))
    assert [each.reason.isascii() and each.reason.isprintable() for each in found.unchecked] == [True]
