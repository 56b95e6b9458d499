"""Kernels to launch, on the GPU, or on the null driver of the tests, which launches nothing."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COUNT = 4096  # elements per array: so few that the launch dominates a call's time
THREADS = 128


def add_kernel(arch: str) -> Any:  # noqa: ANN401 - a kernel
    """Return the kernel Y = X + W, one element per thread."""
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32

    tile = Tile("N", f32)

    @kernel(in_specs=(tile, tile), out_specs=(tile,), grid=lambda N: N // THREADS, block=(THREADS, 1, 1), arch=arch)
    def add(X, W, Y) -> None:
        px, pw, py = ptx.global_ptrs(X, W, Y)
        at = reg.from_(ptx.special.tid.x(), u32)
        ptx.inst.mad.lo.u32(at, reg.from_(ptx.special.ctaid.x(), u32), THREADS, at)
        x, w = reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + at * 4))
        ptx.inst.ld.global_.f32(w, ptx.addr(pw + at * 4))
        ptx.inst.add.f32(x, x, w)
        ptx.inst.st.global_.f32(ptx.addr(py + at * 4), x)
        ptx.ret()

    return add


def fill_kernel(arch: str) -> Any:  # noqa: ANN401 - a kernel
    """Return the kernel Y = 0, one element per thread, without inputs."""
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32

    @kernel(out_specs=(Tile("N", f32),), grid=lambda N: N // THREADS, block=(THREADS, 1, 1), arch=arch)
    def fill(Y) -> None:
        (py,) = ptx.global_ptrs(Y)
        at = reg.from_(ptx.special.tid.x(), u32)
        ptx.inst.mad.lo.u32(at, reg.from_(ptx.special.ctaid.x(), u32), THREADS, at)
        ptx.inst.st.global_.f32(ptx.addr(py + at * 4), 0.0)
        ptx.ret()

    return fill


def device_target() -> str:
    """Return the PTX target of the GPU, or the oldest supported target without a GPU."""
    from pyptx_launch import driver

    return driver.devices()[0].target if driver.available() else "sm_80"


def plan_of(kernel: Any, *tensors: Any) -> tuple[Any, bytes]:  # noqa: ANN401 - a kernel and tensors
    """Return the launch plan and the machine code of a kernel for tensors of COUNT floats."""
    from pyptx_dsl.kernels.images import image_of
    from pyptx_ir.plugins.rows import Argument
    from pyptx_launch import Module, plan_for

    special = kernel.specialize([Argument((COUNT,), "f32", (1,), each.data_ptr(), "cuda:0") for each in tensors], {})
    image = image_of(special)
    return plan_for(special, Module(image)), image


def module_at(path: Path) -> Any:  # noqa: ANN401 - a module
    """Import a file of tests/ that is not in a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def null_driver() -> Any:  # noqa: ANN401 - a class of a file among the tests
    """Open the null driver in the native extension, and return the object that controls it."""
    return module_at(ROOT / "packages/pyptx-launch/tests/null_driver.py").install()
