"""Ten thousand launches, failed launches, modules, plans or launchers do not leak memory."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pytest

from pyptx_launch import (
    DriverError,
    Launcher,
    Map,
    MapPointer,
    Module,
    Plan,
    Pointer,
    Scalar,
    Signature,
    TensorMap,
)

from .images import MAP, POINTER, image, scalar

COUNT = 10_000
ONE = (1, 1, 1)
TILE = TensorMap.dense("f32", (64, 32), (8, 8))


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def grown(action, count: int = COUNT) -> int:
    """Return the growth of resident memory in bytes over `count` actions, after a tenth as many to warm up."""
    for _ in range(count // 10):
        action()
    gc.collect()
    before = resident()
    for _ in range(count):
        action()
    gc.collect()
    return resident() - before


def test_launches_leave_nothing(null):
    null.record(on=False)
    declared = (POINTER, MAP, POINTER, scalar("f32"))
    parameters = (Pointer(0), Map(0, TILE), MapPointer(0, TILE), Scalar("f32", "a"))
    plan = Plan(Module(image(*declared)), "k", grid=ONE, block=ONE, parameters=parameters)
    pointers, scalars = (0x1000,), {"a": 1.5}
    counts = [sys.getrefcount(each) for each in (plan, pointers, scalars)]
    assert grown(lambda: plan.launch(pointers, 0, 0, scalars)) < 300_000
    assert [sys.getrefcount(each) for each in (plan, pointers, scalars)] == counts


def test_launches_that_fail_leave_nothing(null):
    null.record(on=False)
    plan = Plan(Module(image()), "k", grid=ONE, block=ONE)

    def fail() -> None:
        null.fail("cuLaunchKernelEx", 1)
        with pytest.raises(DriverError):
            plan.launch((), 0, 0)

    assert grown(fail, 1000) < 300_000


def test_modules_and_plans_leave_nothing(null):
    null.record(on=False)
    text = image(POINTER, POINTER)
    live = null.live()

    def make() -> None:
        plan = Plan(
            Module(text),
            "k",
            grid=ONE,
            block=ONE,
            parameters=(Pointer(0), MapPointer(0, TILE)),
            attributes=((2, b"\1"),),
        )
        plan.launch((0x1000,), 0, 0)

    assert grown(make, COUNT // 4) < 750_000
    assert null.live() == live


@pytest.mark.torch
def test_calls_of_a_launcher_leave_nothing(null):
    import torch

    null.record(on=False)
    one: Any = Signature((4, 8), device=(1, 0))
    parameters = (Pointer(0), Pointer(1), Scalar("f32", "a"))
    plan = Plan(Module(image(POINTER, POINTER, scalar("f32"))), "k", grid=ONE, block=ONE, parameters=parameters)
    launcher = Launcher(lambda *_, **__: None, types=(torch.Tensor,), scalars=("a",))
    launcher.add(plan, (one,), (one,))
    x, y, other = torch.ones(4, 8), torch.ones(4, 8), torch.ones(3)

    def call() -> None:
        launcher(x, a=1.5)
        launcher(x, a=2, out=y)
        launcher(other, a=1)

    objects = (x, y, other, plan, launcher, torch.Tensor, None)
    counts = [sys.getrefcount(each) for each in objects]
    assert grown(call) < 300_000
    assert all(abs(sys.getrefcount(each) - count) < 10 for each, count in zip(objects, counts, strict=True))


@pytest.mark.torch
def test_launchers_leave_nothing(null):
    import torch

    null.record(on=False)
    one: Any = Signature((4, 8), device=(1, 0))
    plan = Plan(Module(image(POINTER)), "k", grid=ONE, block=ONE, parameters=(Pointer(0),))

    def make() -> None:
        launcher = Launcher(print, types=(torch.Tensor,), guards=(lambda: False,), scalars=("a",))
        launcher.add(plan, (one,), ())

    assert grown(make, COUNT // 4) < 300_000
