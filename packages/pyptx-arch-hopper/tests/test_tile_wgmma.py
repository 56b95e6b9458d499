"""wgmma of tiles equals NumPy's product: a reader of PTX executes the emitted copies, descriptors and MMAs.

The reader follows the manual: TMA copies boxes by their tensor map, row by row, and permutes 16-byte chunks by the
swizzle; a descriptor's fields are strides of the canonical layouts ("Strides", "Canonical Layouts", "Matrix Descriptor
Format"). It does not use `SharedTile`.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

import pytest
from tools.shares import share

from pyptx_arch_hopper.tensor_maps.description import tensor_map
from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import PtxType, bf16, e4m3, f32, s8, s32, tf32

if TYPE_CHECKING:
    from pyptx_dsl.contract.specs import Tile

pytestmark = pytest.mark.scaled

BASE = 0x2000  # shared memory address of the first operand, aligned to every swizzle atom
COLUMNS = {0: 1, 1: 8, 2: 4, 3: 2}  # 16-byte chunks per row of a swizzle atom, by the descriptor's swizzle field
ROWS = (0, 1, 7, 8, 21, 40, 63)  # rows of D whose elements are compared, in all columns
Matrix = list[list[int]]


def swizzled(address: int, chunks: int) -> int:
    """Return the swizzled address: 16-byte chunk bits XORed with address bits above the 128-byte row."""
    return address ^ (address >> 7 & chunks - 1) << 4


@dataclass
class Reader:
    """Interpreter of PTX for one thread's registers, and shared memory as elements by address."""

    arrays: dict[str, tuple[Matrix, Tile]]
    bits: int
    symbols: dict[str, int] = field(default_factory=dict)
    registers: dict[str, int | str] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)
    sums: Matrix = field(default_factory=list)

    def read(self, text: str) -> Matrix:
        """Execute a module; return D after its MMAs."""
        place = BASE
        for align, name, size in re.findall(r"\.shared \.align (\d+) \.b8 (\w+)\[(\d*)\]", text):
            place = -(-place // int(align)) * int(align)
            self.symbols[name] = place
            place += int(size or 0)
        for line in re.findall(r"\t([a-z@][^;]*);", text):
            opcode, _, operands = line.partition(" ")
            name = opcode.split(".")[0]
            if opcode.startswith("cp.async.bulk.tensor"):
                self.copy(operands)
            elif opcode.startswith("wgmma.mma_async"):
                self.multiply(opcode, operands)
            elif name == "mov" and "{" in operands:
                self.move_halves(*re.findall(r"%\w+", operands), apart=operands.startswith("{"))
            elif name in {"mov", "cvta", "bfe", "cvt", "or", "add"}:
                self.compute(name, operands.split(", "))
        return self.sums

    def value(self, text: str) -> int | str:
        if text in self.registers:
            return self.registers[text]
        name, _, offset = text.partition("+")
        if name in self.symbols:
            return self.symbols[name] + int(offset or 0)
        return text if text.endswith("_tma_desc") else int(text)

    def number(self, text: str) -> int:
        return int(self.value(text))

    def move_halves(self, first: str, second: str, third: str, *, apart: bool) -> None:
        """Execute mov.b64: split a register (`{low, high}, whole`), or join two (`whole, {low, high}`)."""
        if apart:
            whole = self.number(third)
            self.registers[first], self.registers[second] = whole & 0xFFFF_FFFF, whole >> 32
        else:
            self.registers[first] = self.number(second) | self.number(third) << 32

    def compute(self, name: str, operands: list[str]) -> None:
        first = self.value(operands[1])
        if name in {"mov", "cvta", "cvt"}:
            self.registers[operands[0]] = first
        elif name == "bfe":
            at, width = map(int, operands[2:])
            self.registers[operands[0]] = int(first) >> at & (1 << width) - 1
        else:
            second = self.number(operands[2])
            self.registers[operands[0]] = int(first) | second if name == "or" else int(first) + second

    def copy(self, operands: str) -> None:
        """Execute a TMA load of a box; coordinates are innermost first."""
        found = re.fullmatch(r"\[(\S+)\], \[(\S+), \{(\d+), (\d+)\}\], \[\S+\]", operands)
        assert found is not None
        start = self.number(found[1])
        matrix, tile = self.arrays[str(self.value(found[2])).removesuffix("_tma_desc")]
        described = tensor_map(tile, {"R": len(matrix), "C": len(matrix[0])})
        rows, columns = described.box
        chunks = int(described.swizzle[:-1]) // 16 if described.swizzle != "none" else 1
        assert start % (128 * chunks if chunks > 1 else 128) == 0
        for row, column in product(range(rows), range(columns)):
            place = start + (row * columns + column) * self.bits // 8
            self.memory[swizzled(place, chunks)] = matrix[int(found[4]) + row][int(found[3]) + column]

    def factor(self, descriptor: int, mn: int, k: int, *, turned: bool) -> int:
        """Return element (mn, k) of the matrix that a descriptor describes."""
        start = (descriptor & 0x3FFF) << 4
        leading, stride = (descriptor >> 16 & 0x3FFF) << 4, (descriptor >> 32 & 0x3FFF) << 4
        chunks, unit = COLUMNS[descriptor >> 62], 128 // self.bits
        if turned:
            inner = (mn % unit) * self.bits // 8 + mn // unit % chunks * 16
            beside, below = (leading, stride) if chunks > 1 else (stride, leading)
            place = inner + mn // unit // chunks * beside + k % 8 * chunks * 16 + k // 8 * below
        else:
            along = leading if chunks == 1 else 16
            place = (k % unit) * self.bits // 8 + k // unit * along + mn % 8 * chunks * 16 + mn // 8 * stride
        return self.memory[swizzled(start + place, chunks)]

    def multiply(self, opcode: str, operands: str) -> None:
        n, k = map(int, re.findall(r"m64n(\d+)k(\d+)", opcode)[0])
        _, _, rest = operands.partition("}, ")
        a, b, scale, *more = rest.split(", ")
        turned = [bool(int(each)) for each in more[2:]] or [False, False]
        left = [[self.factor(self.number(a), i, j, turned=turned[0]) for j in range(k)] for i in ROWS]
        right = [[self.factor(self.number(b), i, j, turned=turned[1]) for j in range(k)] for i in range(n)]
        old = self.sums if int(scale) else [[0] * n for _ in ROWS]
        self.sums = [
            [old[i][j] + sum(x * y for x, y in zip(left[i], right[j], strict=True)) for j in range(n)]
            for i in range(len(ROWS))
        ]


def random_matrix(shape: tuple[int, int], seed: int) -> Matrix:
    chance = random.Random(seed)
    return [[chance.randint(-9, 9) for _ in range(shape[1])] for _ in range(shape[0])]


def product_of(left: SharedTile, right: SharedTile, *, advancing: bool) -> str:
    """Return PTX that multiplies two tiles, with tiles as operands or with descriptors that advance."""
    arrays = (left.tma_tile("R", "C"), right.tma_tile("S", "D"))
    sums = s32 if left.dtype is s8 else f32
    options = {"trans_a": int(left.major == "MN"), "trans_b": int(right.major == "MN")} if advancing else {}

    def k(a: object, b: object) -> None:
        bar, acc = smem.mbarrier(1), reg.array(sums, right.mn // 2)
        held = [smem.tile(tile) for tile in (left, right)]
        for tile, memory, array in zip((left, right), held, (a, b), strict=True):
            for panel in range(tile.boxes):
                dst = memory[panel] if tile.boxes > 1 else memory
                at = (panel * tile.box_columns, 0)
                ptx.cp.async_.bulk.tensor_2d(dst=dst, src=array, coord=at, mbar=bar[0])
        operands = [ptx.wgmma.descriptor(each) for each in held] if advancing else held
        for step in range(0, left.k, left.k_step):
            ptx.wgmma.mma_async(
                shape=(64, right.mn, left.k_step),
                dtype_d=sums,
                dtype_a=left.dtype,
                dtype_b=right.dtype,
                d=acc,
                a=operands[0],
                b=operands[1],
                a_k_offset=left.offset(k=step),
                b_k_offset=right.offset(k=step),
                scale_d=step > 0,
                **options,
            )
        ptx.ret()

    sizes = dict(zip("RCSD", (*left.shape, *right.shape), strict=True))
    return kernel(k, in_specs=arrays, grid=1, block=128, arch="sm_90a").ptx(**sizes)


def along_k(matrix: Matrix, tile: SharedTile) -> Matrix:
    """Return the operand's matrix as [M, K] or [N, K]."""
    return matrix if tile.major == "K" else [list(row) for row in zip(*matrix, strict=True)]


def tiles(dtype: PtxType, mn: int, k: int) -> list[SharedTile]:
    """Return the `SharedTile` of an mn x k matrix in every layout that wgmma supports."""
    found = []
    for major, swizzle in product(("K", "MN") if dtype.bits == 16 else ("K",), (None, "32B", "64B", "128B")):
        shape = (mn, k) if major == "K" else (k, mn)
        width = int(swizzle[:-1]) if swizzle else 16
        if shape[1] * dtype.bits // 8 % width == 0:
            found.append(SharedTile(dtype, shape, major=major, swizzle=swizzle))
    return found


CASES = [
    *((a, b) for a, b in product(tiles(bf16, 64, 64), tiles(bf16, 64, 64))),
    *((a, b) for a, b in zip(tiles(bf16, 64, 128), tiles(bf16, 128, 128)[::-1], strict=True)),
    *((tiles(bf16, 64, 32)[0], b) for b in tiles(bf16, 8, 32)),
    *((a, a) for dtype, k in ((tf32, 32), (e4m3, 128), (s8, 128)) for a in tiles(dtype, 64, k)),
]


# Interpreting PTX in Python is slow: by default, test every third pair of layouts of A and B.
@pytest.mark.parametrize(
    ("left", "right"), share(CASES, 3), ids=lambda tile: f"{tile.dtype}-{tile.shape}-{tile.major}-{tile.swizzle}"
)
def test_a_product_of_tiles_is_the_product_of_the_matrices(left: SharedTile, right: SharedTile) -> None:
    a, b = random_matrix(left.shape, 1), random_matrix(right.shape, 2)
    expected = [
        [sum(x * y for x, y in zip(row, column, strict=True)) for column in along_k(b, right)]
        for row in (along_k(a, left)[at] for at in ROWS)
    ]
    for advancing in (False, True):
        text = product_of(left, right, advancing=advancing)
        arrays = {"a": (a, left.tma_tile("R", "C")), "b": (b, right.tma_tile("R", "C"))}
        assert Reader(arrays, left.dtype.bits).read(text) == expected
