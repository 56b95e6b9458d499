"""A finished trace leaves the caches of accepted instructions, and no objects that the garbage collector must visit."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import InstructionUseError, UnknownInstructionWarning
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.registers.register import Reg
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
    trace(body)  # a first trace of `body` fills caches, which are not garbage
    gc.collect()
    gc.disable()
    try:
        trace(body)
        left = gc.collect()
    finally:
        gc.enable()
    assert left < 50  # garbage objects that one trace leaves: their number must not grow with the trace's statements


YOUNG = """
import gc, weakref
from pyptx_dsl import ptx
from pyptx_dsl.modules.beginning import module

class Node:
    pass

lost = Node()
lost.itself = lost
watched = weakref.ref(lost)
del lost
m = module(version=(8, 7), target="sm_90a")

@m.entry("k")
def k():
    for _ in range(99):
        ptx.inst.ret()

kinds = [type(each).__name__ for number in (0, 1) for each in gc.get_objects(generation=number)]
print(watched(), kinds.count("Instruction"), m.ptx().count("ret;"), gc.isenabled())
"""


def test_what_was_traced_is_old_at_once_and_garbage_is_not() -> None:
    """The collector need not visit a finished trace; garbage in a cycle from before the trace is still collected."""
    # In a subprocess: this process has objects frozen by `gc.freeze`, which must stay frozen.
    run = subprocess.run([sys.executable, "-c", YOUNG], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["None", "0", "99", "True"]


def test_a_register_of_a_bank_is_the_same_whenever_it_is_asked_for() -> None:
    seen = list[Reg]()

    def body() -> None:
        r = reg.bank("%r", b32, 4)
        seen.extend([r[2], r[-2], *r[2:3], r.regs()[2], list(r)[2], r.hw_order(reverse=True)[1]])

    written(body)
    assert {id(each) for each in seen} == {id(seen[0])}
    assert seen[0].raw_name == "%r2"


def test_an_unknown_instruction_is_warned_of_in_every_trace() -> None:
    """Instructions accepted in earlier traces skip the check; unknown instructions are checked in every trace."""

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
