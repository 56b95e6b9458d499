"""Tensors of sub-byte elements: copied packed, or padded in shared memory by loads and packed again by stores."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_sim import WithDescriptor
from pyptx_sim.errors import LaunchError

from .test_async_copy import each_schedule
from .test_tensor_copy import HEAD, LOAD, OUT, ROWS
from .test_tensor_modes import executed, spelt

if TYPE_CHECKING:
    from pyptx_arch_hopper import TensorMap

pytestmark = pytest.mark.hopper


def map_of(*arguments: Any, **options: Any) -> TensorMap:
    """Return a tensor map, encoded by the plugin pyptx-arch-hopper."""
    described: TensorMap = import_module("pyptx_arch_hopper").TensorMap.of(*arguments, **options)
    return described


# Type of a tensor map -> bytes of 16 elements in global memory, and in shared memory. Manual: "Sub-byte Types".
BYTES = {"b4x16": (8, 8), "b4x16_p64": (8, 16), "b6x16_p32": (12, 16)}


def tensor(dtype: str, rows: int, columns: int) -> Any:
    return np.random.default_rng(len(dtype)).integers(0, 256, (rows, columns * BYTES[dtype][0] // 16), dtype=np.uint8)


def loaded(array: Any, described: TensorMap, corner: tuple[int, ...], room: int, size: int, **options: Any) -> Any:
    """Load into shared memory filled with 0xEE, and return its bytes; the mbarrier expects `size` bytes."""
    out = np.zeros(room, np.uint8)
    given = {"mode": options.pop("mode", "tile"), "offsets": "", "corner": spelt(corner)}
    fill = f"""
    mov.u32 %r30, %r0;
    FILL:
    shl.b32 %r31, %r30, 2;
    add.u32 %r31, %r31, %r2;
    st.shared.u32 [%r31], 0xeeeeeeee;
    add.u32 %r30, %r30, 64;
    setp.lt.u32 %p8, %r30, {room // 4};
    @%p8 bra FILL;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    """
    body = HEAD + fill + LOAD.format(size=size, rank=2, **given) + OUT.format(words=room // 4)
    result = executed(body, out, WithDescriptor(array, described), **options)
    assert [str(finding) for finding in result.findings] == []
    return out


def spread(rows: Any, dtype: str) -> Any:
    """Return the bytes of rows in shared memory: each 16 elements, followed by padding that is unchanged (0xEE)."""
    data, room = BYTES[dtype]
    found = np.full((rows.size // data, room), 0xEE, np.uint8)
    found[:, :data] = rows.reshape(-1, data)
    return found.reshape(-1)


@each_schedule
@pytest.mark.parametrize("dtype", BYTES)
def test_elements_are_spread_over_shared_memory(schedule: dict[str, Any], dtype: str) -> None:
    array = tensor(dtype, 12, 256)
    described = map_of(array, (8, 128), dtype=dtype)
    assert described.shape == (12, 256)
    data, room = BYTES[dtype]
    inner = 128 * data // 16
    found = loaded(array, described, (128, 3), 8 * 8 * room, 8 * inner, **schedule)
    assert found.tobytes() == spread(array[3:11, inner:], dtype).tobytes()


@pytest.mark.parametrize("dtype", ["b4x16_p64", "b6x16_p32"])
@pytest.mark.parametrize("swizzle", ["128B", "128B_atom_32B", "128B_atom_64B"])
def test_rows_that_are_spread_are_swizzled(dtype: str, swizzle: str) -> None:
    array = tensor(dtype, 8, 128)
    described = map_of(array, (8, 128), dtype=dtype, swizzle=swizzle)
    found = loaded(array, described, (0, 0), 1024, array.size)
    lines = spread(array, dtype).reshape(8, 8, 16)
    for number, line in enumerate(found.reshape(8, 8, 16)):
        order = ROWS[swizzle][number % len(ROWS[swizzle])]
        assert line.tobytes() == lines[number][[int(piece) for piece in order]].tobytes()


@pytest.mark.parametrize("dtype", BYTES)
def test_zeros_stand_for_rows_out_of_bounds(dtype: str) -> None:
    array = tensor(dtype, 4, 128)
    data, room = BYTES[dtype]
    described = map_of(array, (8, 128), dtype=dtype)
    found = loaded(array, described, (0, -2), 8 * 8 * room, 8 * 8 * data)
    rows = np.zeros((8, 8 * data), np.uint8)
    rows[2:6] = array
    assert found.tobytes() == spread(rows, dtype).tobytes()


@pytest.mark.parametrize("dtype", BYTES)
def test_rows_of_packed_elements_are_gathered(dtype: str) -> None:
    array = tensor(dtype, 20, 256)
    data, room = BYTES[dtype]
    described = map_of(array, (1, 128), dtype=dtype)
    size = 4 * 8 * data
    found = loaded(array, described, (128, 7, 3, 19, 0), 4 * 8 * room, size, mode="tile::gather4")
    assert found.tobytes() == spread(array[[7, 3, 19, 0], 8 * data :], dtype).tobytes()


STORE = """
mov.u32 %r30, %r0;
FILL:
mul.lo.u32 %r31, %r30, 0x01030507;
shl.b32 %r32, %r30, 2;
add.u32 %r32, %r32, %r2;
st.shared.u32 [%r32], %r31;
add.u32 %r30, %r30, 64;
setp.lt.u32 %p8, %r30, WORDS;
@%p8 bra FILL;
fence.proxy.async.shared::cta;
bar.sync 0;
@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {CORNER}], [%r2];
@%p0 cp.async.bulk.commit_group;
@%p0 cp.async.bulk.wait_group 0;
"""


def stored(array: Any, described: TensorMap, corner: tuple[int, int], words: int) -> tuple[Any, list[str]]:
    """Store from shared memory to a tensor; return the bytes of shared memory and the rules of the findings."""
    body = HEAD + STORE.replace("WORDS", str(words)).replace("CORNER", spelt(corner))
    result = executed(body, np.zeros(1, np.uint32), WithDescriptor(array, described))
    held = (np.arange(words, dtype=np.uint64) * 0x01030507).astype(np.uint32).view(np.uint8)
    return held, [finding.rule for finding in result.findings]


def test_bytes_with_six_bits_each_are_packed() -> None:
    array = np.full((6, 2 * 96), 0xEE, np.uint8)
    held, found = stored(array, map_of(array, (4, 128), dtype="b6x16_p32"), (128, 3), 128)
    assert found == []
    expected = np.full((6, 2 * 96), 0xEE, np.uint8)
    for row in range(3):  # rows of the box inside the tensor; the box's fourth row is out of bounds
        number = sum(int(byte & 63) << (6 * place) for place, byte in enumerate(held[128 * row : 128 * row + 128]))
        expected[3 + row, 96:] = np.frombuffer(number.to_bytes(96, "little"), np.uint8)
    assert (array == expected).all()


def test_nibbles_are_stored_as_they_are() -> None:
    array = np.full((6, 32), 0xEE, np.uint8)
    held, found = stored(array, map_of(array, (4, 32), dtype="b4x16"), (32, 1), 16)
    assert found == []
    assert (array[1:5, 16:] == held.reshape(4, 16)).all()
    assert (array[1:5, :16] == 0xEE).all()


def test_no_store_takes_the_padding_of_nibbles_away() -> None:
    array = np.zeros((4, 64), np.uint8)
    assert stored(array, map_of(array, (4, 128), dtype="b4x16_p64"), (0, 0), 128)[1] == ["tensor-map"]


@pytest.mark.parametrize(("dtype", "corner"), [("b4x16", 1), ("b4x16_p64", 64), ("b6x16_p32", 16)])
def test_coordinates_are_multiples_of_what_is_copied_together(dtype: str, corner: int) -> None:
    array = tensor(dtype, 8, 256)
    described = map_of(array, (8, 128), dtype=dtype)
    body = HEAD + LOAD.format(size=512, rank=2, mode="tile", offsets="", corner=f"{corner}, 0")
    result = executed(body, np.zeros(1, np.uint32), WithDescriptor(array, described))
    assert "tensor-map" in {finding.rule for finding in result.findings}


@pytest.mark.parametrize(
    ("dtype", "columns", "options"),
    [
        ("b4x16_p64", 128, {"box": (8, 64)}),
        ("b6x16_p32", 192, {"box": (8, 128)}),
        ("b6x16_p32", 128, {"box": (8, 128), "fill": "nan"}),
        ("b4x16", 128, {"box": (8, 48)}),
        ("b4x16_p64", 128, {"box": (8, 128), "swizzle": "64B"}),
        ("b6x16_p32", 128, {"box": (8, 128), "swizzle": "128B_atom_32B_flip_8B"}),
    ],
)
def test_what_no_driver_encodes_is_refused(dtype: str, columns: int, options: dict[str, Any]) -> None:
    array = tensor(dtype, 8, columns)
    described = map_of(array, options.pop("box"), dtype=dtype, **options)
    with pytest.raises(LaunchError, match="invalid tensor map: "):
        described.encode(1 << 20)


def test_a_map_of_packed_elements_is_decoded_from_its_bytes() -> None:
    for dtype in BYTES:
        described = map_of(tensor(dtype, 8, 128), (8, 128), dtype=dtype)
        assert type(described).decode(described.encode(1 << 20)) == (described, 1 << 20)
