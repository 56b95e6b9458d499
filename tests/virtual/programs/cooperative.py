"""Normalization of a vector by its maximum in one cooperative launch, with a barrier of the whole grid."""

import torch
import triton
import triton.language as tl

SIZES = [(50,), (256,), (1001,)]
BLOCK = 256


@triton.jit
def normalize_kernel(x, out, parts, arrived, n, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(parts + tl.program_id(0), tl.max(tl.abs(values), 0))
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="release")
    while tl.atomic_add(arrived, 0, sem="acquire") < tl.num_programs(0):
        pass
    each = tl.arange(0, PROGRAMS)
    largest = tl.max(tl.load(parts + each, mask=each < tl.num_programs(0), other=0.0), 0)
    tl.store(out + at, values / largest, mask=at < n)


def check(n):
    x = torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    programs = triton.cdiv(n, BLOCK)
    parts = torch.empty(programs, device="cuda")
    arrived = torch.zeros(1, dtype=torch.int32, device="cuda")
    grid = (programs,)
    normalize_kernel[grid](x, out, parts, arrived, n, BLOCK=BLOCK, PROGRAMS=8, launch_cooperative_grid=True)
    torch.testing.assert_close(out, x / x.abs().max())


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
