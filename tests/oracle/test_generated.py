"""A sample of the generated statements, calls and sections runs with the tests; `nox -s oracle` runs all."""

from __future__ import annotations

import pytest

from pyptx_ir.toolchain.finder import find_tool

from .call_types import TYPES, VECTORS, calls
from .generated import AT_ONCE, Case, judged, table
from .known_generated import LAXER, STRICTER
from .operands import STATEMENTS, statements
from .section_lines import sections

pytestmark = pytest.mark.no_cover

SHARE = 16


@pytest.mark.ptxas
@pytest.mark.long
def test_check_has_an_error_exactly_where_ptxas_has_one() -> None:
    cases = judged(find_tool("ptxas"), seed=1, share=SHARE)
    assert [str(case) for case in cases if case.differs and not case.listed] == []
    for kind in ("operand", "call", "section"):
        of_kind = [case for case in cases if case.kind == kind]
        taken = sum(case.theirs is None for case in of_kind)
        assert 0.05 * len(of_kind) < taken < 0.6 * len(of_kind), (kind, taken, len(of_kind))
    assert f"{'open':>9}" in table(cases)


def test_the_same_seed_makes_the_same_text_and_every_statement_has_an_operand() -> None:
    made = statements(3, 2 * AT_ONCE)
    assert made == statements(3, 2 * AT_ONCE)
    assert made != statements(4, 2 * AT_ONCE)
    assert all(any(text.startswith(form.partition("@")[0]) for text in made) for form in STATEMENTS)
    assert sections(3, 20) == sections(3, 20) != sections(4, 20)


def test_calls_have_every_pair_of_types() -> None:
    texts = calls()
    kinds = [f".{kind.replace('.', ' .')}" for kind in (*TYPES, *VECTORS)]
    for parameter in kinds:
        of_parameter = [text for text in texts if f"{parameter} a)" in text]
        assert all(sum(f".reg {kind} x;" in text for text in of_parameter) > 1 for kind in kinds)
    assert len(set(texts)) == len(texts)


def test_a_difference_is_listed_by_its_text_and_both_verdicts() -> None:
    said = "call-argument: expected a scalar, got the vector register 'x'"
    assert Case("call", "call f, (x);", said, None).listed
    assert not Case("call", "call f, (x);", said, said).differs
    assert not Case("call", "call f, (x);", None, said).listed
    assert all(len(reason) > 20 for reason in (*LAXER.values(), *STRICTER.values()))
