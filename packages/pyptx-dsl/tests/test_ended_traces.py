"""What a trace leaves behind: what it has accepted, and nothing for the garbage collector, which would visit it."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import InstructionUseError, UnknownInstructionWarning
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.types import b32, pred, u32, u64

if TYPE_CHECKING:
    from collections.abc import Callable


def pointers() -> None:
    p, r = reg.scalar(u64, init=0), reg.scalar(u32, init=0)
    for _ in range(100):
        p += r * 4
    with ptx.scope():
        p += r * 8


def banks() -> None:
    r, p = reg.bank("%r", b32, 100), reg.bank("%p", pred, 100)
    with ptx.scope():
        reg.bank("%r", b32, 100)
    for i in range(99):
        ptx.inst.add.s32(r[i], r[i + 1], i, pred=p[i])


def written(body: Callable[[], object]) -> str:
    m = module(version=(8, 7), target="sm_90a")
    m.entry("k")(body)
    return m.ptx()


@pytest.mark.parametrize("body", [pointers, banks])
@pytest.mark.parametrize("trace", [lambda body: kernel(body).ptx(), written], ids=["kernel", "module"])
def test_a_trace_is_freed_without_the_garbage_collector(
    trace: Callable[[Callable[[], object]], str], body: Callable[[], object]
) -> None:
    trace(body)  # fills the caches
    gc.collect()
    gc.disable()
    try:
        trace(body)
        left = gc.collect()
    finally:
        gc.enable()
    assert left < 50  # of hundreds of statements; what is left does not grow with them


def test_an_unknown_instruction_is_warned_of_in_every_trace() -> None:
    """What other traces have accepted is accepted at once, but for what has never been judged."""

    def body() -> None:
        ptx.inst.frobnicate.u32("%r1")

    for _ in range(2):
        with pytest.warns(UnknownInstructionWarning, match="frobnicate"):
            written(body)


def test_what_one_trace_accepted_is_refused_on_another_target() -> None:
    def body() -> None:
        ptx.inst.cp.async_.wait_all()

    written(body)
    m = module(version=(8, 7), target="sm_75")
    with pytest.raises(InstructionUseError, match="sm_80"):
        m.entry("k")(body)


def test_the_numbers_of_an_accepted_form_are_looked_at_in_each_trace() -> None:
    numbers = iter((15, 15, 16))

    def body() -> None:
        ptx.inst.bar.sync(next(numbers))

    written(body)
    written(body)
    with pytest.raises(InstructionUseError, match="out of range"):
        written(body)
