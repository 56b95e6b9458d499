"""Dynamic scheduling: programs take rows from a shared counter, and the last one to end sums the results."""

import torch
import triton
import triton.language as tl

SIZES = [(5, 27), (8, 128), (13, 100)]
PROGRAMS = 3


@triton.jit
def queue_kernel(x, norms, total, counters, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.atomic_add(counters, 1)
    while row < rows:
        values = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
        tl.store(norms + row, tl.sum(values * values, 0))
        row = tl.atomic_add(counters, 1)
    tl.debug_barrier()
    ended = tl.atomic_add(counters + 1, 1)
    if ended == tl.num_programs(0) - 1:
        each = tl.arange(0, ROWS)
        parts = tl.load(norms + each, mask=each < rows, other=0.0)
        tl.store(total, tl.sum(parts, 0))


def check(rows, columns):
    x = torch.randn(rows, columns, device="cuda")
    norms, total = torch.empty(rows, device="cuda"), torch.empty(1, device="cuda")
    counters = torch.zeros(2, dtype=torch.int32, device="cuda")
    queue_kernel[(PROGRAMS,)](x, norms, total, counters, rows, columns, ROWS=16, BLOCK=128)
    torch.testing.assert_close(norms, (x * x).sum(1))
    torch.testing.assert_close(total[0], (x * x).sum())


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
