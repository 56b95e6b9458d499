"""Every simulated form has a reference test, forms outside of the manual have no semantics; invariants of binding.

The name of this file sorts after the reference tests, because it checks which forms they have run.
"""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.check import forms_of, patterns_of
from pyptx_ir.isa.forms import forms
from pyptx_ir.plugins.manager import manager
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.semantics.chapters import CHAPTERS, ROWS

from . import semantics_reference as ref

pytestmark = pytest.mark.scaled

REFERENCES = {path.name for path in Path(__file__).parent.glob("test_semantics_*.py")} - {Path(__file__).name}


def simulated_rows():
    """Return the rows of the instruction table whose first form has semantics."""
    opcodes = {row.opcode.partition(".")[0] for row in ROWS}
    return [row for row in manager().instructions() if row.opcode in opcodes and is_simulated(next(forms(row)))]


def is_simulated(text):
    try:
        return ref.bind(text) is not None
    except (LookupError, ref.NoSemantics):
        return False


def test_pmevent_reads_and_writes_nothing():
    for text in ("pmevent 7;", "pmevent.mask 0xff;"):
        operation = ref.exercise(text)
        assert (operation.results, operation.sources) == ((), ())
        assert operation.compute() == ()


def test_every_form_is_held_against_a_reference(request):
    ran = {item.path.name for item in request.session.items}
    if not ran >= REFERENCES:
        pytest.skip(f"needs the reference tests in the same run: {', '.join(sorted(REFERENCES - ran))}")
    named = {pattern.row.name for opcode in ref.EXERCISED for pattern, _ in forms_of(opcode)}
    assert [row.name for row in simulated_rows() if row.name not in named] == []


def test_every_section_that_semantics_name_is_that_of_a_row():
    sections = {(row.opcode, row.manual) for row in manager().instructions()}
    assert [row.name for row in ROWS if row.manual and (row.opcode, row.manual) not in sections] == []


def nodes_of_chapters():
    """Yield the nodes of the syntax trees of the modules in `CHAPTERS`."""
    for chapter in CHAPTERS:
        yield from ast.walk(ast.parse(Path(chapter.__file__).read_text(encoding="utf-8")))


def test_no_chapter_reads_an_opcode_or_matches_patterns():
    """Only the row of the instruction table assigns a meaning to each modifier."""
    attributes = {node.attr for node in nodes_of_chapters() if isinstance(node, ast.Attribute)}
    imported = {alias.name for node in nodes_of_chapters() if isinstance(node, ast.Import) for alias in node.names}
    assert not attributes & {"opcode", "syntax"}
    assert "re" not in imported


@pytest.mark.hopper
@pytest.mark.blackwell
def test_every_word_that_a_chapter_asks_for_is_one_of_a_row():
    asked = set()
    for node in nodes_of_chapters():
        match node:
            case ast.Call(ast.Attribute(attr="word"), [ast.Constant(str(name))]):
                asked.add(name)
            case ast.Compare(ast.Constant(str(name)), [ast.In() | ast.NotIn()], [ast.Attribute(attr="words")]):
                asked.add(name)
    opcodes = {row.opcode.partition(".")[0] for row in ROWS}
    items = {item.name for opcode in opcodes for pattern in patterns_of(opcode) for item in pattern.items}
    assert len(asked) > 20
    assert asked - items == set()


REFUSED = [
    "add.u8 %d, %a, %b;",
    "add.sat.u64 %d, %a, %b;",
    "add.rn.rz.f32 %d, %a, %b;",
    "add.ftz.f64 %d, %a, %b;",
    "add.sat.bf16 %d, %a, %b;",
    "mul.u32 %d, %a, %b;",
    "mul.wide.u64 %d, %a, %b;",
    "fma.f32 %d, %a, %b, %c;",
    "fma.rn.oob.f32 %d, %a, %b, %c;",
    "fma.rn.oob.ftz.f16 %d, %a, %b, %c;",
    "div.f32 %d, %a, %b;",
    "abs.u32 %d, %a;",
    "popc.u32 %d, %a;",
    "setp.lt.b32 %p, %a, %b;",
    "setp.lo.s32 %p, %a, %b;",
    "setp.equ.s32 %p, %a, %b;",
    "setp.eq.and.u32 %p, %a, %b;",
    "min.xorsign.f32 %d, %a, %b;",
    "min.abs.f32 %d, %a, %b;",
    "max.NaN.f64 %d, %a, %b;",
    "lop3.b32 %d, %a, %b, %c, 256;",
    "lop3.b32 %d, %a, %b, %c, %e;",
    "shl.s32 %d, %a, %b;",
    "vadd.u32.u32.u32.add %d, %a, %b;",
    "vmad.s32.s32.s32 %d, -%a, %b, -%c;",
    "add.u32 %d, %a;",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_meaning_is_refused_by_its_full_name(text):
    with pytest.raises(ref.NoSemantics) as caught:
        ref.bind(text)
    assert isinstance(caught.value, (PyptxError, MissingSemantics))
    assert text.split()[0] in str(caught.value)


def test_modifiers_may_stand_in_any_order_but_types_may_not():
    assert ref.bind("add.ftz.rn.sat.f32 %d, %a, %b;").sources == ("f32", "f32")
    assert ref.bind("add.rz.f32.bf16.sat %d, %a, %b;").sources == ("bf16", "f32")
    assert ref.bind("set.eq.u32.f32 %d, %a, %b;").results == ("u32",)
    with pytest.raises(ref.NoSemantics):
        ref.bind("add.rz.bf16.f32 %d, %a, %b;")


UNIFORM = [
    "add.f32 %d, %a, %b;",
    "fma.rn.f32 %d, %a, %b, %c;",
    "fma.rn.f64 %d, %a, %b, %c;",
    "div.s32 %d, %a, %b;",
    "mul.hi.u64 %d, %a, %b;",
    "bfe.s32 %d, %a, %b, %c;",
    "prmt.b32 %d, %a, %b, %c;",
    "prmt.b32 %d, %a, %b, 0x5410;",
    "add.f16x2 %d, %a, %b;",
    "setp.lt.f32 %p|%q, %a, %b;",
    "min.bf16x2 %d, %a, %b;",
    "vadd4.u32.u32.u32 %d, %a, %b, %c;",
    "cvt.rn.f16x2.f32 %d, %a, %b;",
    "cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;",
    "shf.l.wrap.b32 %d, %a, %b, %c;",
    "sad.u32 %d, %a, %b, %c;",
]


@pytest.mark.parametrize("text", UNIFORM)
def test_uniform_sources_give_what_full_ones_give(text):
    operation = ref.bind(text)
    full = [ref.array(range(3, 67), kind).reshape(2, 32) for kind in operation.sources]
    for narrow in range(len(full)):
        for shape in ((1, 1), (2, 1)):
            sources = [array[: shape[0], :1] if index == narrow else array for index, array in enumerate(full)]
            with np.errstate(all="ignore"):
                mixed = operation.compute(*sources)
                whole = operation.compute(*(np.broadcast_to(source, (2, 32)) for source in sources))
            assert [spread(result) for result in tuple_of(mixed)] == [spread(result) for result in tuple_of(whole)]
    with np.errstate(all="ignore"):
        uniform = tuple_of(operation.compute(*(array[:1, :1] for array in full)))
    assert {result.shape for result in uniform} == {(1, 1)}


def tuple_of(results):
    return results if isinstance(results, tuple) else (results,)


def spread(result):
    return np.broadcast_to(result, (2, 32)).tobytes()


WARP_FORMS = ("shfl", "vote", "match", "activemask", "elect", "redux", "movmatrix")


def test_exactly_the_exchanging_instructions_ask_for_the_mask():
    assert {ref.bind(text).warp for text in UNIFORM} == {False}
    assert {row.opcode for row in ROWS} >= set(WARP_FORMS)
    assert ref.bind("shfl.sync.bfly.b32 %d, %a, 16, 31, -1;").warp
