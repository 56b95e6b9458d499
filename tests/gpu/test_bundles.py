"""Kernels compiled ahead of time, on the hardware: from C, and from Python without a compiler."""

from __future__ import annotations

import ctypes
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pyptx
from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.bundles import export
from pyptx.types import f32, u32
from pyptx_dsl.images import image_of
from pyptx_ir.plugins.rows import Argument
from pyptx_launch import Module, plan_for

if TYPE_CHECKING:
    from pathlib import Path

    from .driver import Device

pytestmark = pytest.mark.gpu

SIZE, THREADS = 1000, 128


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    raw_params=[("f32", "alpha"), ("u32", "count")],
    grid=lambda N: -(-N // THREADS),
    block=(THREADS, 1, 1),
    smem=64 * 1024,  # more than a launch gets unless it was allowed
    arch="sm_80",
)
def scaled(X, Y):
    """Multiply the first `count` elements by `alpha`; copy the rest."""
    smem.alloc(f32, (16, 1024))
    px, py = ptx.global_ptrs(X, Y)
    index = (reg.from_(ptx.special.ctaid.x(), u32) << 7) + reg.from_(ptx.special.tid.x(), u32)
    ptx.ret(pred=index >= X.shape[0])
    alpha, count, value = reg.scalar(f32), reg.scalar(u32), reg.scalar(f32)
    ptx.inst.ld.param.f32(alpha, ptx.addr("alpha"))
    ptx.inst.ld.param.u32(count, ptx.addr("count"))
    ptx.inst.ld.global_.f32(value, ptx.addr(px + index * 4))
    with ptx.if_(index < count):
        ptx.inst.mul.f32(value, value, alpha)
    ptx.inst.st.global_.f32(ptx.addr(py + index * 4), value)
    ptx.ret()


class Arguments(ctypes.Structure):
    """`scaled_arguments`: `count` was given when the kernel was exported."""

    _fields_ = (("X", ctypes.c_uint64), ("Y", ctypes.c_uint64), ("alpha", ctypes.c_float))


@pytest.fixture
def bundle(gpu: Device, tmp_path: Path) -> Path:
    return export(scaled, [{"N": SIZE, "count": 700}], tmp_path / "bundle", arch=gpu.target)


def expected(x: np.ndarray) -> np.ndarray:
    return np.where(np.arange(SIZE) < 700, x * np.float32(1.5), x)


def test_a_loader_in_c_launches_what_was_exported(gpu: Device, bundle: Path) -> None:
    library = bundle.parent / "libscaled.so"
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(bundle / "scaled.c")]
    subprocess.run([*command, "-o", str(library), "-ldl"], check=True)
    loader: Any = ctypes.CDLL(str(library))
    loader.scaled_error.restype = ctypes.c_char_p
    assert loader.scaled_load() == 0
    x = np.random.default_rng(0).standard_normal(SIZE, dtype=np.float32)
    px, py = gpu.upload(x), gpu.upload(np.full_like(x, np.nan))
    for stream in (0, gpu.stream()):
        result = loader.scaled_launch(ctypes.byref(Arguments(px, py, 1.5)), ctypes.c_void_p(stream))
        assert result == 0, loader.scaled_error(result)
        gpu.synchronize()
        assert (gpu.download(py, x) == expected(x)).all()
    assert loader.scaled_unload() == 0
    gpu.free(px)
    gpu.free(py)


def test_the_bundled_code_is_launched_as_it_is(gpu: Device, bundle: Path) -> None:
    loaded = pyptx.load(bundle)["scaled"]
    special = loaded.specialize([Argument((SIZE,), "f32", (1,))], {"alpha": 1.5})
    assert image_of(special) == (bundle / "scaled.cubin").read_bytes()
    plan = plan_for(special, Module(image_of(special)))
    x = np.random.default_rng(1).standard_normal(SIZE, dtype=np.float32)
    px, py = gpu.upload(x), gpu.upload(np.full_like(x, np.nan))
    plan.launch((px, py), 0, 0, {"alpha": 1.5})
    gpu.synchronize()
    assert (gpu.download(py, x) == expected(x)).all()
    gpu.free(px)
    gpu.free(py)


@pytest.mark.torch
def test_tensors_run_the_bundled_code(gpu: Device, bundle: Path) -> None:  # noqa: ARG001  there is a device
    import torch

    loaded: Any = pyptx.load(bundle)["scaled"]
    x = torch.randn(SIZE, device="cuda")
    for _ in range(2):  # the long way, then the launcher
        assert np.array_equal(loaded(x, alpha=1.5).cpu().numpy(), expected(x.cpu().numpy()))
