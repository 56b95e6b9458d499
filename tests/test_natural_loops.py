"""Natural loops are found by control flow: their headers, and the blocks that branch back to them."""

from __future__ import annotations

import pytest
from tools.natural_loops import natural_loops, raised

from pyptx_ir.syntax import parse
from pyptx_transpile.planning.plan import planned
from pyptx_transpile.reading.rows import Row
from pyptx_transpile.rules.table import RULES

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n"
LOOPS = {
    "a loop of one basic block": ("$A:\n@%p1 bra $A;", {"$A": 1}),
    "a loop in a loop": ("$A:\n$B:\n@%p1 bra $B;\n@%p2 bra $A;", {"$A": 1, "$B": 1}),
    "two branches back to one loop header": ("$A:\n@%p1 bra $A;\nmov.b32 %r1, 0;\nbra $A;", {"$A": 2}),
    "a backward branch that closes no loop": ("bra $B;\n$A:\nret;\n$B:\n@%p1 bra $A;", {}),
    "a loop entered after its first label": ("bra $B;\n$A:\nmov.b32 %r1, 0;\n$B:\n@%p1 bra $A;", {"$B": 1}),
    "a cycle with two entries": ("@%p1 bra $B;\n$A:\nmov.b32 %r1, 0;\n$B:\n@%p2 bra $A;", {}),
    "an unreachable loop after ret": ("ret;\n$A:\nbra $A;", {}),
    "a loop with brx.idx": ("$A:\nT: .branchtargets $B, $C;\nbrx.idx %r1, T;\n$B:\nbra $A;\n$C:\nret;", {"$A": 1}),
}


@pytest.mark.parametrize("shape", LOOPS)
def test_loops_by_what_dominates_them(shape: str) -> None:
    body, expected = LOOPS[shape]
    (one,) = Row(parse(f"{HEAD}{body}\nret;\n}}\n")).bodies()
    assert {one.label(head): len(latches) for head, latches in natural_loops(one).items()} == expected


def test_a_claim_says_one_loop() -> None:
    source = f"{HEAD}$A:\n$B:\n@%p1 bra $B;\n@%p2 bra $A;\nbra $D;\n$C:\nmov.b32 %r1, 0;\n$D:\n@%p1 bra $C;\nret;\n}}\n"
    (one,) = Row(parse(source)).bodies()
    assert raised(natural_loops(one), planned(one, RULES)) == 3
    assert raised(natural_loops(one), planned(one, [rule for rule in RULES if rule.name != "loop"])) == 0
