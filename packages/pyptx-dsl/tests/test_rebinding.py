"""Rebinding a name inside a traced block is an error at that line if the old value is used afterwards."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import ControlFlowError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import f32, u32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_dsl.registers.register import Reg

MARK = "# error here"


def refused_a_sum() -> None:
    v = reg.scalar(f32, init=0.0)
    for _ in ptx.range_(10):
        v = v + 1.0  # error here
    ptx.ret()


def refused_behind_an_if() -> None:
    v = reg.scalar(f32, init=0.0)
    with ptx.if_(v > 1.0):
        v = v * 2.0  # error here
    ptx.mov(f32, reg.scalar(f32), v)


def refused_in_two_arms() -> None:
    v = reg.scalar(f32, init=0.0)
    with ptx.if_(v > 1.0):
        t = v + 1.0
    with ptx.else_():
        t = v - 1.0  # error here
    ptx.mov(f32, v, t)


def refused_in_the_condition_of_while() -> None:
    i = reg.scalar(u32, init=0)
    j = reg.scalar(u32, init=1)
    with ptx.while_(lambda: i < 10):
        i = j + 1  # error here
    ptx.ret()


def refused_a_number() -> None:
    i, v = 0, reg.scalar(u32, init=0)
    with ptx.loop(pred=lambda: v < 10):
        v += i + 1
        i += 1  # error here
    ptx.ret()


def refused_a_number_behind_an_if() -> None:
    n, v = 4, reg.scalar(u32, init=0)
    with ptx.if_(v == 0):
        n = 8  # error here
    v += n


def refused_a_list() -> None:
    acc = [reg.scalar(f32, init=0.0) for _ in range(4)]
    for _ in ptx.range_(10):
        acc = [x + 1.0 for x in acc]  # error here
    ptx.ret()


def refused_an_element() -> None:
    acc = [reg.scalar(f32, init=0.0) for _ in range(4)]
    for _ in ptx.range_(10):  # error here
        for j in range(4):
            acc[j] = acc[j] + 1.0
    ptx.ret()


def refused_a_value_of_a_dict() -> None:
    acc = {"sum": reg.scalar(f32, init=0.0)}
    for _ in ptx.range_(10):  # error here
        acc["sum"] = acc["sum"] + 1.0
    ptx.ret()


class State:
    """Object of a test kernel, with registers as attributes."""

    def __init__(self) -> None:
        self.total = reg.scalar(f32, init=0.0)
        self.last = reg.scalar(f32, init=0.0)

    def add(self) -> None:
        """Rebind the attribute `total` to the register of the sum."""
        self.total = self.total + 1.0


def refused_an_attribute() -> None:
    state = State()
    for _ in ptx.range_(10):  # error here
        state.add()
    ptx.ret()


def accepted_an_attribute_that_no_turn_reads() -> None:
    state = State()
    state.last = state.total
    for i in ptx.range_(10):
        state.last = i + 1
        state.total += 1.0
    ptx.ret()


def refused_a_swap() -> None:
    v, w = reg.scalar(f32, init=0.0), reg.scalar(f32, init=1.0)
    for _ in ptx.range_(10):
        v, w = w, v  # error here
    ptx.mov(f32, v, w)


def refused_in_a_generators_loop() -> None:
    def each(n: int) -> Iterator[Reg]:
        yield from ptx.range_(n)

    v = reg.scalar(f32, init=0.0)
    for _ in each(10):
        v = v + 1.0  # error here
    ptx.ret()


def refused_in_an_inner_function() -> None:
    v = reg.scalar(f32, init=0.0)

    def body() -> None:
        nonlocal v
        v = v + 1.0

    with ptx.loop(pred=v > 0.0):  # error here
        body()
    ptx.ret()


def refused_in_kloop() -> None:
    v = reg.scalar(f32, init=0.0)

    def body() -> None:
        nonlocal v
        v = v + 1.0

    ptx.kloop(reg.scalar(u32, init=7), unroll=2, body=body)  # error here
    ptx.ret()


def refused_in_an_if_of_a_loop() -> None:
    v = reg.scalar(f32, init=0.0)
    for i in ptx.range_(10):
        with ptx.if_(i == 3):
            v = v + 1.0  # error here


def refused_the_last_of_a_loop_that_may_not_run() -> None:
    v = reg.scalar(u32, init=0)
    for i in ptx.range_(v):
        v = i * 2  # error here
    ptx.mov(u32, reg.scalar(u32), v)


def accepted_in_place() -> None:
    v = reg.scalar(f32, init=0.0)
    acc = [reg.scalar(f32, init=0.0) for _ in range(4)]
    for _ in ptx.range_(10):
        v += 1.0
        ptx.mov(f32, v, v * 2.0)
        for j in range(4):
            acc[j] += v
    with ptx.if_(v > 1.0):
        v -= 1.0
    ptx.ret()


def accepted_unrolled() -> None:
    v, n = reg.scalar(f32, init=0.0), 0
    for _ in range(4):
        v = v + 1.0
        n += 2
    ptx.ret()


def accepted_temporaries() -> None:
    v = reg.scalar(f32, init=0.0)
    parts: list[object] = [None] * 2
    for _ in range(3):
        for i in ptx.range_(10):
            t = v + 2.0
            t = t * 3.0
            parts[:] = [t + 1.0, t + 2.0]
            j = i * 2
        with ptx.if_(v > 1.0):
            t = v * 3.0
        with ptx.else_():
            t = v * 4.0
            v += t
    ptx.mov(u32, reg.scalar(u32), j)
    ptx.mov(u32, reg.scalar(u32), i)


def accepted_a_swap_that_ends_where_it_began() -> None:
    v, w, phase = reg.scalar(f32, init=0.0), reg.scalar(f32, init=1.0), 0
    for _ in ptx.range_(10):
        for _ in range(2):
            v += w
            v, w = w, v
            phase ^= 1
    ptx.mov(f32, v, w)


def accepted_without_source() -> None:
    scope: dict[str, object] = {"ptx": ptx, "reg": reg, "f32": f32}
    text = "def f():\n v = reg.scalar(f32, init=0.0)\n for _ in ptx.range_(3):\n  t = v + 1.0\n  v += t\n"
    exec(text, scope)  # noqa: S102 - the text is above
    scope["f"]()  # type: ignore[operator]  # the function that was defined


CASES = {name: value for name, value in globals().items() if name.startswith(("refused", "accepted"))}


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("refused")])
def test_a_name_bound_anew_is_an_error_at_its_line(name: str) -> None:
    function: Callable[[], None] = CASES[name]
    lines, first = inspect.getsourcelines(function)
    (marked,) = [number for number, line in enumerate(lines, first) if MARK in line]
    with pytest.raises(ControlFlowError, match="is bound to another") as caught:
        kernel(function).ptx()
    assert f"test_rebinding.py:{marked}:" in str(caught.value)
    assert "+=" in str(caught.value)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("accepted")])
def test_what_a_block_keeps_to_itself_may_have_any_name(name: str) -> None:
    kernel(CASES[name]).ptx()


def test_without_its_source_a_name_bound_anew_is_found_too() -> None:
    scope: dict[str, object] = {"ptx": ptx, "reg": reg, "f32": f32}
    exec("def f():\n v = reg.scalar(f32, init=0.0)\n for _ in ptx.range_(3):\n  v = v + 1.0\n", scope)  # noqa: S102 - as above
    with pytest.raises(ControlFlowError, match="<string>:4: in f"):
        kernel(scope["f"]).ptx()  # type: ignore[arg-type]  # the function that was defined
