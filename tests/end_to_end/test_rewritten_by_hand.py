"""Kernels of nvcc, written by hand with control-flow structures and operators: same statements in the same order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyptx import kernel, ptx, reg
from pyptx.types import b32, b64, f32, pred, s32
from pyptx_ir.syntax import nodes, parse, spell

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = Path(__file__).resolve().parents[2] / "corpus" / "nvcc-13.0"
SPELLING = {b32: "add.s32 sub.s32 mul.wide.s32 setp.lt.s32 mov.u32", b64: "add.s64"}
COUNTED = "mov.u32 add.s32 setp.lt.s32"


def statements(function: nodes.Function) -> list[str]:
    """Return the statements of a body after its parameter loads, each with its preceding comments."""
    assert function.body is not None
    kept = (node for node in function.body.body if isinstance(node, nodes.Instruction | nodes.Label))
    lines = [line for node in kept for line in (*re.findall(r"//.*", node.leading_trivia), spell(node))]
    return [line for line in lines if not line.startswith("ld.param")]


def found(file: str, name: str) -> list[str]:
    module = parse((CORPUS / file).read_text(encoding="utf-8"))
    (function,) = [node for node in module.body if isinstance(node, nodes.Function) and node.name == name]
    return statements(function)


def jumps_out_of_loops() -> None:
    p, r, rd = reg.array(pred, 7), reg.array(b32, 12), reg.array(b64, 7)
    ptx.inst.cvta.to.global_.u64(rd[1], rd[3])
    ptx.inst.setp.lt.s32(p[1], r[6], 1)
    with ptx.block("$L__BB4_10") as end:
        ptx.break_(end, pred=p[1])
        with ptx.block("$L__BB4_9") as zero:
            outer = {"label": "$L__BB4_2", "next_label": "$L__BB4_8", "counter": r[10], "pred": p[6]}
            for start in ptx.range_(0, r[6], dtype=s32, spelling=COUNTED, **outer):
                ptx.inst.setp.ge.s32(p[2], start, r[6])
                ptx.continue_(pred=p[2])
                inner = {"label": "$L__BB4_4", "next_label": "$L__BB4_7", "counter": r[11], "pred": p[5]}
                for at in ptx.range_(start, r[6], dtype=s32, spelling=COUNTED, **inner):
                    with ptx.expr(temps=(rd[4],), spelling=SPELLING):
                        rd[2] = rd[1] + at * 4
                        ptx.inst.ld.global_.u32(r[3], ptx.addr(rd[2]))
                        ptx.inst.setp.eq.s32(p[3], r[3], 0)
                        ptx.break_(zero, pred=p[3])
                        p[4] = r[3] < 0
                        ptx.continue_(pred=p[4])
                        r[8] = r[3] - start
                    ptx.inst.st.global_.u32(ptx.addr(rd[2]), r[8])
            ptx.break_(end, uniform=True)
        with ptx.expr(spelling=SPELLING):
            rd[5] = r[6] * 4
            rd[6] = rd[1] + rd[5]
            r[9] = 1
        ptx.inst.st.global_.u32(ptx.addr(rd[6]), r[9])
    ptx.ret()


def hand_over() -> None:
    p, r, rd, f = reg.array(pred, 4), reg.array(b32, 7), reg.array(b64, 13), reg.array(f32, 2)
    ptx.inst.cvta.to.global_.u64(rd[1], rd[5])
    ptx.inst.mov.u32(r[1], "%ctaid.x")
    ptx.inst.setp.eq.s32(p[1], r[1], 0)
    unsigned = {b32: "mul.wide.u32", b64: "add.s64"}
    with ptx.if_(~p[1], label="$L__BB2_4"):
        ptx.inst.cvta.to.global_.u64(rd[2], rd[4])
        with ptx.loop("$L__BB2_2", pred=p[2]):
            with ptx.asm_region():
                ptx.inst.ld.acquire.gpu.b32(r[2], ptx.addr(rd[3]))
            ptx.inst.setp.eq.s32(p[2], r[2], 0)
        ptx.inst.mov.u32(r[3], "%tid.x")
        with ptx.expr(spelling=unsigned):
            rd[7] = r[3] * 4
            rd[8] = rd[1] + rd[7]
            ptx.inst.ld.global_.f32(f[1], ptx.addr(rd[8]))
            rd[9] = rd[2] + rd[7]
        ptx.inst.st.global_.f32(ptx.addr(rd[9]), f[1])
    with ptx.else_(end_label="$L__BB2_6", end_uniform=True):
        ptx.inst.mov.u32(r[4], "%tid.x")
        with ptx.expr(temps=(rd[10], rd[11]), spelling=unsigned):
            address = rd[1] + r[4] * 4
        ptx.inst.mov.u32(r[5], 1065353216)
        ptx.inst.st.global_.u32(ptx.addr(address), r[5])
        ptx.inst.bar.sync(0)
        ptx.inst.setp.ne.s32(p[3], r[4], 0)
        with ptx.if_(~p[3], label="$L__BB2_6", define_label=False):
            ptx.inst.mov.u32(r[6], 1)
            with ptx.asm_region():
                ptx.inst.st.release.gpu.b32(ptx.addr(rd[3]), r[6])
    ptx.ret()


@pytest.mark.parametrize(
    ("file", "body"), [("switches.sm_90a.ptx", jumps_out_of_loops), ("atomic_ref.sm_90a.ptx", hand_over)]
)
def test_a_function_of_nvcc_s_is_written_by_hand_statement_for_statement(file: str, body: Callable[[], None]) -> None:
    module = kernel(arch="sm_90a")(body).module()
    (function,) = [node for node in module.body if isinstance(node, nodes.Function)]
    assert statements(function) == found(file, body.__name__)
