"""Kernels for fault injection: correct kernels without findings, each with its launch, data and expected results.

The PTX of a subject is in `subjects/`. Comments `// @name` there mark lines for the table of injected faults.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyptx_ir.plugins.rows import Output, TensorMap
from pyptx_ir.syntax import parse
from pyptx_sim import Result, Uninitialized, WithDescriptor, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.nodes import Module

FOLDER = Path(__file__).parent / "subjects"
_MARK = re.compile(r"// @([\w-]+)")

Values: TypeAlias = NDArray[Any]
Case: TypeAlias = "tuple[list[Any], list[tuple[Values, Values]]]"
"""Arguments of a run, and its outputs with their expected values."""


@dataclass(frozen=True)
class Subject:
    """A kernel for fault injection; `name` is the name of its entry and file, `case` makes new arguments."""

    name: str
    case: Callable[[], Case]
    block: int
    grid: int = 1
    cluster: int = 1

    @cached_property
    def text(self) -> str:
        """PTX text of the kernel."""
        return (FOLDER / f"{self.name}.ptx").read_text(encoding="utf-8")

    @cached_property
    def module(self) -> Module:
        """Syntax tree of the kernel's module."""
        return parse(self.text)

    @cached_property
    def marks(self) -> dict[str, int]:
        """Line numbers (from 1) of the marks `// @name`, by name."""
        return {name: i for i, line in enumerate(self.text.splitlines(), 1) for name in _MARK.findall(line)}

    def run(self, module: Module | None = None, **options: Any) -> Result:
        """Run the kernel or a mutant; raise AssertionError if the result is wrong without a finding."""
        arguments, outputs = self.case()
        result = run(
            module or self.module, grid=self.grid, block=self.block, cluster=self.cluster, args=arguments, **options
        )
        if not result.findings:
            for got, expected in outputs:
                np.testing.assert_array_equal(got, expected)
        return result


def words(*shape: int) -> NDArray[np.uint32]:
    """Return an array of random words; calls with equal arguments return equal words."""
    return np.random.default_rng(7).integers(0, 1 << 16, shape).astype(np.uint32)


def _described(array: Values, box: tuple[int, int], swizzle: str = "none") -> WithDescriptor:
    kinds = {"float32": "f32", "uint32": "u32", "uint16": "bf16"}
    return WithDescriptor(
        array, TensorMap(kinds[array.dtype.name], array.shape, array.strides, box, (1, 1), swizzle=swizzle)
    )


def _output(array: Values) -> Uninitialized:
    """Return an array marked as an output: uninitialized, and to be written completely."""
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return Uninitialized(array, Output("out", array.shape, f"u{8 * array.itemsize}", strides))


def _factor(*shape: int) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
    """Return a matrix of small whole numbers, as bf16 bits and as float64."""
    values = np.random.default_rng(len(shape) + shape[-1]).integers(-4, 5, shape).astype(np.float32)
    return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16), values.astype(np.float64)


def _of_warpgroup(product: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the wgmma accumulators (64 x 8) of 128 threads: two columns of a row, and of the row 8 below."""
    thread = np.arange(128)
    row, column = thread // 32 * 16 + thread % 32 // 4, thread % 4 * 2
    held = [product[row, column], product[row, column + 1], product[row + 8, column], product[row + 8, column + 1]]
    return np.stack(held, 1).astype(np.float32)


def _folded(rows: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the result of `sum = 3 * sum + row` over the rows of a matrix."""
    total: NDArray[np.uint32] = np.zeros_like(rows[0])
    for row in rows:
        total = total * np.uint32(3) + row
    return total


def _tile_pipeline() -> Case:
    x = words(8, 320).astype(np.float32)
    out = np.zeros(64, np.float32)
    boxes = x.reshape(2, 4, 5, 16, 4)  # axes: half of x's rows, row in the half, loop step, thread, thread's element
    return [out, _described(x, (8, 64))], [(out, boxes.sum((0, 2, 4)).reshape(64))]


def _copy_ring() -> Case:
    a, out = words(5, 64, 4), np.zeros(64, np.uint32)
    return [a, out], [(out, a[:, ::-1].sum((0, 2)).astype(np.uint32))]


def _copy_signal() -> Case:
    a, out = words(5, 32, 4), np.zeros(32, np.uint32)
    return [a, out], [(out, a[:, ::-1].sum((0, 2)).astype(np.uint32))]


def _bulk_store() -> Case:
    a, b, total, back = words(5, 64), np.zeros((5, 64), np.uint32), np.zeros(64, np.uint32), np.zeros(4, np.uint32)
    expected = a + np.uint32(3)
    return [a, _output(b), total, back], [(b, expected), (total, expected[4]), (back[:1], expected[0, :1])]


def _cluster_exchange() -> Case:
    a, out = words(4, 64), np.zeros((4, 64), np.uint32)
    return [a, out], [(out, np.broadcast_to(_folded(a[:, ::-1]), (4, 64)))]


def _cluster_words() -> Case:
    a, out = words(2, 64), np.zeros((2, 64), np.uint32)
    return [a, out], [(out, a[::-1, ::-1])]


def _cluster_messages() -> Case:
    a, out = words(2, 2, 64), np.zeros((2, 2, 64), np.uint32)
    rounds = np.arange(2, dtype=np.uint32)[:, None, None]
    return [a, out], [(out, a[:, ::-1] * np.uint32(5) + rounds)]


def _cluster_copy() -> Case:
    a, out = words(2, 64), np.zeros((2, 64), np.uint32)
    return [a, out], [(out, a[::-1])]


def _multicast() -> Case:
    a, out = words(5, 64), np.zeros((2, 32), np.uint32)
    pairs = a.reshape(5, 32, 2).transpose(0, 2, 1).reshape(10, 32)
    return [a, out], [(out, np.broadcast_to(_folded(pairs), (2, 32)))]


def _named_barriers() -> Case:
    a, out = words(6, 32), np.zeros(32, np.uint32)
    return [a, out], [(out, _folded(a[:, ::-1]))]


def _last_block() -> Case:
    a, parts, done, out = words(3, 64), np.zeros(3, np.uint32), np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    folded = a[:, :32] + a[:, 32:]
    lanes = np.arange(32)
    # Lane i adds the value of lane 31 - i; four butterfly shuffles then add up lanes 0 to 15.
    expected = (folded + folded[:, lanes ^ 31])[:, :16].sum(1).astype(np.uint32)
    return [a, parts, done, out], [(parts, expected), (out, expected.sum(keepdims=True).astype(np.uint32))]


def _flags() -> Case:
    a, flag, out = words(1), np.zeros(1, np.uint32), np.zeros(2, np.uint32)
    sent = a * np.uint32(7) + np.uint32(1)
    return [a, flag, out], [(out, np.concatenate([sent, sent * np.uint32(3) + np.uint32(1)]))]


def _tile_transpose() -> Case:
    a, out = words(8, 24), np.zeros((24, 8), np.uint32)
    return [_described(a, (8, 8)), _described(out, (8, 8))], [(out, a.T)]


def _matrices() -> Case:
    """Four 8 x 8 matrices; the sparse operand A stores the first two of every four columns.

    Row r of matrix m is row 8 m + r of the tile. Operand A consists of the first two matrices, adjacent in K.
    """
    tile = np.random.default_rng(3).integers(-4, 5, (4, 8, 8)).astype(np.float16)
    out, rows = np.zeros((2, 32, 4), np.float32), np.zeros((4, 8, 8), np.float16)
    dense = np.concatenate([tile[0], tile[1]]).astype(np.float64)  # sparse operand A: 16 rows, 8 stored columns
    columns = [0, 1, 4, 5, 8, 9, 12, 13]
    factor = np.concatenate([tile[0], tile[1]]).astype(np.float64)  # operand B (16 x 8), loaded by ldmatrix.trans
    product = dense @ factor[columns]
    lane = np.arange(32)
    row, column = lane // 4, lane % 4 * 2
    held = np.stack([product[row, column] + 1, product[row, column + 1], product[row + 8, column]], 1)
    held = np.concatenate([held, product[row + 8, column + 1][:, None] + 1], 1).astype(np.float32)
    turned = np.ascontiguousarray(tile.transpose(0, 2, 1))
    arguments = [tile.view(np.uint32), out, rows.view(np.uint32)]
    return arguments, [(out, np.stack([held, held])), (rows, turned)]


def _tokens() -> Case:
    a, out = words(2, 64), np.zeros(64, np.uint32)
    return [a, out], [(out, _folded(a[:, ::-1]))]


def _edited_map() -> Case:
    a, other, out = words(16, 8), words(16, 8)[::-1].copy(), np.zeros((8, 8), np.uint32)
    return [_described(a, (8, 8)), other, out], [(out, other[8:])]


def _quotients() -> Case:
    out = np.zeros(64, np.uint32)
    return [out], [(out, 2 * np.arange(64, dtype=np.uint32)[::-1])]


def _registers() -> Case:
    out = np.zeros(256, np.uint32)
    return [out], [(out, np.arange(256, dtype=np.uint32))]


def _warpgroup_product() -> Case:
    (a, left), (b, right) = _factor(3, 64, 16), _factor(3, 8, 16)
    out = np.zeros((128, 4), np.float32)
    return [a, b, out], [(out, _of_warpgroup(np.einsum("smk,snk->mn", left, right)))]


def _warpgroup_pipeline() -> Case:
    (a, left), (b, right) = _factor(64, 256), _factor(8, 256)
    out = np.zeros((128, 4), np.float32)
    expected = _of_warpgroup(left @ right.T)
    expected[:, 0] += 1  # the first accumulator register of each thread starts at 1
    return [_described(a, (64, 64), "128B"), _described(b, (8, 64), "128B"), out], [(out, expected)]


def _tensor_pipeline() -> Case:
    (a, left), (b, right) = _factor(128, 256), _factor(16, 256)
    out = np.zeros((128, 16), np.float32)
    arguments = [_described(a, (128, 64), "128B"), _described(b, (16, 64), "128B"), out]
    return arguments, [(out, (left @ right.T).astype(np.float32))]


def _tensor_pair() -> Case:
    (a, left), (b, right) = _factor(256, 256), _factor(32, 256)
    out = np.zeros((256, 32), np.float32)
    arguments = [_described(a, (128, 64), "128B"), _described(b, (16, 64), "128B"), out]
    return arguments, [(out, (left @ right.T).astype(np.float32))]


def _cores(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return rows of bytes as core matrices (8 rows x 16 bytes); core matrices of the same rows are consecutive."""
    return rows.reshape(len(rows) // 8, 8, -1, 16).swapaxes(1, 2).reshape(-1)


def _scaled_factor(rows: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.float64]]:
    """Return rows of 256 e4m3 codes, a ue8m0 scale factor for each 32 of them, and the scaled values."""
    random = np.random.default_rng(rows)
    values, powers = random.integers(0, 8, (rows, 256)), random.integers(-2, 3, (rows, 8))
    codes = np.array([0, 0x38, 0x40, 0x44, 0xB8, 0xC0, 0xC4, 0x48], np.uint8)  # e4m3 encodings of `numbers`
    numbers = np.array([0.0, 1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 4.0])
    return codes[values], (powers + 127).astype(np.uint8), numbers[values] * np.exp2(powers).repeat(32, axis=1)


def _scale_words(scales: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return scale factors, four per row of up to 128 rows, as 32 lines of 16 bytes; rows 32 apart share a line."""
    words = np.zeros((128, 4), np.uint8)
    words[: len(scales)] = scales
    return words.reshape(4, 32, 4).swapaxes(0, 1).reshape(32, 16)


def _tensor_scales() -> Case:
    (a, of_a, left), (b, of_b, right) = _scaled_factor(128), _scaled_factor(32)
    image = np.concatenate(
        [
            _cores(part)
            for half in range(2)
            for part in (
                *(bytes_[:, 128 * half : 128 * half + 128] for bytes_ in (a, b)),
                *(_scale_words(scales[:, 4 * half : 4 * half + 4]) for scales in (of_a, of_b)),
            )
        ]
    )
    out = np.zeros((128, 32), np.float32)
    return [image, out], [(out, (left @ right.T).astype(np.float32))]


def _tensor_probabilities() -> Case:
    """The elements of Q K^T are whole numbers that bf16 represents exactly."""
    random = np.random.default_rng(1)
    q, k, v = (random.integers(-1, 2, shape).astype(np.float32) for shape in ((128, 64), (64, 64), (16, 64)))
    of_q, of_k, of_v = ((each.view(np.uint32) >> np.uint32(16)).astype(np.uint16) for each in (q, k, v))
    out = np.zeros((128, 16), np.float32)
    boxes = _described(of_q, (128, 64), "128B"), _described(of_k, (64, 64), "128B"), _described(of_v, (16, 32), "64B")
    return [*boxes, out], [(out, q @ k.T @ v.T)]


def _tensor_turns() -> Case:
    (a, left), (b, right) = _factor(512, 32), _factor(32, 32)
    out = np.zeros((512, 32), np.float32)
    arguments = [_described(a, (128, 32), "64B"), _described(b, (32, 32), "64B"), out]
    return arguments, [(out, (left @ right.T).astype(np.float32))]


def _tensor_stationary() -> Case:
    """Each warp's lanes hold a quarter of D's columns; two of every three columns are nonzero."""
    (a, left), (b, right) = _factor(64, 16), (each[::-1] for each in _factor(64, 16))
    image = np.concatenate([_cores(each.view(np.uint8)) for each in (a, b)])
    right = right.reshape(4, 16, 16) * (np.arange(64).reshape(4, 16, 1) % 16 % 3 < 2)
    out = np.zeros((4, 32, 2, 16), np.float32)
    sums = np.einsum("tmk,wnk->wmtn", left.reshape(2, 32, 16), right)
    return [image, out], [(out, sums.astype(np.float32))]


def _taken_over() -> Case:
    out = np.zeros((12, 32), np.uint32)
    return [out], [(out, np.broadcast_to(np.arange(32), (12, 32)))]


def _launches() -> Case:
    out = np.zeros(13, np.uint32)
    return [out], [(out, np.full(13, 64, np.uint32))]


SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("tile_pipeline", _tile_pipeline, block=96),
        Subject("copy_ring", _copy_ring, block=64),
        Subject("copy_signal", _copy_signal, block=64),
        Subject("bulk_store", _bulk_store, block=64),
        Subject("cluster_exchange", _cluster_exchange, block=64, grid=4, cluster=4),
        Subject("cluster_words", _cluster_words, block=64, grid=2, cluster=2),
        Subject("cluster_messages", _cluster_messages, block=64, grid=2, cluster=2),
        Subject("cluster_copy", _cluster_copy, block=64, grid=2, cluster=2),
        Subject("multicast", _multicast, block=64, grid=2, cluster=2),
        Subject("named_barriers", _named_barriers, block=64),
        Subject("last_block", _last_block, block=64, grid=3),
        Subject("flags", _flags, block=1, grid=2),
        Subject("tile_transpose", _tile_transpose, block=64, grid=3),
        Subject("matrices", _matrices, block=64),
        Subject("tokens", _tokens, block=64),
        Subject("edited_map", _edited_map, block=64),
        Subject("registers", _registers, block=256),
        Subject("quotients", _quotients, block=64),
        Subject("warpgroup_product", _warpgroup_product, block=128),
        Subject("warpgroup_pipeline", _warpgroup_pipeline, block=160),
        Subject("tensor_pipeline", _tensor_pipeline, block=192),
        Subject("tensor_pair", _tensor_pair, block=192, grid=2, cluster=2),
        Subject("tensor_scales", _tensor_scales, block=128),
        Subject("tensor_probabilities", _tensor_probabilities, block=160),
        Subject("tensor_turns", _tensor_turns, block=160),
        Subject("tensor_stationary", _tensor_stationary, block=128),
        Subject("taken_over", _taken_over, block=32, grid=12, cluster=2),
        Subject("launches", _launches, block=64, grid=13),
    )
}
