"""The checker reports an undefined result of an integer instruction where it is used, and no defined result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_ir.isa.table import comparison, conversion, integer, logic, video

from .ptx_text import BODY_LINE, execute

# Instructions whose results are undefined for the inputs of the even lanes.
# Manual, 9.7.1.8 (div), 9.7.1.9 (rem), 9.7.1.17 (fns); the other sections of these chapters define every result.
BY_ZERO = {
    f"{name}.{kind}": "an integer division by zero"
    for name in ("div", "rem")
    for kind in ("u16", "s16", "u32", "s32", "u64", "s64")
}
UNSPECIFIED = BY_ZERO | {"fns.b32": "fns with a base above 31"}
PREFIX = {"16": "%h", "32": "%r", "64": "%rd"}

# Instructions whose results are always defined, with extreme inputs such as 0, 1, 2**31, 2**31 + 1 and all ones.
DEFINED = """
abs.s32 d, a; add.u32 d, a, b; add.sat.s32 d, a, b; sub.sat.s32 d, a, b; bfe.u32 d, a, b, c; bfe.s32 d, a, b, c;
bfi.b32 d, a, b, c, e; bfind.u32 d, a; bfind.shiftamt.s32 d, a; bmsk.clamp.b32 d, a, b; bmsk.wrap.b32 d, a, b;
brev.b32 d, a; clz.b32 d, a; dp2a.lo.s32.s32 d, a, b, c; dp4a.u32.s32 d, a, b, c; mad.lo.u32 d, a, b, c;
mad.hi.sat.s32 d, a, b, c; mad24.lo.u32 d, a, b, c; mad24.hi.sat.s32 d, a, b, c; max.s32 d, a, b; min.u32 d, a, b;
mul.hi.s32 d, a, b; mul24.hi.u32 d, a, b; neg.s32 d, a; popc.b32 d, a; sad.s32 d, a, b, c; szext.clamp.u32 d, a, b;
szext.wrap.s32 d, a, b; and.b32 d, a, b; cnot.b32 d, a; lop3.b32 d, a, b, c, 0x96; not.b32 d, a; or.b32 d, a, b;
shf.l.wrap.b32 d, a, b, c; shf.r.clamp.b32 d, a, b, c; shl.b32 d, a, b; shr.s32 d, a, b; shr.u32 d, a, b;
xor.b32 d, a, b; selp.b32 d, a, b, %p1; set.lt.u32.s32 d, a, b; slct.u32.s32 d, a, b, c; prmt.b32 d, a, b, c;
prmt.b32.rc16 d, a, b, c; cvt.sat.u8.s32 d, a; cvt.rzi.s32.f32 d, %f1; cvt.rni.u32.f32 d, %f1; cvt.rn.f32.u32 %f2, a;
vadd.u32.s32.s32.sat d, a, b; vshl.u32.u32.u32.clamp d, a, b; vshr.u32.u32.u32.wrap d, a, b;
vmad.s32.s32.s32.sat d, a, b, c; vsub2.u32.u32.u32 d, a, b, c; vset4.u32.u32.ge d, a, b, c;
vabsdiff4.u32.s32.s32.add d, a, b, c;
add.cc.u32 d, a, b; sub.cc.u32 d, a, b; mad.lo.cc.u32 d, a, b, c; setp.lt.s32 %p2, a, b;
"""
EDGES = np.array([0, 1, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x7FC00000, 0x7F800000, 0xFF7FFFFF], np.uint32)
OUT = "st.global.u32 [%rd1], %r9;"


def unspecified(opcode: str) -> tuple[str, str]:
    """Return PTX that computes the operands, and an instruction whose result is undefined in even lanes."""
    bits = opcode[-2:]
    register = PREFIX[bits]
    before = f"and.b32 %r3, %r0, 1; cvt.u{bits}.u32 {register}11, %r3; mov.b{bits} {register}10, 100;\n"
    if opcode.startswith("fns"):
        return f"{before} mad.lo.u32 %r11, %r11, -32, 32;\n", "fns.b32 %r12, -1, %r11, 1;"
    return before, f"{opcode} {register}12, {register}10, {register}11;"


def result_of(opcode: str) -> str:
    bits = opcode[-2:]
    return f"cvt.u32.u{bits} %r9, {PREFIX[bits]}12;" if bits != "32" else "mov.u32 %r9, %r12;"


def findings(body: str, **options: Any) -> list[Any]:
    return list(execute(body, np.zeros(64, np.uint32), **options).findings)


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("opcode", list(UNSPECIFIED))
def test_a_result_that_the_manual_leaves_undefined_is_found_where_it_is_used(opcode: str, seed: int) -> None:
    before, instruction = unspecified(opcode)
    (found,) = findings(f"{before}{instruction}\n{result_of(opcode)}\n{OUT}", seed=seed)
    line = BODY_LINE + before.count("\n")
    assert (found.rule, found.count, found.line, found.other_line) == ("undefined-value", 16, line + 2, line)
    assert found.message.endswith(f" depends on {UNSPECIFIED[opcode]}")
    assert found.label == "used by thread (0, 0, 0) of CTA (0, 0, 0)"


@pytest.mark.parametrize("opcode", list(UNSPECIFIED))
def test_it_is_no_fault_where_it_is_not_used(opcode: str) -> None:
    before, instruction = unspecified(opcode)
    chosen = f"setp.ne.u32 %p1, %r3, 0;\nselp.u32 %r9, %r9, 7, %p1;\n{OUT}"
    assert findings(f"{before}{instruction}\n{result_of(opcode)}\n{chosen}") == []
    guarded = f"{before}setp.ne.u32 %p1, %r3, 0;\n@%p1 {instruction}\nmov.u32 %r9, 7;\n"
    assert findings(f"{guarded}@%p1 {result_of(opcode)}\n{OUT}") == []


@pytest.mark.parametrize("name", ["div", "rem"])
def test_a_constant_divisor_is_undefined_only_if_it_is_zero(name: str) -> None:
    assert findings(f"{name}.u32 %r9, %r0, 3;\n{OUT}") == []
    assert [each.count for each in findings(f"{name}.u32 %r9, %r0, 0;\n{OUT}")] == [32]


@pytest.mark.parametrize("kind", ["s16", "s32", "s64"])
def test_the_quotient_of_the_least_number_and_minus_one_is_defined(kind: str) -> None:
    register = PREFIX[kind[1:]]
    body = f"mov.{kind} {register}10, {-(1 << (int(kind[1:]) - 1))};\nmov.{kind} {register}11, -1;\n"
    for name in ("div", "rem"):
        text = f"{body}{name}.{kind} {register}12, {register}10, {register}11;\n{result_of(kind)}\n{OUT}"
        assert findings(text) == []


def test_an_undefined_divisor_is_named_and_not_the_division_by_the_zero_that_it_held() -> None:
    (found,) = findings(f"div.u32 %r9, %r0, %r40;\n{OUT}")
    assert (found.rule, found.count) == ("uninitialized-register", 32)


def test_without_checks_a_division_by_zero_is_a_number() -> None:
    assert findings(f"div.u32 %r9, %r0, 0;\n{OUT}", checks="none") == []


def defined() -> list[str]:
    return [f"{each.strip()};" for each in DEFINED.split(";") if each.strip()]


@pytest.mark.parametrize("text", defined(), ids=lambda text: text.split()[0])
def test_every_other_result_is_defined_for_extreme_inputs(text: str) -> None:
    values = np.array(np.meshgrid(EDGES, EDGES, [31, 32, 255, 0xFFFFFFFF])).reshape(3, -1)[:, :256].astype(np.uint32)
    registers = {"d": "%r9", "a": "%r10", "b": "%r11", "c": "%r12", "e": "%r12"}
    opcode, *operands = text.rstrip(";").replace(",", "").split()
    instruction = f"{opcode} {', '.join(registers.get(each, each) for each in operands)};"
    parameters = ".param .u64 x, .param .u64 out"
    body = f"""
    mov.u32 %r9, 0; ld.param.u64 %rd2, [out]; mad.wide.u32 %rd3, %r0, 4, %rd2;
    ld.global.u32 %r10, [%rd1]; ld.global.u32 %r11, [%rd1+1024]; ld.global.u32 %r12, [%rd1+2048];
    mov.b32 %f1, %r10; setp.lt.u32 %p1, %r10, %r11;
    {instruction}
    selp.u32 %r13, 1, 2, %p1; add.u32 %r9, %r9, %r13; st.global.u32 [%rd3], %r9;
    """
    assert execute(body, values, np.zeros(256, np.uint32), parameters=parameters, block=256).findings == ()


def test_every_instruction_of_these_chapters_is_in_one_of_the_two_lists() -> None:
    chapters = (integer, logic, comparison, conversion, video)
    known = {row.opcode for chapter in chapters for row in chapter.ROWS}
    listed = {text.split(".")[0] for text in (*UNSPECIFIED, *defined())}
    alike = {"addc": "add", "subc": "sub", "madc": "mad", "clmad": "mad", "set": "setp"}
    packed = {name for name in known if name[0] == "v"}
    assert {alike.get(name, name) for name in known - packed} <= listed
    assert {name.rstrip("24") for name in packed} - {name.rstrip("24") for name in listed} <= {
        "vabsdiff",
        "vavrg",
        "vmax",
        "vmin",
        "vset",
        "vsub",
    }  # opcodes that share the semantics function of vadd
