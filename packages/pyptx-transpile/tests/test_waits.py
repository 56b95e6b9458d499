"""Waits for an mbarrier: PTX of each `form=` is transpiled to the same `form=`, for any names and polling loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.instructions.groups.wait_forms import FORMS, GUARDED
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import b64, pred, u32
from pyptx_transpile import transpile
from pyptx_transpile.rules.table import RULES

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

POLLS: dict[str, dict[str, object]] = {
    "default options": {},
    "test_wait": {"poll": "test_wait"},
    "state operand": {"parity": False},
    "acquire": {"sem": "acquire", "scope": "cluster"},
    "relaxed and generic": {"sem": "relaxed", "scope": "cta", "space": None},
    "suspend time hint": {"suspend_time_hint": "0x989680", "space": "shared"},
    "uniform": {"uniform": True},
    "lines": {"loc": (1, 20, 5)},
    "inlined lines": {"loc": (1, 20, 5, "$name", (1, 7, 3))},
}
ROWS = [*[(form, form == "skip") for form in FORMS], *[(form, True) for form in GUARDED if form != "skip"]]


def written(form: str, knobs: dict[str, object], *, guarded: bool, computed: bool = False) -> str:
    """Return a module with one `ptx.mbarrier.wait` of the form `form`, between two other instructions."""

    def k() -> None:
        ptx.file_(1, "kernel.py")
        p, r, state = reg.array(pred, 4), reg.array(u32, 8), reg.scalar(b64)
        smem.mbarrier(1)
        more: dict[str, object] = {"result": r[5]} if "selp" in FORMS[form].steps else {}
        more |= {"pred": p[2]} if guarded else {}
        phase: Reg | int = state if knobs.get("parity") is False else r[2]
        ptx.inst.add.u32(r[3], r[3], 1)
        if computed:
            barrier, turn = ptx.inst.mov.u32, ptx.inst.mov.b32
            ptx.mbarrier.wait(lambda: barrier(r[1], "mbar_0"), lambda: turn(r[2], 1), form=form, **knobs, **more)
        else:
            base = state if "space" in knobs and knobs["space"] is None else r[1]
            ptx.mbarrier.wait(ptx.addr(base, 8), phase, form=form, **knobs, **more)
        ptx.inst.add.u32(r[3], r[3], 2)

    return kernel(arch="sm_90a", version=(8, 6))(k).ptx()


@pytest.mark.parametrize("knobs", POLLS)
@pytest.mark.parametrize(("form", "guarded"), ROWS)
def test_each_form_is_read_as_it_is_written(form: str, guarded: bool, knobs: str) -> None:  # noqa: FBT001  a parameter
    done = transpile(written(form, POLLS[knobs], guarded=guarded), RULES)
    assert done.applied["wait"] == 1, done.text
    assert "ptx.inst.mbarrier" not in done.text
    assert not done.rejected
    assert form == "retry" or f'form="{form}"' in done.text


@pytest.mark.parametrize("form", [form for form, guarded in ROWS if "again:" in FORMS[form].steps and not guarded])
def test_what_is_computed_in_each_turn_is_a_function(form: str) -> None:
    done = transpile(written(form, {}, guarded=False, computed=True), RULES)
    assert done.applied["wait"] == 1, done.text
    functions = "lambda: ptx.inst.mov.u32(r[1], mbar_0), lambda: ptx.inst.mov.b32(r[2], 1)"
    assert functions in " ".join(done.text.split())
    assert not done.rejected


def test_what_waits_have_in_common_is_said_once() -> None:
    def k() -> None:
        r = reg.array(u32, 8)
        smem.mbarrier(1)
        for at in range(3):
            ptx.mbarrier.wait(r[at], r[7], form="scoped", label="waitLoop", done="complete")
        for at in range(2):
            ptx.mbarrier.wait(r[at], r[6], form="scoped_done", label="L", past_label="D", done="P1")
        ptx.mbarrier.wait(r[at], r[6], form="scoped_done", label="LAB_WAIT", past_label="DONE", done="P1")

    text = transpile(kernel(arch="sm_90a")(k).ptx(), RULES).text
    assert 'wait = partial(ptx.mbarrier.wait, form="scoped", label="waitLoop", done="complete")\n' in text
    assert 'wait_2 = partial(ptx.mbarrier.wait, form="scoped_done", label="L", past_label="D", done="P1")\n' in text
    assert text.count("    wait(r[") == 3
    assert text.count("    wait_2(r[") == 2
    assert text.count("    ptx.mbarrier.wait(r[") == 1


SPIN = "{\n\t.reg .pred P1;\nL:\n\tmbarrier.try_wait.parity.shared::cta.b64 P1, [%r1], %r2;\n\t@!P1 bra L;\n\t}\n"
NEARLY = {
    "branch on another predicate": SPIN.replace("@!P1", "@!%p1"),
    "branch on the opposite predicate": SPIN.replace("@!P1", "@P1"),
    "branch to another label": SPIN.replace("@!P1 bra L", "@!P1 bra M") + "\tM:\n",
    "three more instructions": SPIN.replace("\tmbar", 3 * "\tadd.s32 %r1, %r1, 1;\n" + "\tmbar"),
    "instruction that computes no operand": SPIN.replace("\tmbar", "\tadd.s32 %r3, %r1, 1;\n\tmbar"),
    "comment in the loop": SPIN.replace("\tmbar", "\t// look\n\tmbar"),
}


@pytest.mark.parametrize("what", NEARLY)
def test_what_is_no_form_stays(what: str) -> None:
    head = ".version 8.6\n.target sm_90\n.address_size 64\n\n.visible .entry k()\n{\n\t.reg .pred %p<4>;\n"
    source = f"{head}\t.reg .b32 %r<9>;\n\n\t{NEARLY[what]}\tret;\n}}\n"
    done = transpile(source, RULES)
    assert done.applied["wait"] == 0
    assert "ptx.inst.mbarrier.try_wait" in done.text
    assert not done.rejected
