"""Random pipelined loops of one block: each iteration loads tiles, multiplies and adds them; torch computes the same.

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
SIZES = [(0, 4), (4, 8), (8, 12)]
TEXT = """
import triton
import triton.language as tl


@triton.jit
def kernel({parameters}, result, length):
    m = tl.arange(0, {M})
    n = tl.arange(0, {N})
    k = tl.arange(0, {K})
    total = tl.zeros(({M}, {N}), tl.float32)
    for start in range(0, length, {K}):
{body}    tl.store(result + m[:, None] * {N} + n[None, :], total)
"""


@dataclass(frozen=True)
class Input:
    """A matrix of `rows` x `columns` elements, of which an iteration loads a tile; `axis` has the loop's length."""

    rows: int
    columns: int
    axis: int


class Loop:
    """A kernel that sums products of tiles, M x K times K x N, of matrices with `length` columns or rows."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        choose = self.random.choice
        self.M, self.N, self.K = choose([16, 32, 64, 64, 128]), choose([16, 32, 64]), choose([16, 32, 64])
        self.length = self.K * choose([1, 2, 3, 5]) - choose([0, 0, 3, 7])
        self.warps, self.stages = choose([4, 4, 8]), choose([1, 2, 3, 3, 4])
        self.dtype = choose(["float16", "float16", "bfloat16", "float32"])
        self.inputs, self.lines, self.expected = {}, [], []
        for index in range(choose([1, 1, 2, 3])):
            self.product(index)
        if choose([True, False]):
            self.rescale()

    def load(self, name, rows, columns):
        """Load a tile of a new matrix; `rows` and `columns` are `m`, `n` or `k`."""
        size = {"m": self.M, "n": self.N, "k": self.length}
        self.inputs[name] = Input(size[rows], size[columns], 0 if rows == "k" else 1)
        row, column = (f"(start + {each})" if each == "k" else each for each in (rows, columns))
        row, column = f"{row}[:, None]", f"{column}[None, :]"
        masked = self.length % self.K or self.random.random() < 0.5
        mask = f", mask={row if rows == 'k' else column} < length, other=0.0" if masked else ""
        stride = "length" if columns == "k" else size[columns]
        self.lines.append(f"{name} = tl.load(in_{name} + {row} * {stride} + {column}{mask})")

    def product(self, index):
        """Multiply two tiles: the left one may be transposed or computed, the right one an earlier one."""
        choose, a, b = self.random.choice, f"a{index}", f"b{index}"
        transposed = choose([True, False])
        self.load(a, "k", "m") if transposed else self.load(a, "m", "k")
        left = f"tl.trans({a})" if transposed else a
        self.expected.append(f"left = {a}.T" if transposed else f"left = {a}")
        if choose([True, False]):  # the left operand of wgmma may stay in registers
            left = f"({left}.to(tl.float32) * 0.5 + 0.25).to({a}.dtype)"
            self.expected.append("left = (left.float() * 0.5 + 0.25).to(left.dtype)")
        if index and choose([True, False, False]):
            b = "b0"
        else:
            self.load(b, "k", "n")
        if choose([True, False, False]):
            self.lines.append(f"{b} = ({b} + {b}).to({b}.dtype)")
            self.expected.append(f"{b} = {b} + {b}")
        precision = ', input_precision="tf32"' if self.dtype == "float32" else ""
        self.lines.append(f"total = tl.dot({left}, {b}, total{precision})")
        self.expected.append(f"total = total + left.float() @ {b}.float()")
        if choose([True, False, False]):
            self.lines.append(f"total += tl.sum({b}.to(tl.float32), axis=0)[None, :]")
            self.expected.append(f"total = total + {b}.float().sum(0)")

    def rescale(self):
        """Multiply the sum by a factor that depends on a row of the iteration."""
        self.inputs["row"] = Input(1, self.length, 1)
        self.lines.insert(0, "row = tl.load(in_row + start + k, mask=start + k < length, other=0.0).to(tl.float32)")
        self.lines.append("total = total * (1.0 / (1.0 + tl.sum(row * row, axis=0)))")
        self.expected.append("total = total / (1 + (row.float() ** 2).sum())")

    @property
    def text(self):
        """The module with the kernel."""
        parameters = ", ".join(f"in_{name}" for name in self.inputs)
        body = "".join(f"        {each}\n" for each in self.lines)
        return TEXT.format(parameters=parameters, M=self.M, N=self.N, K=self.K, body=body)

    def compute(self):
        """Run the kernel, and compare its sum with torch's."""
        generator = torch.Generator().manual_seed(self.random.randrange(1 << 30))
        dtype = getattr(torch, self.dtype)
        given = {
            name: torch.randn((each.rows, each.columns), generator=generator).to(dtype)
            for name, each in self.inputs.items()
        }
        result = torch.empty(self.M, self.N, device="cuda")
        module_of(self.text).kernel[(1,)](
            *(each.cuda() for each in given.values()), result, self.length, num_warps=self.warps, num_stages=self.stages
        )
        names = {"total": torch.zeros(self.M, self.N)}
        for start in range(0, self.length, self.K):
            names |= {name: self.tile(values, self.inputs[name].axis, start) for name, values in given.items()}
            for each in self.expected:
                exec(each, names)  # noqa: S102 - a statement of this file
        expected = names["total"]
        torch.testing.assert_close(result.cpu(), expected, rtol=3e-2, atol=3e-2 * float(expected.abs().max()))

    def tile(self, values, axis, start):
        """Return an iteration's tile of a matrix, with zeros beyond its end."""
        part = values.narrow(axis, start, min(self.K, self.length - start))
        beyond = list(part.shape)
        beyond[axis] = self.K - part.shape[axis]
        return torch.cat([part, torch.zeros(beyond, dtype=part.dtype)], axis)


def module_of(text):
    """Import a module; Triton reads its text from a file."""
    path = Path(tempfile.mkdtemp(), "kernel.py")
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(first_seed, last_seed):
    for seed in range(first_seed, last_seed):
        try:
            Loop(seed).compute()
        except AssertionError as error:
            raise AssertionError(f"kernel {seed}: {error}") from None


if __name__ == "__main__":
    for size in [(FIRST, FIRST + COUNT)] if COUNT else SIZES:
        check(*size)
