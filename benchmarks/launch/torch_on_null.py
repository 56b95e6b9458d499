"""Whole calls with torch tensors on the null driver, in host memory: all of a call except driver and GPU."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from benchmarks.launch.rounds import measure
from benchmarks.launch.subjects import THREADS, add_kernel, null_driver

if TYPE_CHECKING:
    from benchmarks.launch.rounds import Calls

OUTPUT, OUT, MUTATING = "kernel(x, w)", "kernel(x, w, out=y)", "kernel_(x, w)"
SCALAR, SCALAR_MUTATING = "kernel(x, alpha=a)", "kernel_(x, alpha=a)"
ADD, ADD_OUT = "torch.add(x, w)", "torch.add(x, w, out=y)"


def torch_on_null(repeat: int, _device: str) -> list[dict[str, Any]]:
    """Measure calls of every kind and torch's addition, after a first call has filled each launch cache."""
    driver = null_driver()
    driver.record(on=False)
    driver.context(0)  # makes device 0's context current, as in any thread in which torch uses CUDA
    import torch

    x, w, y = (torch.ones(THREADS) for _ in range(3))  # so few elements that torch's addition, too, is all overhead
    add, add_, scale, scale_ = kernels()
    for kernel, tensors, keywords in ((add, (x, w), {}), (add_, (x, w), {}), (scale, (x,), A), (scale_, (x,), A)):
        launch_directly(kernel, *tensors, **keywords)
    calls: Calls = {
        "nothing": lambda: None,
        ADD: lambda: torch.add(x, w),
        OUTPUT: lambda: add(x, w),
        ADD_OUT: lambda: torch.add(x, w, out=y),
        OUT: lambda: add(x, w, out=y),
        "x.add_(w)": lambda: x.add_(w),
        MUTATING: lambda: add_(x, w),
        SCALAR_MUTATING: lambda: scale_(x, alpha=0.5),
        SCALAR: lambda: scale(x, alpha=0.5),
        "torch.empty_like(x)": lambda: torch.empty_like(x),
    }
    before = driver.count()
    # Rounds are shorter than the operating system's time slice: other processes would interrupt longer rounds.
    rows = measure(calls, lambda: None, 500, 10 * repeat)
    assert driver.count() - before == 5 * 500 * (10 * repeat + 1)
    return rows


A = {"alpha": 0.5}


def kernels() -> tuple[Any, ...]:
    """Return four kernels: with an output or writing to an input; each with two tensors, or a tensor and a number."""
    from pyptx import Tile, kernel, ptx
    from pyptx.types import f32

    tile = Tile("N", f32)
    options: dict[str, Any] = {"grid": lambda N: N // THREADS, "block": (THREADS, 1, 1), "arch": "sm_80"}
    alpha = {"raw_params": [("f32", "alpha")]}

    def nothing(X, W) -> None:
        ptx.global_ptrs(X, W)
        ptx.ret()

    def nothing_(X) -> None:
        ptx.global_ptrs(X)
        ptx.ret()

    return (
        add_kernel("sm_80"),
        kernel(nothing, in_specs=(tile, tile), mutates=("X",), **options),
        kernel(nothing, in_specs=(tile,), out_specs=(tile,), **options, **alpha),
        kernel(nothing_, in_specs=(tile,), mutates=("X",), **options, **alpha),
    )


def launch_directly(kernel: Any, *tensors: Any, **keywords: Any) -> None:  # noqa: ANN401 - a kernel and its call
    """Make a kernel launch with CPU tensors on the null driver, and fill its launch cache by one call."""
    from pyptx_torch import cuda, device_types, dispatch, eager, operators

    host = device_types.DeviceType(
        "cpu",
        1,  # kDLCPU, DLPack's device type of host memory
        built=lambda: True,
        stream=lambda _device: 0,
        ordinal=lambda: 0,
        capturing=lambda: False,
        wait=lambda _device: None,
    )
    dispatch.RUNNERS["cpu"] = functools.partial(cuda.run, place=host)
    kernel._launcher = eager.launcher_of(kernel, operators.operator_of(kernel), host)  # noqa: SLF001 - as _run sets it
    kernel(*tensors, **keywords)
