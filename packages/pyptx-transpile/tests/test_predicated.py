"""Consecutive instructions with one guard become a `with` block if it takes no more lines than single calls."""

from __future__ import annotations

import pytest

from pyptx_transpile import transpile
from pyptx_transpile.rules.table import RULES

from .test_proof import rebuilt
from .test_rules import module

LONG = "@{} cp.async.cg.shared.global.L2::cache_hint [%r1+128], [%rd1+128], 16, %r2, %rd2;"

APART = {
    "another guard": (LONG.format("%p1"), "@%p2 st.global.b32 [%rd3], %r3;"),
    "opposite guard": (LONG.format("%p1"), "@!%p1 st.global.b32 [%rd3], %r3;"),
    "no line saved": ("@%p1 st.global.b32 [%rd3+4], %r3;", "@%p1 st.global.b32 [%rd3], %r3;"),
    "an instruction writes the guard": ("@%p1 setp.ne.s32 %p1, %r1, 7;", LONG.format("%p1")),
}


@pytest.mark.parametrize("case", APART)
def test_others_keep_their_guards(case: str) -> None:
    source = module("\n\t".join(APART[case]))
    done = transpile(source, RULES)
    assert "ptx.predicated" not in done.text
    assert rebuilt(done.text) == source


def test_what_writes_the_guard_is_the_last_of_a_block() -> None:
    source = module(f"{LONG.format('!%p1')}\n\t@!%p1 setp.ne.s32 %p1, %r1, 7;\n\t@!%p1 st.global.b32 [%rd3], %r3;")
    done = transpile(source, RULES)
    assert "    with ptx.predicated(~p[1]):\n" in done.text
    assert "    ptx.inst.st.global_.b32(ptx.addr(rd[3]), r[3], pred=~p[1])\n" in done.text
    assert rebuilt(done.text) == source
