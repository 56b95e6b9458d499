"""A wrong loop is printed iteration by iteration to find whether a rewrite inside it or the loop itself is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.proof.candidates import Suspects

if TYPE_CHECKING:
    from pyptx_transpile.planning.plan import Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter

BODY, OTHER = 10, 100  # index of the first statement of each of two loop bodies


def nothing(_printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
    raise AssertionError("nothing is printed here")


def rewrite(start: int, end: int, *, repeats: bool = False) -> Rewrite:
    return Rewrite("repeat" if repeats else "test", start, end, nothing, repeats=repeats)


LOOP, INSIDE, BESIDE = rewrite(12, 20, repeats=True), rewrite(14, 16), rewrite(30, 32)


def test_what_is_no_loop_is_guilty_at_once() -> None:
    suspects = Suspects()
    assert suspects.judge({BODY: {BESIDE: "why"}}) == {BODY: {BESIDE: "why"}}
    assert suspects.of(BODY) == frozenset()


def test_a_loop_is_suspected_first_and_guilty_where_nothing_else_is_at_fault() -> None:
    suspects = Suspects()
    assert suspects.judge({BODY: {LOOP: "first"}}) == {}
    assert suspects.of(BODY) == {LOOP.key}
    assert suspects.of(OTHER) == frozenset()
    assert suspects.judge({}) == {BODY: {LOOP: "first"}}
    assert suspects.of(BODY) == frozenset()


def test_a_loop_that_is_wrong_turn_by_turn_too_is_guilty() -> None:
    suspects = Suspects()
    suspects.judge({BODY: {LOOP: "first"}})
    assert suspects.judge({BODY: {LOOP: "again"}}) == {BODY: {LOOP: "again"}}


def test_a_loop_is_let_go_where_a_rewrite_in_it_is_at_fault() -> None:
    suspects = Suspects()
    suspects.judge({BODY: {LOOP: "first"}})
    assert suspects.judge({BODY: {INSIDE: "in one turn"}}) == {BODY: {INSIDE: "in one turn"}}
    assert suspects.of(BODY) == frozenset()
    assert suspects.judge({}) == {}


def test_a_loop_stays_suspected_where_a_rewrite_beside_it_is_at_fault() -> None:
    suspects = Suspects()
    suspects.judge({BODY: {LOOP: "first"}})
    assert suspects.judge({BODY: {BESIDE: "why"}}) == {BODY: {BESIDE: "why"}}
    assert suspects.of(BODY) == {LOOP.key}
    assert suspects.judge({}) == {BODY: {LOOP: "first"}}


def test_bodies_are_judged_apart() -> None:
    suspects = Suspects()
    other = rewrite(112, 120, repeats=True)
    assert suspects.judge({BODY: {LOOP: "one", BESIDE: "two"}, OTHER: {other: "three"}}) == {BODY: {BESIDE: "two"}}
    assert suspects.of(BODY) == {LOOP.key}
    assert suspects.of(OTHER) == {other.key}
    assert suspects.judge({OTHER: {other: "three"}}) == {BODY: {LOOP: "one"}, OTHER: {other: "three"}}
