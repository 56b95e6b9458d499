"""Ahead-of-time compiled kernels on the hardware: from C, and from Python without a compiler."""

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
from pyptx_dsl.kernels.images import image_of
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
    smem=64 * 1024,  # above 48 KiB: the launcher must raise the kernel's limit of dynamic shared memory
    arch="sm_80",
)
def scaled(X, Y):
    """Multiply the first `count` elements by `alpha`; copy all other elements."""
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
    """C structure `scaled_arguments` of the bundle; `count` was fixed at export."""

    _fields_ = (("X", ctypes.c_uint64), ("Y", ctypes.c_uint64), ("alpha", ctypes.c_float))


class DLDevice(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("ordinal", ctypes.c_int32))


CUDA = DLDevice(2, 0)


class DLTensor(ctypes.Structure):
    """`DLTensor` of DLPack 1.x; null strides mean row-major."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Tensors(ctypes.Structure):
    """C structure `scaled_tensors` of the bundle."""

    _fields_ = (("X", ctypes.POINTER(DLTensor)), ("Y", ctypes.POINTER(DLTensor)), ("alpha", ctypes.c_float))


@pytest.fixture
def bundle(gpu: Device, tmp_path: Path) -> Path:
    return export(scaled, [{"N": SIZE, "count": 700}], tmp_path / "bundle", arch=gpu.target)


def expected(x: np.ndarray, count: int = 700) -> np.ndarray:
    return np.where(np.arange(x.size) < count, x * np.float32(1.5), x)


def compiled(bundle: Path) -> Any:
    """Return a bundle's compiled C loader, loaded into this process."""
    library = bundle.parent / "libscaled.so"
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(bundle / "scaled.c")]
    subprocess.run([*command, "-o", str(library), "-ldl", "-pthread"], check=True)
    loader: Any = ctypes.CDLL(str(library))
    loader.scaled_error.restype = ctypes.c_char_p
    return loader


def test_a_loader_in_c_launches_what_was_exported(gpu: Device, bundle: Path) -> None:
    loader = compiled(bundle)
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


def test_a_loader_in_c_chooses_by_the_shapes_of_tensors(gpu: Device, tmp_path: Path) -> None:
    counts = {SIZE: 700, 96: 50}
    choices = [{"N": size, "count": count} for size, count in counts.items()]
    loader = compiled(export(scaled, choices, tmp_path / "bundle", arch=gpu.target))
    assert loader.scaled_load() == 0
    for size in (96, SIZE, 95):
        x = np.random.default_rng(size).standard_normal(size, dtype=np.float32)
        px, py = gpu.upload(x), gpu.upload(np.full_like(x, np.nan))
        shape = (ctypes.c_int64 * 1)(size)
        vectors = [DLTensor(address, CUDA, 1, 2, 32, 1, shape) for address in (px, py)]
        tensors = Tensors(ctypes.pointer(vectors[0]), ctypes.pointer(vectors[1]), 1.5)
        result = loader.scaled_launch_tensors(ctypes.byref(tensors), None)
        gpu.synchronize()
        if size in counts:
            assert result == 0, loader.scaled_error(result)
            assert (gpu.download(py, x) == expected(x, counts[size])).all()
        else:
            assert b"not compiled for these sizes; there is (N=1000, count=700)" in loader.scaled_error(result)
            assert np.isnan(gpu.download(py, x)).all()
        gpu.free(px)
        gpu.free(py)
    assert loader.scaled_unload() == 0


def test_a_loader_in_c_loads_and_launches_while_its_stream_is_captured(gpu: Device, bundle: Path) -> None:
    loader = compiled(bundle)
    x = np.random.default_rng(2).standard_normal(SIZE, dtype=np.float32)
    px, py, stream = gpu.upload(x), gpu.upload(np.full_like(x, np.nan)), gpu.stream()
    with gpu.capturing(stream) as graph:
        assert loader.scaled_load() == 0
        assert loader.scaled_launch(ctypes.byref(Arguments(px, py, 1.5)), ctypes.c_void_p(stream)) == 0
    for scale in (1, 2):
        gpu.write(px, x * np.float32(scale))
        graph.replay(stream)
        gpu.synchronize(stream)
        assert (gpu.download(py, x) == expected(x * np.float32(scale))).all()
    gpu.free(px)
    gpu.free(py)


def test_a_loader_in_c_launches_in_the_context_of_the_stream(gpu: Device, bundle: Path) -> None:
    loader, other = compiled(bundle), ctypes.c_void_p()
    assert loader.scaled_load() == 0
    gpu.call("cuCtxCreate_v2", ctypes.byref(other), 0, 0)  # makes the new context current: uploads use its memory
    x = np.random.default_rng(3).standard_normal(SIZE, dtype=np.float32)
    px, py, stream = gpu.upload(x), gpu.upload(np.full_like(x, np.nan)), gpu.stream()
    try:
        gpu.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        gpu.current()
        result = loader.scaled_launch(ctypes.byref(Arguments(px, py, 1.5)), ctypes.c_void_p(stream))
        assert result == 0, loader.scaled_error(result)
        gpu.call("cuCtxPushCurrent_v2", other)
        gpu.synchronize(stream)
        assert (gpu.download(py, x) == expected(x)).all()
    finally:
        gpu.call("cuCtxDestroy_v2", other)
        gpu.current()


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
def test_tensors_run_the_bundled_code(gpu: Device, bundle: Path) -> None:  # noqa: ARG001  requires a device
    import torch

    loaded: Any = pyptx.load(bundle)["scaled"]
    x = torch.randn(SIZE, device="cuda")
    for _ in range(2):  # call 0 specializes the kernel, call 1 reuses the cached launch
        assert np.array_equal(loaded(x, alpha=1.5).cpu().numpy(), expected(x.cpu().numpy()))
