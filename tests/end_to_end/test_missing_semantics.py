"""The simulator compiles every instruction of the table, except the instructions listed in docs/limitations.md.

The instructions are generated from the instruction table, and compiled without being executed.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.oracle.ptxas import VARIABLES
from tools.shares import full, share

from pyptx_ir.isa.check import TABLE_VERSION
from pyptx_ir.isa.forms import some_forms
from pyptx_ir.isa.modules import check_text
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import parse
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.instructions.compiling.table import compile_program
from pyptx_sim.program.lowering import lower

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.scaled

PAGE = Path(__file__).resolve().parents[2] / "docs" / "limitations.md"
TARGETS = ("sm_90a", "sm_100a", "sm_103a", "sm_107a", "sm_120a", "sm_75")
CALLS = {"call", "brx", "acme"}  # not generated: call and brx need label lists or prototypes; acme is a test plugin
REGISTER = re.compile(r"%([a-z]\w*?)_(\d+)\b")
# Opcodes without semantics, by the first column of the table in docs/limitations.md.
MISSING = {
    "`tex` of geometry `.2dms` or `.a2dms`": r"tex\.(base\.)?a?2dms",
    "`mbarrier` with `.layout::v1`, `.phase_type::primary` or `.phase_type::conditional`": (
        r"mbarrier\..*(layout::v1|phase_type::)"
    ),
    "`mbarrier` with `.multicast::cluster::32b`": r"mbarrier\..*multicast::cluster::32b",
    "bulk copies with `.mbarrier::report`": r"cp\.async\.bulk.*mbarrier::report",
    "`cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor` of mode `.im2col_no_offs::w`": (
        r"cp\.(reduce\.)?async\.bulk\.tensor.*im2col_no_offs::w"
    ),
    "tensor copies with `.override::global_dim` and `.override::global_dim_stride`": (
        r"cp\.(reduce\.)?async\.bulk\.tensor.*override::global_dim"
    ),
    "`ldmatrix` of `.m8n16` from `.s4` to `.s8`": r"ldmatrix.*m8n16.*\.s8\.s4",
    "`add`, `sub`, `mul`, `fma` of `.e4m3x4` and `.e5m2x4`": r"(add|sub|mul|fma)\.(.*\.)?e(4m3|5m2)x4",
    "`add`, `sub`, `mul`, `fma` of packed operands of two types": r"(add|sub|mul|fma)(\.\w+)*?(\.\w+x2){2}",
    "`set` of packed integers": r"set\..*[us](16x2|8x4)",
    "`cvt` with `.pzo`, of `.ue5m3x2`, and to packed 4-, 6- and 8-bit floats by `.rz` or with `.scaled`": (
        r"cvt\..*(pzo|ue5m3x2)|cvt\.(rz|.*scaled).*\.e\dm\dx[24]\."
    ),
    "`spcompress`, `spdecompress`, and `tcgen05.ld` with `.spcompress`": r"sp(de)?compress|tcgen05\.ld.*spcompress",
    "`tcgen05.mma` of `.kind::ti16` or with `.decompress::lut::b`": r"tcgen05\.mma.*(kind::ti16|decompress::lut::b)",
    "`tensormap.replace` to a swizzle of 96 bytes": r"tensormap\.replace.*swizzle_mode.*, 4;",
    "`fabric`": r"fabric\.",
}


def module(instruction: str, target: str) -> str:
    """Return a module of the newest PTX version with an entry `k` that contains the instruction."""
    numbers = {
        kind: int(number) for kind, number in sorted(REGISTER.findall(instruction), key=lambda each: int(each[1]))
    }
    registers = " ".join(f".reg .{kind} %{kind}_<{most + 1}>;" for kind, most in numbers.items())
    head = [f".version {TABLE_VERSION[0]}.{TABLE_VERSION[1]}", f".target {target}", ".address_size 64", *VARIABLES]
    entry = ".visible .entry k(.param .u64 pp, .param .align 64 .b8 tmap[128])"
    body = f"{registers} .local .align 16 .b8 lmem[64]; .param .align 16 .b8 fp[16]; {instruction} done: ret;"
    return "\n".join([*head, entry, f"{{ {body} }}", ""])


def instructions() -> Iterator[tuple[str, str]]:
    """Yield generated instructions, each with a module whose target has the instruction."""
    for row in share((row for row in manager().instructions() if row.opcode not in CALLS), 12):
        for form in dict.fromkeys(some_forms(row, random.Random(row.name), full(8, default=2))):
            texts = (module(form, target) for target in TARGETS)
            text = next((each for each in texts if not any(one.is_error for one in check_text(each))), None)
            if text is not None:
                yield form, text


def test_the_page_lists_these_instructions() -> None:
    table = PAGE.read_text(encoding="utf-8").split("| instruction or modifier |", 1)[1].split("\n\n", 1)[0]
    assert re.findall(r"(?m)^\| ([^-|].*?) \|", table) == list(MISSING)


def test_every_instruction_compiles_or_is_listed() -> None:
    compiled, missing = list[str](), list[str]()
    for form, text in instructions():
        try:
            compile_program(lower(parse(text), "k"), checked=True)
            compiled.append(form)
        except MissingSemantics:
            missing.append(form)
    listed = re.compile("|".join(MISSING.values()))
    assert [form for form in missing if not listed.match(form)] == []
    assert [form for form in compiled if listed.match(form)] == []
    assert compiled
