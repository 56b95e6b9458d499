"""Enumerating executions gives the outcomes that the manual states for its own litmus tests. Manual: "Axioms"."""

from __future__ import annotations

import pytest

from pyptx_sim.happens_before.reference.axioms import Outcome, verdicts
from pyptx_sim.happens_before.reference.programs import program

# Litmus test -> its program, forbidden combinations of the values that it reads, and some allowed combinations.
MANUAL = {
    "causality: message passing": (
        "st x; fence.acq_rel.sys; st.relaxed.sys f || ld.relaxed.sys f; fence.acq_rel.sys; ld x",
        [(2, 0)],
        [(0, 0), (0, 1), (2, 1)],
    ),
    "causality: store buffering": (
        "st x; fence.sc.sys; ld y || st y; fence.sc.sys; ld x",
        [(0, 0)],
        [(0, 1), (2, 0), (2, 1)],
    ),
    "store buffering without fence.sc": (
        "st x; fence.acq_rel.sys; ld y || st y; fence.acq_rel.sys; ld x",
        [],
        [(0, 0), (0, 1), (2, 0), (2, 1)],
    ),
    "sequential consistency per location: CoRR": (
        "st.relaxed.sys x || ld.relaxed.sys x; ld.relaxed.sys x",
        [(1, 0)],
        [(0, 0), (0, 1), (1, 1)],
    ),
    "atomicity: morally strong": ("atom.relaxed.sys x || atom.relaxed.sys x", [(0, 0), (2, 1)], [(0, 1), (2, 0)]),
    "atomicity: not morally strong": ("atom.relaxed.cta x || atom.relaxed.gpu x", [(2, 1)], [(0, 0), (0, 1), (2, 0)]),
    "special cases: red forms no acquire pattern": (
        "st x; st.release.gpu f || red.relaxed.sys f; fence.acquire.gpu; ld x",
        [],
        [(0,), (1,)],
    ),
    "special cases: atom forms an acquire pattern": (
        "st x; st.release.gpu f || atom.relaxed.sys f; fence.acquire.gpu; ld x",
        [(2, 0)],
        [(0, 0), (0, 1), (2, 1)],
    ),
    "message passing, with a scope that is too narrow": (
        "st x; st.release.cta f || ld.acquire.gpu f; ld x",
        [],
        [(2, 0), (2, 1)],
    ),
    "load buffering": (
        "ld x; fence.acq_rel.gpu; st.relaxed.gpu y || ld.acquire.gpu y; st x",
        [(2, 1)],
        [(0, 0), (0, 1), (2, 0)],
    ),
}


@pytest.mark.parametrize(("text", "forbidden", "allowed"), MANUAL.values(), ids=list(MANUAL))
def test_what_the_manual_forbids_is_forbidden_and_what_it_allows_is_allowed(
    text: str, forbidden: list[tuple[int, ...]], allowed: list[tuple[int, ...]]
) -> None:
    read = {outcome.read for outcome in verdicts(program(text))}
    assert read.isdisjoint(forbidden)
    assert read >= set(allowed)


def test_a_race_is_one_of_an_execution() -> None:
    found = verdicts(program("st x; st.release.gpu f || ld.acquire.gpu f; ld x"))
    assert found[Outcome((2, 1), (1, 2))] == {False}
    assert found[Outcome((0, 1), (1, 2))] == {True}


def test_what_a_barrier_orders_is_ordered() -> None:
    assert verdicts(program("st x; bar | bar; ld x")) == {Outcome((1,), (1,)): {False}}
    assert {True} in verdicts(program("st x; bar || bar; ld x")).values()


def test_a_line_is_read_as_it_is_spelt() -> None:
    text = "st x; st.release.gpu f || ld.acquire.gpu f | bar; fence.sc.cta ||| atom.relaxed.sys y"
    read = program(text)
    assert [str(operation) for operation in read.operations] == [
        *("st x", "st.release.gpu f", "ld.acquire.gpu f", "bar", "fence.sc.cta", "atom.relaxed.sys y")
    ]
    assert [(place.cluster, place.block, place.warp) for place in read.places] == [
        (0, 0, 0),
        (0, 1, 0),
        (0, 1, 1),
        (1, 0, 0),
    ]
    with pytest.raises(ValueError, match="unknown operation of a litmus program"):
        program("ld.acquire x")
