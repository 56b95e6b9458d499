"""Random kernels of one block: each computes tiles from tiles, and torch computes the same.

A size is a range of seeds. `PYPTX_FUZZ` asks for another number of kernels, `PYPTX_SEED` for another first seed.
"""

import importlib.util
import os
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch

COUNT, FIRST = int(os.environ.get("PYPTX_FUZZ", "0")), int(os.environ.get("PYPTX_SEED", "0"))
SIZES = [(0, 8), (8, 16), (16, 24)]
ELEMENTS = 4096  # maximum number of elements of a tile
HEAD = """
import triton
import triton.language as tl


@triton.jit
def mul_add(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def kernel({parameters}):
    row = tl.arange(0, {rows})
    column = tl.arange(0, {columns})
"""
REAL = ("float32", "float16", "bfloat16")
WHOLE = ("int32", "int8", "int64")


@dataclass(frozen=True)
class Tile:
    """A value of a kernel: name, shape, and whether its elements are floats (else 32-bit integers)."""

    name: str
    shape: tuple[int, ...]
    real: bool


class Kernel:
    """A kernel's text, its parameters, and the statements by which torch computes the same tiles."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        choose = self.random.choice
        self.warps = choose([1, 2, 4, 4, 8])
        self.rows, columns = choose([1, 2, 4, 8, 16, 32, 64]), choose([2, 4, 8, 16, 32, 64, 128])
        self.columns = min(columns, ELEMENTS // self.rows)
        part = self.random.random() < 0.6
        self.valid_rows = self.random.randint((self.rows + 1) // 2, self.rows) if part else self.rows
        self.valid_columns = self.random.randint((self.columns + 1) // 2, self.columns) if part else self.columns
        self.tiles, self.lines, self.expected = [], [], []
        self.inputs = [choose(REAL + WHOLE) for _ in range(self.random.randint(1, 3))]
        for index, dtype in enumerate(self.inputs):
            self.load(index, dtype)
        loaded = len(self.tiles)
        for _ in range(self.random.randint(2, 9)):
            choose(OPERATIONS)(self, choose(self.tiles[-3:] if self.random.random() < 0.6 else self.tiles))
        computed = self.tiles[loaded:] or self.tiles
        self.outputs = list({each.name: each for each in (computed[-1], choose(computed))}.values())
        for each in self.outputs:
            self.store(each)

    @property
    def text(self):
        """The module with the kernel."""
        inputs = [f"in{index}" for index in range(len(self.inputs))]
        names = ", ".join([*inputs, *(f"out_{each.name}" for each in self.outputs), "valid_rows", "valid_columns"])
        head = HEAD.format(parameters=names, rows=self.rows, columns=self.columns)
        return head + "".join(f"    {each}\n" for each in self.lines)

    def add(self, shape, triton_text, torch_text, *, real):
        """Compute a tile by an expression of the kernel and one of torch."""
        tile = Tile(f"t{len(self.tiles)}", tuple(shape), real)
        self.tiles.append(tile)
        self.lines.append(f"{tile.name} = {triton_text}")
        self.expected.append(f"{tile.name} = {torch_text}")
        return tile

    def load(self, index, dtype):
        other = self.random.choice([0, 0, 1, -5])
        inside = "(row[:, None] < valid_rows) & (column[None, :] < valid_columns)"
        whole = (self.valid_rows, self.valid_columns) == (self.rows, self.columns)
        options = "" if whole and self.random.random() < 0.5 else f", mask={inside}, other={other}"
        real = dtype in REAL
        kind = "float32" if real else "int32"
        loaded = f"tl.load(in{index} + row[:, None] * valid_columns + column[None, :]{options}).to(tl.{kind})"
        self.add((self.rows, self.columns), loaded, f"padded(in{index}, {other}).to(torch.{kind})", real=real)

    def store(self, tile):
        strides = [1]
        for length in reversed(tile.shape[1:]):
            strides.insert(0, strides[0] * length)
        places = []
        for axis, (length, stride) in enumerate(zip(tile.shape, strides, strict=True)):
            index = ", ".join(":" if each == axis else "None" for each in range(len(tile.shape)))
            places.append(f"tl.arange(0, {length})[{index}] * {stride}")
        self.lines.append(f"tl.store(out_{tile.name} + {' + '.join(places)}, {tile.name})")

    def like(self, tile):
        """Return a tile of the same shape and kind."""
        return self.random.choice([each for each in self.tiles if (each.shape, each.real) == (tile.shape, tile.real)])

    def compute(self):
        """Run the kernel, and compare what it stores with what torch computes."""
        generator = torch.Generator().manual_seed(self.random.randrange(1 << 30))
        ties = self.random.random() < 0.4
        names = {"torch": torch, "padded": self.padded, "first": first}
        shape = (self.valid_rows, self.valid_columns)
        for index, dtype in enumerate(self.inputs):
            if dtype in REAL:
                values = torch.randn(shape, generator=generator)
                values = torch.round(values * 2) / 2 if ties else values
            else:
                values = torch.randint(-5, 6, shape, generator=generator)
            names[f"in{index}"] = values.to(getattr(torch, dtype))
        results = [
            torch.empty(each.shape, dtype=torch.float32 if each.real else torch.int32, device="cuda")
            for each in self.outputs
        ]
        given = [names[f"in{index}"].cuda() for index in range(len(self.inputs))]
        module_of(self.text).kernel[(1,)](*given, *results, *shape, num_warps=self.warps)
        for each in self.expected:
            exec(each, names)  # noqa: S102 - a statement of this file's operations
        for tile, result in zip(self.outputs, results, strict=True):
            expected = names[tile.name].reshape(tile.shape).to(result.dtype)
            torch.testing.assert_close(result.cpu(), expected, rtol=2e-2, atol=2e-2, equal_nan=True)

    def padded(self, values, other):
        """Return a whole tile of which the kernel loads `values`."""
        whole = torch.full((self.rows, self.columns), other, dtype=values.dtype)
        whole[: values.shape[0], : values.shape[1]] = values
        return whole


def first(values, axis):
    """Return the first index of each largest element."""
    return (values == values.amax(axis, keepdim=True)).int().argmax(axis).int()


def module_of(text):
    """Import a module; Triton reads its text from a file."""
    path = Path(tempfile.mkdtemp(), "kernel.py")
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Operations: each adds a tile that depends on a given one, or nothing if it cannot.


def combine(kernel, a):
    b = kernel.like(a).name
    sign = kernel.random.choice(["+", "*", "max", "min", *(["-"] if b != a.name else [])])  # a - a is 0 or NaN
    if sign in "+-*":
        kernel.add(a.shape, f"{a.name} {sign} {b}", f"{a.name} {sign} {b}", real=a.real)
    else:
        kernel.add(a.shape, f"tl.{sign}imum({a.name}, {b})", f"torch.{sign}imum({a.name}, {b})", real=a.real)


def apply(kernel, a):
    n = a.name
    if not a.real:
        kernel.add(a.shape, f"{n}.to(tl.float32) * 0.25", f"{n}.float() * 0.25", real=True)
        return
    texts = [
        (f"tl.abs({n})", f"{n}.abs()"),
        (f"tl.sin({n})", f"{n}.sin()"),
        (f"tl.sqrt(tl.abs({n}))", f"{n}.abs().sqrt()"),
        (f"tl.exp2(-tl.abs({n}))", f"torch.exp2(-{n}.abs())"),
        (f"{n}.to(tl.float16).to(tl.float32)", f"{n}.half().float()"),
        (f"{n}.to(tl.bfloat16).to(tl.float32)", f"{n}.bfloat16().float()"),
    ]
    kernel.add(a.shape, *kernel.random.choice(texts), real=True)


def select(kernel, a):
    b, by = kernel.like(a).name, kernel.random.choice([each for each in kernel.tiles if each.shape == a.shape])
    condition = f"{by.name} > {kernel.random.choice([0.5, 0.0]) if by.real else kernel.random.choice([0, 1])}"
    kernel.add(
        a.shape, f"tl.where({condition}, {a.name}, {b})", f"torch.where({condition}, {a.name}, {b})", real=a.real
    )


def reduce(kernel, a):
    axis = kernel.random.randrange(len(a.shape))
    shape = a.shape[:axis] + a.shape[axis + 1 :]
    if not shape:
        return
    n = a.name
    whole = "" if a.real else ".int()"
    texts = [
        (f"tl.sum({n}, axis={axis})", f"{n}.sum({axis}){whole}"),
        (f"tl.max({n}, axis={axis})", f"{n}.amax({axis})"),
        (f"tl.min({n}, axis={axis})", f"{n}.amin({axis})"),
    ]
    kernel.add(shape, *kernel.random.choice(texts), real=a.real)


def locate(kernel, a):
    axis = kernel.random.randrange(len(a.shape))
    shape, name = a.shape[:axis] + a.shape[axis + 1 :], kernel.random.choice(["max", "min"])
    if shape:
        sign = "" if name == "max" else "-"
        kernel.add(shape, f"tl.arg{name}({a.name}, axis={axis})", f"first({sign}{a.name}, {axis})", real=False)


def spread(kernel, a):
    axis, length = kernel.random.randint(0, len(a.shape)), kernel.random.choice([2, 4, 16, kernel.rows, kernel.columns])
    shape = (*a.shape[:axis], length, *a.shape[axis:])
    if torch.Size(shape).numel() <= ELEMENTS and len(shape) <= 3:
        kernel.add(
            shape,
            f"tl.broadcast_to(tl.expand_dims({a.name}, {axis}), {shape})",
            f"{a.name}.unsqueeze({axis}).expand({shape})",
            real=a.real,
        )


def scan(kernel, a):
    axis, n = kernel.random.randrange(len(a.shape)), a.name
    whole = "" if a.real else ".int()"
    texts = [
        (f"tl.cumsum({n}, axis={axis})", f"{n}.cumsum({axis}){whole}"),
        (f"tl.cumsum({n}, axis={axis}, reverse=True)", f"{n}.flip({axis}).cumsum({axis}).flip({axis}){whole}"),
    ]
    kernel.add(a.shape, *kernel.random.choice(texts), real=a.real)


def recur(kernel, a):
    """Add a linear recurrence x[i] = c[i] * x[i - 1] + a[i], by a scan of pairs."""
    if not a.real:
        return
    axis, n = kernel.random.randrange(len(a.shape)), a.name
    kernel.add(a.shape, f"0.5 + 0.25 * tl.sin({n})", f"0.5 + 0.25 * {n}.sin()", real=True)
    c = kernel.tiles[-1].name
    pair = f"tl.associative_scan(({c}, {n}), {axis}, mul_add)[1]"
    steps = f"last := ({c}.select({axis}, i) * last if i else 0) + {n}.select({axis}, i)"
    kernel.add(a.shape, pair, f"torch.stack([({steps}) for i in range({a.shape[axis]})], {axis})", real=True)


def multiply(kernel, a):
    if len(a.shape) != 2 or not a.real or min(a.shape) < 16:
        return
    b = kernel.like(a).name
    kernel.add(
        (a.shape[0], a.shape[0]),
        f"tl.dot(tl.sin({a.name}).to(tl.float16), tl.trans(tl.sin({b})).to(tl.float16))",
        f"{a.name}.sin().half().float() @ {b}.sin().half().float().T",
        real=True,
    )


def permute(kernel, a):
    order = list(range(len(a.shape)))
    kernel.random.shuffle(order)
    shape = [a.shape[each] for each in order]
    kernel.add(shape, f"tl.permute({a.name}, {order})", f"{a.name}.permute({order})", real=a.real)


def reshape(kernel, a):
    count = torch.Size(a.shape).numel()
    first_length = kernel.random.choice([1 << bit for bit in range(count.bit_length())])
    shape = (first_length, count // first_length) if kernel.random.random() < 0.8 else (count,)
    kernel.add(shape, f"tl.reshape({a.name}, {shape})", f"{a.name}.reshape({shape})", real=a.real)


def join(kernel, a):
    if 2 * torch.Size(a.shape).numel() <= ELEMENTS and len(a.shape) <= 2:
        b = kernel.like(a).name
        kernel.add((*a.shape, 2), f"tl.join({a.name}, {b})", f"torch.stack([{a.name}, {b}], -1)", real=a.real)


def split(kernel, a):
    if a.shape[-1] == 2 and len(a.shape) > 1:
        part = kernel.random.randint(0, 1)
        kernel.add(a.shape[:-1], f"tl.split({a.name})[{part}]", f"{a.name}[..., {part}]", real=a.real)


def sort(kernel, a):
    if 1 < a.shape[-1] <= 64:
        down = kernel.random.random() < 0.5
        kernel.add(
            a.shape,
            f"tl.sort({a.name}, descending={down})",
            f"{a.name}.sort(dim=-1, descending={down}).values",
            real=a.real,
        )


def flip(kernel, a):
    last = len(a.shape) - 1
    if a.shape[last] > 1:
        kernel.add(a.shape, f"tl.flip({a.name}, {last})", f"{a.name}.flip({last})", real=a.real)


def soften(kernel, a):
    if a.real and len(a.shape) == 2:
        exponential = kernel.add(
            a.shape,
            f"tl.exp({a.name} - tl.expand_dims(tl.max({a.name}, axis=1), 1))",
            f"({a.name} - {a.name}.amax(1, keepdim=True)).exp()",
            real=True,
        ).name
        kernel.add(
            a.shape,
            f"{exponential} / tl.expand_dims(tl.sum({exponential}, axis=1), 1)",
            f"{exponential} / {exponential}.sum(1, keepdim=True)",
            real=True,
        )


def gather(kernel, a):
    axis = kernel.random.randrange(len(a.shape))
    by = [each for each in kernel.tiles if each.shape == a.shape and not each.real]
    if by:
        index, length = kernel.random.choice(by).name, a.shape[axis]
        kernel.add(
            a.shape,
            f"tl.gather({a.name}, {index} & {length - 1}, {axis})",
            f"{a.name}.gather({axis}, ({index} & {length - 1}).long())",
            real=a.real,
        )


OPERATIONS = (
    *(combine, combine, apply, select, reduce, reduce, reduce, locate, locate, spread, spread, scan, recur, multiply),
    *(permute, reshape, join, split, sort, flip, soften, gather),
)


def check(first_seed, last_seed):
    for seed in range(first_seed, last_seed):
        try:
            Kernel(seed).compute()
        except AssertionError as error:
            raise AssertionError(f"kernel {seed}: {error}") from None


if __name__ == "__main__":
    for size in [(FIRST, FIRST + COUNT)] if COUNT else SIZES:
        check(*size)
