"""Any program round-trips byte-identically, with and without rules: branches anywhere, expressions, repeats, scopes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptx.codegen import transpile
from pyptx_ir.plugins.manager import manager

from .test_codegen import module_of

pytestmark = pytest.mark.no_cover

LABELS = 6
HEAD = (
    ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry k()\n{\n\t.reg .pred %p<4>;\n\t.reg .b32 %r<40>;"
    "\n\t.reg .f32 %f<9>;\n\t.reg .b64 %rd<40>;\n\n"
)

registers, wide, floats = (
    st.integers(0, count - 1).map(lambda number, stem=stem: f"%{stem}{number}")
    for stem, count in (("r", 40), ("rd", 40), ("f", 9))
)
numbers = st.sampled_from(("0", "-1", "4", "0x10", "2147483647", "017U"))
sources = registers | numbers
guards = st.sampled_from(("", "", "@%p1 ", "@!%p2 "))
labels = st.integers(0, LABELS - 1).map(lambda number: f"$L{number}")
operations = st.sampled_from(
    ("add.s32", "add.u32", "sub.s32", "mul.lo.s32", "and.b32", "xor.b32", "shl.b32", "shr.u32")
)


def statement(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return statements of a pattern with one `{}` for each part."""
    return st.tuples(*parts).map(lambda drawn: f"\t{pattern.format(*drawn)};\n")


simple = st.one_of(
    statement("{}{} {}, {}, {}", guards, operations, registers, registers, sources),
    statement("{} {}, {}, {}", operations, registers, registers, sources),
    statement("mul.wide.s32 {}, {}, {}", wide, registers, sources),
    statement("add.s64 {}, {}, {}", wide, wide, wide),
    statement("ld.global.b32 {}, [{}+{}]", registers, wide, st.sampled_from(("0", "4", "-8"))),
    statement("st.global.v2.b32 [{}], {{{}, {}}}", wide, registers, registers),
    statement("cvt.rn.f32.s32 {}, {}", floats, registers),
    statement("fma.rn.f32 {}, {}, 0f3F800000, {}", floats, floats, floats),
    statement("setp.lt.s32 %p1, {}, {}", registers, sources),
    statement("neg.f32 {}, {}", floats, floats),
    statement("bar.sync 0"),
    st.just("\n\t// a comment\n\tmembar.cta;\n"),
)
branch = statement("{}bra{} {}", guards, st.sampled_from(("", "", ".uni")), labels)
# Consecutive lines, each with the registers of the line before plus 1: input for the repeat and expression rules.
chain = st.tuples(st.integers(0, 30), st.integers(2, 8)).map(
    lambda drawn: "".join([f"\tadd.s32 %r{at + 1}, %r{at}, {3 * at};\n" for at in range(drawn[0], drawn[0] + drawn[1])])
)
programs = st.tuples(
    st.lists(simple | branch | chain | simple.map(lambda text: f"\t{{\n{text}\t}}\n"), max_size=40),
    st.lists(st.integers(0, 40), min_size=LABELS, max_size=LABELS),
).map(lambda drawn: program(*drawn))


def program(lines: list[str], places: list[int]) -> str:
    """Return a module with labels before the lines with these numbers."""
    found: list[str] = []
    for at in range(len(lines) + 1):
        found += [f"$L{number}:\n" for number, place in enumerate(places) if min(place, len(lines)) == at]
        found += lines[at : at + 1]
    return f"{HEAD}{''.join(found)}\tret;\n}}\n"


@settings(deadline=None)
@given(programs, st.booleans())
@pytest.mark.long
def test_any_program_comes_back(source: str, sugar: bool) -> None:  # noqa: FBT001  drawn
    done = transpile(source, manager().sugar_rules() if sugar else ())
    assert module_of(done.text).ptx() == source
    assert not done.rejected
