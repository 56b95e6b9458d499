"""Rows of a table by their indices, and the gradient of the table by atomics."""

import torch
import triton
import triton.language as tl

SIZES = [(7, 5, 19), (16, 20, 64), (21, 9, 100)]


@triton.jit
def lookup_kernel(table, index, out, D, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(index + tl.program_id(0))
    values = tl.load(table + row * D + at, mask=at < D)
    tl.store(out + tl.program_id(0) * D + at, values, mask=at < D)


@triton.jit
def gradient_kernel(dtable, index, dout, D, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(index + tl.program_id(0))
    gradient = tl.load(dout + tl.program_id(0) * D + at, mask=at < D)
    tl.atomic_add(dtable + row * D + at, gradient, mask=at < D)


def check(tokens, words, D):
    table = torch.randn(words, D, device="cuda", requires_grad=True)
    index = torch.randint(0, words, (tokens,), device="cuda")
    out, dout = torch.empty(tokens, D, device="cuda"), torch.randn(tokens, D, device="cuda")
    BLOCK = triton.next_power_of_2(D)
    lookup_kernel[(tokens,)](table, index, out, D, BLOCK=BLOCK)
    torch.testing.assert_close(out, table[index])
    dtable = torch.zeros_like(table)
    gradient_kernel[(tokens,)](dtable, index, dout, D, BLOCK=BLOCK)
    torch.testing.assert_close(dtable, torch.autograd.grad(table[index], table, dout)[0])


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
