"""A DSL kernel for convolution: im2col copies by TMA, multiplied with the filter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tools.shares import full

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import f32, u32

pytestmark = pytest.mark.scaled

PIXELS, CHANNELS = 32, 32
A = SharedTile(f32, (PIXELS, CHANNELS))  # im2col tile: output pixels x channels, with the default 128B swizzle
CONVOLUTIONS = [
    ((2, 7, 6), (2, 2), {"padding": 2, "dilation": 3}),
    ((2, 5, 7), (3, 3), {"padding": 1}),
    ((1, 8, 9), (2, 3), {"stride": 2}),
]
TAKEN = full(CONVOLUTIONS, default=CONVOLUTIONS[:1])


def convolving(shape: tuple[int, int, int], filter_size: tuple[int, int], **window: Any) -> Any:
    """Return a kernel for y[i] = sum over the filter taps of w[tap] * x[pixel of the tap]; one thread per output."""
    batch, height, width = shape
    rows, columns = filter_size
    tile = A.im2col_tile(batch, height, width, CHANNELS, filter_size=filter_size, **window)
    assert tile.im2col is not None
    down, across = tile.im2col.outputs((height, width))
    total, gap = batch * down * across, window.get("dilation", 1)
    (top, left), step = tile.im2col.lower, tile.im2col.strides[0]

    @kernel(
        in_specs=(tile, Tile(rows * columns, CHANNELS, f32)),
        out_specs=(Tile(total, f32),),
        grid=-(-total // PIXELS),
        block=PIXELS,
        arch="sm_90a",
    )
    def convolve(X: Any, W: Any, Y: Any) -> None:
        slot, full = smem.tile(A), smem.mbarrier(1)
        tid = reg.from_(ptx.special.tid.x(), u32)
        first = reg.from_(ptx.special.ctaid.x(), u32) * PIXELS
        pw, py = ptx.global_ptrs(W, Y)
        image, place = first // (down * across), first % (down * across)
        corner = (0, place % across * step + left, place // across * step + top, image)
        acc = reg.scalar(f32, init=0.0)
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(full[0], 1)
        ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync()
        for tap in range(rows * columns):
            offsets = (tap % columns * gap, tap // columns * gap)
            with ptx.if_(tid == 0):
                ptx.mbarrier.arrive_expect_tx(full[0], A.stage_bytes)
                copy = ptx.cp.async_.bulk.tensor_4d
                copy(dst=slot, src=X, coord=corner, mbar=full[0], mode="im2col", offsets=offsets)
            ptx.mbarrier.wait(full[0], tap % 2)
            value, weight = reg.scalar(f32), reg.scalar(f32)
            for channel in range(CHANNELS):
                ptx.inst.ld.shared.f32(value, ptx.addr(slot.address(tid, channel)))
                ptx.inst.ld.global_.f32(weight, ptx.addr(pw, (tap * CHANNELS + channel) * 4))
                ptx.inst.fma.rn.f32(acc, value, weight, acc)
            ptx.bar.sync()
        with ptx.if_(first + tid < total):
            ptx.inst.st.global_.f32(ptx.addr(py + (first + tid) * 4), acc)
        ptx.ret()

    return convolve


def reference(
    x: np.ndarray[Any, Any], w: np.ndarray[Any, Any], padding: int, stride: int, dilation: int
) -> np.ndarray[Any, Any]:
    """Return the convolution in double precision, computed for each output."""
    edge = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    padded = np.pad(x.astype(np.float64), edge)
    rows, columns = w.shape[:2]
    reach = (dilation * (rows - 1), dilation * (columns - 1))
    found = [
        (image[y : y + reach[0] + 1 : dilation, x : x + reach[1] + 1 : dilation] * w).sum()
        for image in padded
        for y in range(0, image.shape[0] - reach[0], stride)
        for x in range(0, image.shape[1] - reach[1], stride)
    ]
    return np.array(found)


@pytest.mark.parametrize(("shape", "filter_size", "window"), TAKEN)
def test_columns_by_tma_are_those_of_a_convolution(
    shape: tuple[int, int, int], filter_size: tuple[int, int], window: dict[str, int]
) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((*shape, CHANNELS)).astype(np.float32)
    w = random.standard_normal((*filter_size, CHANNELS)).astype(np.float32)
    result = convolving(shape, filter_size, **window).simulate(x, w.reshape(-1, CHANNELS), delay_async=True)
    assert [str(finding) for finding in result.findings] == []
    how = {"padding": 0, "stride": 1, "dilation": 1, **window}
    wanted = reference(x, w, **how)
    assert result.outputs[0].shape == wanted.shape
    assert np.abs(result.outputs[0] - wanted).max() < 1e-5 * np.abs(wanted).max() * np.sqrt(w.size)
