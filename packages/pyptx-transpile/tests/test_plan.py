"""Rewrites of a plan are disjoint or nested, and their Python blocks nest at most DEEPEST deep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_ir.syntax import parse
from pyptx_transpile.planning.plan import DEEPEST, Rewrite, RewritePlan
from pyptx_transpile.reading.rows import Body, Row

if TYPE_CHECKING:
    from pyptx_transpile.planning.plan import Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter

LENGTH = 40


def nothing(_printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
    raise AssertionError("nothing is printed here")


def rewrite(start: int, end: int, *inner: tuple[int, int]) -> Rewrite:
    return Rewrite("test", start, end, nothing, inner)


@pytest.fixture
def body() -> Body:
    text = f".version 8.0\n.target sm_90\n.address_size 64\n.entry k\n{{\n{'ret;' * LENGTH}\n}}\n"
    (body,) = Row(parse(text)).bodies()
    return body


def test_rewrites_nest_in_either_order(body: Body) -> None:
    start = body.start
    outer, inner = rewrite(start, start + 10, (start + 1, start + 9)), rewrite(start + 3, start + 5)
    for order in ((outer, inner), (inner, outer)):
        plan = RewritePlan(body, frozenset())
        assert all(plan.accept(each) for each in order)
        assert list(plan.rewrites()) == [outer, inner]
        assert list(plan.around(start + 4)) == [outer]
        assert plan.owner(start + 4) is inner
        assert plan.owner(start) is outer
        assert plan.owner(start + 2) is None


@pytest.mark.parametrize(("start", "end"), [(0, 5), (5, 12), (9, 20), (1, 10), (0, 1), (1, 2)])
def test_rewrites_that_cross_are_refused(body: Body, start: int, end: int) -> None:
    plan = RewritePlan(body, frozenset())
    first = body.start
    assert plan.accept(rewrite(first + 1, first + 10, (first + 2, first + 9)))
    accepted = plan.accept(rewrite(first + start, first + end, (first + start + 1, first + end - 1)))
    assert accepted == (end <= 1)


def test_a_rewrite_that_was_rejected_is_refused(body: Body) -> None:
    one = rewrite(body.start, body.start + 2)
    assert not RewritePlan(body, frozenset({one.key})).accept(one)


def test_rewrites_nest_no_deeper_than_python_does(body: Body) -> None:
    plan = RewritePlan(body, frozenset())
    start, end = body.start, body.end
    accepted = [plan.accept(rewrite(start + n, end - n, (start + n + 1, end - n - 1))) for n in range(LENGTH // 2)]
    assert accepted == [n < DEEPEST - 1 for n in range(LENGTH // 2)]  # DEEPEST - 1: the function is itself a block
    inside_out = RewritePlan(body, frozenset())
    for n in reversed(range(LENGTH // 2)):
        inside_out.accept(rewrite(start + n, end - n, (start + n + 1, end - n - 1)))
    assert len(list(inside_out.rewrites())) == DEEPEST - 1


def turns(start: int, length: int, count: int) -> Rewrite:
    slices = [(at, at + length) for at in range(start, start + length * count, length)]
    return Rewrite("turns", start, start + length * count, nothing, tuple(slices), repeats=True)


def test_rewrites_inside_of_turns_stay_where_all_turns_have_them(body: Body) -> None:
    plan, start = RewritePlan(body, frozenset()), body.start
    common = [Rewrite("test", at, at + 2, nothing, like="one") for at in (start, start + 5, start + 10)]
    alone = Rewrite("test", start + 8, start + 10, nothing)
    other = [Rewrite("test", at + 3, at + 5, nothing, like=at) for at in (start, start + 10)]
    outside = rewrite(start + 15, start + 17)
    loop = turns(start, 5, 3)
    assert all(plan.accept(each) for each in (*common, alone, outside, loop, *other))
    plan.settle()
    assert list(plan.rewrites()) == [loop, *common, outside]
    assert plan.in_turn(start + 3)
    assert not plan.in_turn(start)  # the statement at `start` is outside iterations
    assert not plan.in_turn(start + 20)


def test_rewrites_inside_of_turns_of_turns_are_compared_too(body: Body) -> None:
    plan, start = RewritePlan(body, frozenset()), body.start
    outer, inner = turns(start, 10, 2), [turns(start, 5, 2), turns(start + 10, 5, 2)]
    uneven = [Rewrite("test", at, at + 2, nothing) for at in (start, start + 5)]  # rewrites in iteration 0 of `outer`
    assert all(plan.accept(each) for each in (outer, *inner, *uneven))
    plan.settle()
    assert [each.rule for each in plan.rewrites()] == ["turns"]


def test_settling_again_changes_nothing(body: Body) -> None:
    plan, start = RewritePlan(body, frozenset()), body.start
    outer, inner = turns(start, 10, 2), [turns(start, 5, 2), turns(start + 10, 5, 2)]
    common = [Rewrite("test", at, at + 2, nothing, like="one") for at in range(start, start + 20, 5)]
    assert all(plan.accept(each) for each in (outer, *inner, *common))
    for _ in range(2):
        plan.settle()
        assert list(plan.rewrites()) == [outer, inner[0], *common[:2], inner[1], *common[2:]]


def test_rewrites_are_alike_only_with_all_that_is_inside_of_them(body: Body) -> None:
    plan, start = RewritePlan(body, frozenset()), body.start
    loop = turns(start, 10, 2)
    blocks = [Rewrite("block", at, at + 8, nothing, ((at + 1, at + 7),)) for at in (start, start + 10)]
    inside = rewrite(start + 2, start + 4)  # a rewrite in the first block, without a counterpart in the second
    assert all(plan.accept(each) for each in (loop, *blocks, inside))
    plan.settle()
    assert list(plan.rewrites()) == [loop]


def test_what_no_rewrite_says_is_in_rows_of_one_slot_each(body: Body) -> None:
    plan, start = RewritePlan(body, frozenset()), body.start
    assert list(plan.unclaimed()) == [range(start, body.end)]
    assert plan.accept(rewrite(start + 2, start + 10, (start + 3, start + 6), (start + 6, start + 9)))
    assert plan.accept(rewrite(start + 4, start + 5))
    ends = [(0, 2), (3, 4), (5, 6), (6, 9), (10, LENGTH)]
    assert list(plan.unclaimed()) == [range(start + first, start + last) for first, last in ends]
    for row in plan.unclaimed():
        assert len({id(plan.slot(at)) for at in row}) == 1
