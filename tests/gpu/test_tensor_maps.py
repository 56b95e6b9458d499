"""Tensor maps on the hardware: contents of shared memory after a copy, from any stream and thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_launch import TensorMap

from . import simulated
from .copies import CONVERTING, COPIES, KINDS, SWIZZLES, Copy, noise
from .plans import tile_plan

if TYPE_CHECKING:
    from .driver import Device

pytestmark = pytest.mark.gpu

SLOTS = ("value", "pointer")
INFINITIES = {"f32": 0x7F800000, "f16": 0x7C00, "bf16": 0x7F80}


def boxes(array: np.ndarray, box: tuple[int, int], fill: int = 0) -> np.ndarray:
    """Return the boxes of a matrix consecutively, padded at the edges."""
    height, width = box
    rows, columns = array.shape
    padded = np.pad(array, ((0, -rows % height), (0, -columns % width)), constant_values=fill)
    cut = padded.reshape(padded.shape[0] // height, height, padded.shape[1] // width, width)
    return np.ascontiguousarray(cut.swapaxes(1, 2)).reshape(-1, height, width)


def swizzled(tiles: np.ndarray, bits: int) -> np.ndarray:
    """Return the bytes of each TMA box in the swizzled layout of shared memory. PTX manual, "Swizzling modes"."""
    raw = tiles.reshape(len(tiles), -1).view(np.uint8)
    at = np.arange(raw.shape[1])
    moved = np.empty_like(raw)
    moved[:, at ^ ((at >> 7 & bits) << 4)] = raw
    return moved


def copied(gpu: Device, case: Copy, slot: str = "value") -> np.ndarray:
    """Copy a matrix by TMA, box by box; return the bytes of each box in shared memory."""
    out, array = case.empty(), case.array
    map_ = TensorMap.dense(case.kind, array.shape, case.box, **case.options)
    source, target = gpu.upload(array), gpu.upload(out)
    tile_plan(map_, slot).launch((source, target), 0, 0)
    gpu.synchronize()
    found = gpu.download(target, out)
    gpu.free(source)
    gpu.free(target)
    return found


@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_moves_the_bits_of_every_type(gpu: Device, kind: str, slot: str) -> None:
    array = noise((32, 64), KINDS[kind])
    assert (copied(gpu, Copy(kind, kind, array, (16, 16)), slot) == swizzled(boxes(array, (16, 16)), 0)).all()


@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_a_swizzle_exchanges_chunks_of_16_bytes_by_bits_of_the_address(
    gpu: Device, swizzle: str, truth: dict[str, np.ndarray]
) -> None:
    case, (row, bits) = COPIES[f"tensor_map.swizzle.{swizzle}"], SWIZZLES[swizzle]
    truth[case.name] = found = copied(gpu, case)
    assert (found == swizzled(boxes(case.array, (32, row // 4)), bits)).all()


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("fill", ["zeros", "nan"])
def test_what_lies_past_the_edges_is_filled(gpu: Device, kind: str, fill: str, truth: dict[str, np.ndarray]) -> None:
    case = COPIES[f"tensor_map.fill.{fill}.{kind}"]
    array = case.array
    truth[case.name] = found = copied(gpu, case).view(array.dtype)
    inside = boxes(np.ones_like(array), (16, 16)).reshape(found.shape) == 1
    assert (found[inside] == boxes(array, (16, 16)).reshape(found.shape)[inside]).all()
    outside = np.unique(found[~inside])
    assert len(outside) == 1
    magnitude = int(outside[0]) & ((1 << 8 * array.itemsize - 1) - 1)
    assert magnitude == 0 if fill == "zeros" else magnitude > INFINITIES[kind]


@pytest.mark.parametrize("kind", CONVERTING)
def test_types_that_convert_keep_what_they_can_hold(gpu: Device, kind: str, truth: dict[str, np.ndarray]) -> None:
    case = COPIES[f"tensor_map.convert.{kind}"]
    truth[case.name] = found = copied(gpu, case).view(np.uint32)
    assert np.allclose(found.view(np.float32).reshape(32, 32), case.array, rtol=2**-10, atol=2**-126)
    assert (found == simulated.copy(case, gpu.target).view(np.uint32)).all()


@pytest.mark.parametrize("kind", CONVERTING)
def test_what_a_type_makes_of_subnormals_infinities_and_nan_is_what_the_simulator_says(
    gpu: Device, kind: str, truth: dict[str, np.ndarray]
) -> None:
    case = COPIES[f"tensor_map.special.{kind}"]
    truth[case.name] = found = copied(gpu, case).view(np.uint32)
    assert (found == simulated.copy(case, gpu.target).view(np.uint32)).all()


def test_a_map_takes_a_matrix_whose_rows_lie_apart(gpu: Device) -> None:
    whole = noise((32, 96), "u4")
    part = whole[:, :32]
    map_ = TensorMap("u32", (32, 32), whole.strides, (16, 16), (1, 1))
    source = gpu.upload(whole)
    out = np.zeros((4, 16 * 16 * 4), np.uint8)
    target = gpu.upload(out)
    tile_plan(map_).launch((source, target), 0, 0)
    gpu.synchronize()
    assert (gpu.download(target, out) == swizzled(boxes(np.ascontiguousarray(part), (16, 16)), 0)).all()


@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("threads", [1, 2], ids=["one thread", "two threads"])
def test_two_streams_copy_different_tensors_through_one_plan_at_once(gpu: Device, slot: str, threads: int) -> None:
    launches, shape = 200, (32, 32)
    plan = tile_plan(TensorMap.dense("u32", shape, (16, 32), swizzle="128B"), slot)
    arrays = [[noise(shape, "u4", seed=2 * each + lane) for each in range(launches)] for lane in range(2)]
    sources = [[gpu.upload(array) for array in lane] for lane in arrays]
    out = np.zeros((launches, 2, 16 * 32 * 4), np.uint8)
    targets, streams = [gpu.upload(out) for _ in range(2)], [gpu.stream() for _ in range(2)]

    def launch(lane: int, each: int) -> None:
        plan.launch((sources[lane][each], targets[lane] + each * out[0].nbytes), streams[lane], 0)

    def work(lane: int) -> None:
        for each in range(launches):
            launch(lane, each)

    if threads == 2:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, range(2)))
    else:
        for each in range(launches):
            launch(0, each)
            launch(1, each)
    gpu.synchronize()
    for lane in range(2):
        found = gpu.download(targets[lane], out)
        for each, array in enumerate(arrays[lane]):
            assert (found[each] == swizzled(boxes(array, (16, 32)), 7)).all()


@pytest.mark.parametrize("slot", SLOTS)
def test_a_graph_holds_tensor_maps(gpu: Device, slot: str) -> None:
    array, stream = noise((32, 32), "u4"), gpu.stream()
    source, out = gpu.upload(np.zeros_like(array)), np.zeros((2, 16 * 32 * 4), np.uint8)
    target = gpu.upload(out)
    plan = tile_plan(TensorMap.dense("u32", array.shape, (16, 32), swizzle="128B"), slot)
    with gpu.capturing(stream) as graph:
        plan.launch((source, target), stream, 0)
    gpu.write(source, array)
    graph.replay(stream)
    gpu.synchronize(stream)
    assert (gpu.download(target, out) == swizzled(boxes(array, (16, 32)), 7)).all()
