"""Unloading of unreferenced code on the hardware: running kernels complete, and stream captures are not affected."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_launch import Module, Plan, Pointer, Scalar
from pyptx_launch.retired import MANY, RETIRED

from .kernels import SPIN, constant

if TYPE_CHECKING:
    from .driver import Device

pytestmark = pytest.mark.gpu

ONE = (1, 1, 1)
MILLISECOND = 1_000_000


def own_plan(gpu: Device, *, nanoseconds: int) -> Plan:
    """Return a plan whose kernel, with a module of its own, spins and then stores out[0] = value."""
    parameters = (Pointer(0), Scalar("u32", "value"), Scalar("u64", "nanoseconds", nanoseconds))
    return Plan(Module(SPIN.ptx(gpu.target).encode()), SPIN.name, grid=ONE, block=ONE, parameters=parameters)


@pytest.fixture(autouse=True)
def nothing_retired(gpu: Device) -> None:
    gc.collect()
    gpu.current()
    RETIRED.unload(wait=True)
    assert len(RETIRED) == 0


def test_kernels_of_dead_plans_run_to_their_end_and_nobody_waits(gpu: Device) -> None:
    stream, places = gpu.stream(), [gpu.upload(np.zeros(1, np.uint32)) for _ in range(MANY)]
    plans = [own_plan(gpu, nanoseconds=20 * MILLISECOND) for _ in places]
    # The first launches load modules, which may wait for running kernels.
    for value, (plan, place) in enumerate(zip(plans, places, strict=True), 1):
        plan.launch((place,), stream, 0, {"value": 100 + value, "nanoseconds": 1})
    gpu.synchronize()
    for value, (plan, place) in enumerate(zip(plans, places, strict=True), 1):
        plan.launch((place,), stream, 0, {"value": value})
    del plan, plans
    gc.collect()
    code = constant(1).ptx(gpu.target).encode()
    keep = Module(code)  # `Module` records one CUDA event after the launches above
    assert not gpu.idle(stream), "Module() waited for the launches"
    assert len(RETIRED) == MANY
    gpu.synchronize()
    assert [int(gpu.download(place, np.zeros(1, np.uint32))[0]) for place in places] == list(range(1, MANY + 1))
    Module(code)
    assert len(RETIRED) == 1, "modules of completed launches are still loaded"
    assert keep.image == code


def test_plans_may_die_while_a_stream_captures(gpu: Device) -> None:
    stream, place = gpu.stream(), gpu.upload(np.zeros(1, np.uint32))
    kept = own_plan(gpu, nanoseconds=1)
    kept.launch((place,), stream, 0, {"value": 1})
    dying = [own_plan(gpu, nanoseconds=1) for _ in range(2 * MANY)]
    for plan in dying:
        plan.launch((place,), stream, 0, {"value": 2})
    gpu.synchronize()
    with gpu.capturing(stream) as graph:
        kept.launch((place,), stream, 0, {"value": 3})
        del plan, dying
        gc.collect()
    assert len(RETIRED) == 2 * MANY
    graph.replay(stream)
    gpu.synchronize()
    assert gpu.download(place, np.zeros(1, np.uint32)) == 3
