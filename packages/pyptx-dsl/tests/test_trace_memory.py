"""What a trace leaves behind: nothing for the garbage collector, which would visit it again and again."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.modules.builder import module
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
