"""The kernels of test_torch.py, for this machine's GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from pyptx_dsl import ptx, reg
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import f32, u32

if TYPE_CHECKING:
    from pyptx_dsl.kernels.kernel import Kernel

LANES = 32
# Target of device 0; without a GPU, sm_90, so that the kernels can be traced.
ARCH = "sm_{}{}".format(*torch.cuda.get_device_capability()) if torch.cuda.is_available() else "sm_90"
VECTOR = Tile("N", f32)
ALPHA = [("f32", "alpha")]


def position() -> Any:
    return reg.from_(ptx.special.tid.x(), u32) + reg.from_(ptx.special.ctaid.x(), u32) * LANES


def load(pointer: Any) -> Any:
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(pointer + position() * 4))
    return value


def store(pointer: Any, value: Any) -> None:
    ptx.inst.st.global_.f32(ptx.addr(pointer + position() * 4), value)


def alpha() -> Any:
    value = reg.scalar(f32)
    ptx.inst.ld.param.f32(value, ptx.addr("alpha"))
    return value


def build_double() -> Kernel[Any]:
    """Y = X + X."""

    @kernel(in_specs=(VECTOR,), out_specs=(VECTOR,), grid=lambda N: N // LANES, block=LANES, arch=ARCH)
    def double(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        value = load(x)
        store(y, value + value)
        ptx.ret()

    return double


def build_scale() -> Kernel[Any]:
    """Y = X * alpha^times."""

    @kernel(
        in_specs=(VECTOR,),
        out_specs=(VECTOR,),
        grid=lambda N: N // LANES,
        block=LANES,
        arch=ARCH,
        raw_params=ALPHA,
    )
    def scale(X, Y, *, times=1):
        x, y = ptx.global_ptrs(X, Y)
        value = load(x)
        for _ in range(times):
            value = value * alpha()
        store(y, value)
        ptx.ret()

    return scale


def build_product() -> tuple[Kernel[Any], Kernel[Any]]:
    """Return the kernel Y = X W (elementwise), and the kernel of its gradients."""

    @kernel(in_specs=(VECTOR,) * 2, out_specs=(VECTOR,), grid=lambda N: N // LANES, block=LANES, arch=ARCH)
    def product(X, W, Y):
        x, w, y = ptx.global_ptrs(X, W, Y)
        store(y, load(x) * load(w))
        ptx.ret()

    @kernel(in_specs=(VECTOR,) * 3, out_specs=(VECTOR,) * 2, grid=lambda N: N // LANES, block=LANES, arch=ARCH)
    def product_gradients(X, W, DY, DX, DW):
        x, w, gradient, a, b = ptx.global_ptrs(X, W, DY, DX, DW)
        store(a, load(w) * load(gradient))
        store(b, load(x) * load(gradient))
        ptx.ret()

    return product, product_gradients


@kernel(in_specs=(VECTOR,), grid=lambda N: N // LANES, block=LANES, arch=ARCH, raw_params=ALPHA)
def scale_(X):
    """X *= alpha."""
    (x,) = ptx.global_ptrs(X)
    store(x, load(x) * alpha())
    ptx.ret()


@kernel(out_specs=(VECTOR,), grid=lambda N: N // LANES, block=LANES, arch=ARCH, raw_params=ALPHA)
def fill(Y):
    """Y = alpha."""
    (y,) = ptx.global_ptrs(Y)
    store(y, alpha())
    ptx.ret()


@kernel(in_specs=(VECTOR,), grid=1, block=1, arch=ARCH)
def trap(X):
    """Kernel that executes `trap`."""
    ptx.global_ptrs(X)
    ptx.inst.trap()
    ptx.ret()
