"""tcgen05.ld and st access the manual's fragments, in every shape, packed and reduced.

The manual draws the fragments; here the fragments are formulas of thread and register. `PYPTX_KERNELS=all`
runs every fragment under every schedule; the default is one schedule for each.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tools.shares import full, share

from .tensor_kernels import COLUMNS, LANES, Issue, outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

pytestmark = pytest.mark.scaled

SHAPES = ("32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2")
REGISTERS = {"16x128b": 2, "16x256b": 4}  # registers per repetition of a tcgen05.ld shape (others: 1)
SPLIT = 160  # distance in columns of the two accesses of tcgen05.ld.16x32bx2
THREAD = np.arange(LANES)
SCHEDULES: list[dict[str, Any]] = [{}, {"seed": 3}, {"delay_async": True}]
CASES = [
    (shape, packed, options)
    for turn, (shape, packed) in enumerate(product(SHAPES, (False, True)))
    for options in share(SCHEDULES, len(SCHEDULES), turn)
]


def cells(shape: str, registers: int, *, packed: bool, upper: int) -> tuple[Array, Array]:
    """Return the lanes and columns of a warpgroup's registers, `[registers, 128, halves]`; a packed register has two.

    `upper` is the lane within its lane quarter at which a shape of 16 lanes begins.
    """
    r, t = np.arange(registers)[:, None], THREAD % 32
    match shape:
        case "32x32b":
            lane, column = t + 0 * r, r + 0 * t
        case "16x64b":
            lane, column = t % 2 * 8 + t // 4 + 0 * r, 2 * r + t // 2 % 2
        case "16x128b":
            lane, column = t // 4 + r % 2 * 8, r // 2 * 4 + t % 4
        case "16x256b":
            lane, column = t // 4 + r // 2 % 2 * 8, r // 4 * 8 + t % 4 * 2 + r % 2
        case _:
            lane, column = t % 16 + 0 * r, r + 0 * t
    lane = lane + THREAD // 32 * 32 + upper
    columns = column[..., None] * (2 if packed else 1) + np.arange(2 if packed else 1)
    if shape == "16x32bx2":
        columns = columns + (t // 16 * SPLIT)[None, :, None]
    return np.broadcast_to(lane[..., None], columns.shape), columns


def counts(shape: str) -> list[int]:
    """Return the repetition counts to test: all, or by default only the second and the greatest count."""
    every = [1 << bit for bit in range(8) if REGISTERS.get(shape, 1) << bit <= 128]
    return full(every, default=[every[1], every[-1]])


def listed(count: int) -> str:
    return "{" + ", ".join(f"%v{i}" for i in range(count)) + "}"


def each(first: int, count: int, store: str) -> str:
    """Return PTX that stores registers to `results` or loads them; one register of all threads is contiguous."""
    lines = [f"mad.wide.u32 %a, %thread, 4, %results; add.u64 %a, %a, {first * LANES * 4};"]
    text = "st.global.b32 [%a+{0}], %v{1};" if store == "st" else "ld.global.b32 %v{1}, [%a+{0}];"
    lines += [text.format(i * LANES * 4, i) for i in range(count)]
    return "\n".join(lines)


@pytest.mark.parametrize(("shape", "packed", "options"), CASES, ids=str)
def test_a_load_fills_registers_as_the_fragment_says(shape: str, options: dict[str, Any], *, packed: bool) -> None:
    rng = np.random.default_rng(7)
    memory = rng.integers(0, 1 << 32, (1, LANES, COLUMNS), np.uint32)
    text, wanted = [], []
    for count in counts(shape):
        registers = count * REGISTERS.get(shape, 1)
        upper, first = (0 if shape == "32x32b" else 16 * (count % 3 > 0)), 3 * count % 32
        lane, column = cells(shape, registers, packed=packed, upper=upper)
        half, words = f", {SPLIT}" if shape == "16x32bx2" else "", f"sync.aligned.{shape}.x{count}"
        text += [f"add.u32 %s, %lanes, {(upper << 16) + first};",
                 f"tcgen05.ld.{words}{'.pack::16b' * packed}.b32 {listed(registers)}, [%s]{half};",
                 "tcgen05.wait::ld.sync.aligned;", each(sum(map(len, wanted)), registers, "st")]  # fmt: skip
        found = memory[0, lane, column + first]
        wanted.append(found[..., 0] & 0xFFFF | found[..., 1] << 16 if packed else found[..., 0])
    results = np.zeros((sum(map(len, wanted)), LANES), np.uint32)
    after = outcome(Issue(), memory=memory, results=results, everyone="\n".join(text), **options)
    assert (after == memory).all()
    np.testing.assert_array_equal(results, np.concatenate(wanted))


@pytest.mark.parametrize(("shape", "packed", "options"), CASES, ids=str)
def test_a_store_fills_cells_as_the_fragment_says(shape: str, options: dict[str, Any], *, packed: bool) -> None:
    rng = np.random.default_rng(8)
    memory = rng.integers(0, 1 << 32, (1, LANES, COLUMNS), np.uint32)
    text, total, wanted = [], 0, memory.copy()
    values = rng.integers(0, 1 << 32, (256 * 4, LANES), np.uint32)
    for count in counts(shape):
        registers = count * REGISTERS.get(shape, 1)
        upper, first = (0 if shape == "32x32b" else 16 * (count % 3 > 0)), 3 * count % 32
        lane, column = cells(shape, registers, packed=packed, upper=upper)
        half, words = f", {SPLIT}" if shape == "16x32bx2" else "", f"sync.aligned.{shape}.x{count}"
        text += [each(total, registers, "ld"), f"add.u32 %s, %lanes, {(upper << 16) + first};",
                 f"tcgen05.st.{words}{'.unpack::16b' * packed}.b32 [%s]{half}, {listed(registers)};",
                 "tcgen05.wait::st.sync.aligned;"]  # fmt: skip
        given = values[total : total + registers]
        wanted[0, lane, column + first] = np.stack((given & 0xFFFF, given >> 16), -1) if packed else given[..., None]
        total += registers
    after = outcome(Issue(), memory=memory, results=values, everyone="\n".join(text), **options)
    np.testing.assert_array_equal(after, wanted)


def reduced(values: Array, operation: str, *, magnitude: bool, propagates: bool) -> np.float32:
    """Return the minimum or maximum of floats, computed by successive PTX `min` or `max`."""
    found = np.float32(np.nan)
    for number in np.abs(values) if magnitude else values:
        if np.isnan(number):
            if propagates:
                return np.float32(np.nan)
            continue
        below = number < found or (number == found and np.signbit(number) and not np.signbit(found))
        if np.isnan(found) or below == (operation == "min"):
            found = number
    return found


FLOATS = [("f32", operation, magnitude, propagates) for operation in ("min", "max") for magnitude in (False, True)
          for propagates in (False, True)]  # fmt: skip
INTEGERS = [(kind, operation, False, False) for kind in ("u32", "s32") for operation in ("min", "max")]


@pytest.mark.parametrize("count", full([2, 8, 128], default=[2, 32]))
@pytest.mark.parametrize("shape", ["32x32b", "16x32bx2"])
def test_a_load_reduces_what_each_thread_has_loaded(shape: str, count: int) -> None:
    rng = np.random.default_rng(count)
    memory = rng.standard_normal((1, LANES, COLUMNS)).astype(np.float32)
    memory[rng.random(memory.shape) < 1 / count] = np.nan
    memory[rng.random(memory.shape) < 0.7] *= 0  # 70 % of the cells become +0 or -0, to test minima and maxima of zeros
    memory[0, 5] = memory[0, 21] = np.nan
    bits = memory.view(np.uint32)
    lane, column = cells(shape, count, packed=False, upper=0)
    half, loaded = (f", {SPLIT}" if shape == "16x32bx2" else ""), memory[0, lane[..., 0], column[..., 0]]
    text, wanted = [], [loaded.view(np.uint32)]
    for number, (kind, operation, magnitude, propagates) in enumerate([*FLOATS, *INTEGERS]):
        words = f"{operation}{'.abs' * magnitude}{'.NaN' * propagates}.{kind}"
        text += [f"tcgen05.ld.red.sync.aligned.{shape}.x{count}.{words} {listed(count)}, %t, [%lanes]{half};",
                 "tcgen05.wait::ld.sync.aligned;", each(0, count, "st") if not number else "",
                 "mad.wide.u32 %a, %thread, 4, %results;",
                 f"st.global.b32 [%a+{(count + number) * LANES * 4}], %t;"]  # fmt: skip
        if kind == "f32":
            row = np.array([reduced(loaded[:, t], operation, magnitude=magnitude, propagates=propagates)
                            for t in range(LANES)], np.float32).view(np.uint32)  # fmt: skip
            row[np.isnan(row.view(np.float32))] = 0x7FFFFFFF
        else:
            signed = loaded.view({"u32": np.uint32, "s32": np.int32}[kind])
            row = (signed.min(axis=0) if operation == "min" else signed.max(axis=0)).view(np.uint32)
        wanted.append(row[None])
    results = np.zeros((count + len(FLOATS) + len(INTEGERS), LANES), np.uint32)
    outcome(Issue(), memory=bits, results=results, everyone="\n".join(text), target="sm_103a")
    np.testing.assert_array_equal(results, np.concatenate(wanted))
