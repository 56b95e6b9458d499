"""`pyptx check` for the instructions of the architecture packages: wgmma, setmaxnreg, tcgen05."""

from __future__ import annotations

import pytest

from pyptx_ir.isa.modules import check_text, portability
from pyptx_ir.syntax import parse

from .ptxas_verdicts import complaints

REGISTERS = ".reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<8>; .reg .pred %p;"
GROUPS = "tcgen05.alloc.cta_group::1.sync.aligned.b32 [%r1], 64;\n"
BUDGET = "setmaxnreg.inc.sync.aligned.u32 104;"
HALF = ".maxntid 128, 1, 1"
PAIR = "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r1, 64;"

# Target, directives and body of a kernel entry, and its only diagnostic: line, column, code, and end of the hint.
FOUND: dict[str, tuple[str, str, str, tuple[int, int, str, str]]] = {
    "wgmma for a target without the suffix a": (
        "sm_90",
        "",
        "wgmma.fence.sync.aligned;",
        (5, 1, "target", "write .target sm_90a"),
    ),
    "setmaxnreg without a register limit": (
        "sm_90a",
        "",
        BUDGET,
        (5, 1, "ignored-setmaxnreg", ".minnctapersm 1 to the .entry"),
    ),
    "setmaxnreg with .maxntid but without .minnctapersm": (
        "sm_90a",
        HALF,
        BUDGET,
        (5, 1, "ignored-setmaxnreg", "add .minnctapersm 1 to the .entry"),
    ),
    "tcgen05 instructions with .cta_group::1 and ::2": (
        "sm_100a",
        "",
        GROUPS + PAIR,
        (6, 16, "cta-group", ".cta_group::2 (CTA pairs) in the whole kernel"),
    ),
}
# Target, directives and body of kernel entries for which `pyptx check` has no diagnostic.
LEGAL: dict[str, tuple[str, str, str]] = {
    "wgmma": ("sm_90a", "", "wgmma.fence.sync.aligned;\nwgmma.commit_group.sync.aligned;"),
    "setmaxnreg with .maxntid and .minnctapersm": ("sm_90a", ".maxntid 128, 1, 1 .minnctapersm 1", BUDGET),
    "setmaxnreg with .maxnreg": ("sm_90a", ".maxnreg 64", BUDGET),
    "pairs alone": ("sm_100a", "", PAIR),
}


def module(target: str, directives: str, body: str) -> str:
    return f".version 9.0\n.target {target}\n.entry k() {directives} {{\n{REGISTERS}\n{body}\nret; }}\n"


@pytest.mark.parametrize("name", FOUND)
def test_a_defect_is_found_at_its_place(name: str) -> None:
    target, directives, body, (line, column, code, help) = FOUND[name]
    (found,) = check_text(module(target, directives, body))
    assert (found.line, found.column, found.code) == (line, column, code)
    assert found.help.endswith(help)


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_right_passes(name: str) -> None:
    assert check_text(module(*LEGAL[name])) == ()


@pytest.mark.ptxas
@pytest.mark.parametrize("name", [*FOUND, *LEGAL])
def test_ptxas_refuses_the_errors_and_nothing_else(name: str) -> None:
    target, directives, body = LEGAL[name] if name in LEGAL else FOUND[name][:3]
    refused = name in FOUND and FOUND[name][3][2] in ("target", "cta-group")
    assert bool(complaints(module(target, directives, body), target)) == refused


def test_portability_names_the_instruction_that_a_target_lacks() -> None:
    tree = parse(module("sm_90a", "", "wgmma.fence.sync.aligned;"))
    verdicts = {verdict.target: verdict for verdict in portability(tree)}
    assert [name for name, verdict in verdicts.items() if verdict.ok] == ["sm_90a"]
    obstacle = verdicts["sm_100a"].obstacle
    assert obstacle is not None
    assert (obstacle.line, obstacle.message.split()[0]) == (5, "wgmma.fence.sync.aligned")
