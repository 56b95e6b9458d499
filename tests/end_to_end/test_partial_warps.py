"""Every `.aligned` instruction of the table and `bar`, executed by half a warp: a finding, and undefined results.

The instructions are generated from the instruction table. Other threads skip the instruction by a branch or by its
guard. The same instruction executed by whole warps has no such finding.
"""

from __future__ import annotations

import itertools
import random
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tools.shares import share

from pyptx_ir.isa.forms import some_forms
from pyptx_ir.isa.matching import match_modifiers
from pyptx_ir.isa.modules import check_text
from pyptx_ir.isa.patterns import compile_row
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import parse, parse_instruction, spell
from pyptx_ir.syntax.operands import Register, Vector
from pyptx_sim import run
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.instructions.compiling.table import compile_program
from pyptx_sim.program.lowering import lower

if TYPE_CHECKING:
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_sim import Finding

pytestmark = pytest.mark.scaled(2)

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_107a")
REGISTER = re.compile(r"%([a-z]\w*?)_(\d+)\b")
ROWS = [row for row in manager().instructions() if re.search(r"aligned|^bar\.(?!warp)", row.syntax)]
# Rules that find partial warps at CTA barriers; the last one at arrivals without a wait.
BARRIERS = {"barrier-divergence", "barrier-phase", "deadlock", "membermask-mismatch"}
# By instruction family: PTX after which the results of asynchronous instructions are valid.
WAITS = {
    "wgmma": "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
    "tcgen05": "tcgen05.wait::ld.sync.aligned; tcgen05.wait::st.sync.aligned;",
}
HEAD = """\
.version 9.4
.target {target}
.address_size 64
.global .align 1024 .b8 gmem[65536];
.visible .entry k(.param .u64 out)
{{
.shared .align 1024 .b8 smem[32768];
.shared .align 4 .b32 word;
.reg .pred %low, %first; .reg .b32 %lane, %columns, %word; .reg .b64 %generic, %descriptor, %out;
{registers}
ld.param.u64 %out, [out];
mov.u32 %lane, %laneid;
setp.lt.u32 %low, %lane, 16;
mov.u32 %word, %tid.x;
setp.lt.u32 %first, %word, 32;
mad.wide.u32 %out, %word, 16, %out;
cvta.shared.u64 %generic, smem;
mov.b64 %descriptor, 0x0000400000000040;
mov.b32 %columns, 0;
{allocation}
{values}
"""
ALLOCATION = """\
@%first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [word], 512;
bar.sync 1;
ld.shared.u32 %columns, [word];
"""


class Sample:
    """A generated instruction in a kernel: half of each warp executes it, then stores its results."""

    def __init__(self, row: InstructionRow, form: str) -> None:
        self.form, self.node = form, parse_instruction(form)
        self.opcode = self.node.opcode[0]
        pattern = compile_row(row)
        filled = match_modifiers(pattern, self.node.opcode[1:]) or {}
        places = [place for place in pattern.places if place.stands(filled)]
        if len(places) > len(self.node.operands):
            places = [place for place in places if not place.optional]
        self.places = list(zip(places, self.node.operands, strict=False))
        self._separate_results()

    def _separate_results(self) -> None:
        """Give each written register a number of its own: generated forms use a register several times."""
        numbers = itertools.count(1000)
        operands = []
        self.results: list[str] = []
        for place, operand in self.places:
            text = spell(operand)
            if place.written and isinstance(operand, Register | Vector):
                text = REGISTER.sub(lambda found: f"%{found[1]}_{next(numbers)}", text)
                self.results += [found[0] for found in REGISTER.finditer(text)]
            operands.append(text)
        self.form = f"{'.'.join(self.node.opcode)} {', '.join(operands)}".strip() + ";"

    def _value(self, kind: str, register: str) -> str:
        """Return the instruction that sets an operand's register to a value that the instruction accepts."""
        places = {place.name for place, operand in self.places if register in spell(operand)}
        match kind:
            case "pred":
                return f"setp.eq.u32 {register}, 0, 0;"
            case "u64":
                return f"mov.b64 {register}, %generic;"
            case "b64":
                return f"mov.b64 {register}, %descriptor;"
            case "b128":
                return f"mov.b128 {register}, {{%descriptor, %descriptor}};"
            case "f32" | "f64":
                return f"cvt.rn.{kind}.u32 {register}, 0;"
            case "u32":
                source = "%columns" if "taddr" in places else "1" if "a" in places else "64" if "b" in places else "32"
                return f"mov.b32 {register}, {source};"
            case _:
                width = "16" if kind in {"f16", "b16", "u16", "s16", "bf16"} else "64" if "64" in kind else "32"
                return f"mov.b{width} {register}, 0;"

    def text(self, target: str, skipped: str) -> tuple[str, int, dict[int, str]]:
        """Return the module, the line of the tested instruction, and the result register by line of the store.

        `skipped` is how lanes 16-31 skip the instruction: by a "branch", by its "guard", or not at all ("").
        """
        names = sorted({(kind, int(number)) for kind, number in REGISTER.findall(self.form)})
        most = dict(names)
        body = HEAD.format(
            target=target,
            registers=" ".join(f".reg .{kind} %{kind}_<{number + 1}>;" for kind, number in most.items()),
            allocation=ALLOCATION if self.opcode == "tcgen05" and "alloc" not in self.node.opcode else "",
            values="\n".join(self._value(kind, f"%{kind}_{number}") for kind, number in names),
        )
        line = {"branch": "@!%low bra past;\n", "guard": "@%low "}.get(skipped, "") + self.form
        body += line + "\n"
        at = body.count("\n")
        if skipped == "branch":
            body += "past:\n"
        body += f"bar.warp.sync -1;\n{WAITS.get(self.opcode, '')}\n"
        stores = {}
        for result in self.results:
            kind = result[1:].rpartition("_")[0]
            if kind == "pred":
                body += f"selp.b32 %word, 1, 0, {result};\n"
            width = {"f16x2": "32", "pred": "32"}.get(kind, re.sub(r"\D+", "", kind))
            body += f"@%low st.global.b{width} [%out], {'%word' if kind == 'pred' else result};\n"
            stores[body.count("\n")] = result
        return f"{body}ret;\n}}\n", at, stores


def samples(count: int) -> list[tuple[str, Sample, str]]:
    """Return up to `count` instructions of each row of the instruction table that a target supports, and the target."""
    found = []
    for row in share(ROWS, 6):
        chance = random.Random(row.name)
        forms = [form for form in some_forms(row, chance, 8) if {"bar", "aligned"} & {*parse_instruction(form).opcode}]
        for form in dict.fromkeys(forms[:count]):
            sample = Sample(row, form)
            fits = (each for each in TARGETS if not any(one.is_error for one in check_text(sample.text(each, "")[0])))
            target = next(fits, None)
            if target is not None and compiles(sample.text(target, "")[0]):
                found.append((sample.form[:80], sample, target))
    return found


def compiles(text: str) -> bool:
    """Return whether the simulator has semantics for the instruction; `test_forms.py` lists instructions without."""
    try:
        compile_program(lower(parse(text), "k"), checked=True)
    except MissingSemantics:
        return False
    return True


SAMPLES = samples(2)


def found_in(sample: Sample, target: str, skipped: str) -> tuple[tuple[Finding, ...], int, dict[int, str]]:
    text, line, stores = sample.text(target, skipped)
    return run(text, grid=1, block=128, args=[np.zeros(256, np.uint64)]).findings, line, stores


@pytest.mark.parametrize(("name", "sample", "target"), SAMPLES, ids=[name for name, _, _ in SAMPLES])
def test_half_a_warp_has_a_finding_and_undefined_results(name: str, sample: Sample, target: str) -> None:
    findings, _, _ = found_in(sample, target, "")
    assert "membermask-mismatch" not in {finding.rule for finding in findings}, name
    for skipped in ("branch", "guard"):
        findings, line, stores = found_in(sample, target, skipped)
        if sample.opcode in {"bar", "barrier"} and "cluster" not in sample.node.opcode:
            assert BARRIERS & {finding.rule for finding in findings}, skipped
            continue
        (mismatch,) = (each for each in findings if (each.rule, each.line) == ("membermask-mismatch", line))
        assert {result for store, result in stores.items() if store not in mismatch.also} == set(), skipped


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("block", [64, 40])
def test_a_cluster_barrier_does_not_need_exited_threads(block: int, seed: int) -> None:
    body = "setp.ge.u32 %p, %r, 40;\n@%p ret;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;\n"
    head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p; .reg .b32 %r;\n"
    text = f"{head}mov.u32 %r, %tid.x;\n{body}}}\n"
    assert run(text, grid=2, cluster=2, block=block, seed=seed).findings == ()
