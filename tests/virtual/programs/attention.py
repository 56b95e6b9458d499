"""Fused causal attention, forward and backward."""

import torch
import triton
import triton.language as tl

SIZES = [(1, 19, 16), (2, 64, 32), (1, 100, 32)]
BLOCK = 32


@triton.jit
def forward_kernel(q, k, v, out, logs, N, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    base = tl.program_id(1) * N * D
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    queries = tl.load(q + base + m[:, None] * D + d[None, :], mask=m[:, None] < N, other=0.0)
    largest = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    sums = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK, BLOCK):
        n = start + tl.arange(0, BLOCK)
        keys = tl.load(k + base + n[None, :] * D + d[:, None], mask=n[None, :] < N, other=0.0)
        values = tl.load(v + base + n[:, None] * D + d[None, :], mask=n[:, None] < N, other=0.0)
        scores = tl.where(m[:, None] >= n[None, :], tl.dot(queries, keys) * scale, -float("inf"))
        new = tl.maximum(largest, tl.max(scores, 1))
        powers = tl.exp(scores - new[:, None])
        shrink = tl.exp(largest - new)
        total = total * shrink + tl.sum(powers, 1)
        sums = sums * shrink[:, None] + tl.dot(powers.to(tl.float16), values)
        largest = new
    tl.store(out + base + m[:, None] * D + d[None, :], (sums / total[:, None]).to(tl.float16), mask=m[:, None] < N)
    tl.store(logs + tl.program_id(1) * N + m, largest + tl.log(total), mask=m < N)


@triton.jit
def backward_kernel(q, k, v, dout, logs, delta, dq, dk, dv, N, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    base = tl.program_id(1) * N * D
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    keys = tl.load(k + base + n[:, None] * D + d[None, :], mask=n[:, None] < N, other=0.0)
    values = tl.load(v + base + n[:, None] * D + d[None, :], mask=n[:, None] < N, other=0.0)
    sum_k = tl.zeros((BLOCK, D), tl.float32)
    sum_v = tl.zeros((BLOCK, D), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, N, BLOCK):
        m = start + tl.arange(0, BLOCK)
        rows = m[:, None] * D + d[None, :]
        queries = tl.load(q + base + rows, mask=m[:, None] < N, other=0.0)
        gradient = tl.load(dout + base + rows, mask=m[:, None] < N, other=0.0)
        log = tl.load(logs + tl.program_id(1) * N + m, mask=m < N, other=0.0)
        away = tl.load(delta + tl.program_id(1) * N + m, mask=m < N, other=0.0)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        powers = tl.where((m[:, None] >= n[None, :]) & (m[:, None] < N), tl.exp(scores - log[:, None]), 0.0)
        sum_v += tl.dot(tl.trans(powers.to(tl.float16)), gradient)
        change = powers * (tl.dot(gradient, tl.trans(values)) - away[:, None]) * scale
        sum_k += tl.dot(tl.trans(change.to(tl.float16)), queries)
        tl.atomic_add(dq + base + rows, tl.dot(change.to(tl.float16), keys), mask=m[:, None] < N, sem="relaxed")
    at = base + n[:, None] * D + d[None, :]
    tl.store(dk + at, sum_k, mask=n[:, None] < N)
    tl.store(dv + at, sum_v, mask=n[:, None] < N)


def check(H, N, D):
    q, k, v, dout = (torch.randn(H, N, D, device="cuda", dtype=torch.float16) for _ in range(4))
    out, logs = torch.empty_like(q), torch.empty(H, N, device="cuda")
    grid = (triton.cdiv(N, BLOCK), H)
    forward_kernel[grid](q, k, v, out, logs, N, D**-0.5, D=D, BLOCK=BLOCK)
    exact = [each.float().requires_grad_() for each in (q, k, v)]
    want = torch.nn.functional.scaled_dot_product_attention(*(each[None] for each in exact), is_causal=True)[0]
    torch.testing.assert_close(out.float(), want, atol=1e-2, rtol=1e-2)
    dq = torch.zeros(H, N, D, device="cuda")
    dk, dv = torch.empty_like(dq), torch.empty_like(dq)
    delta = (out.float() * dout.float()).sum(2)
    backward_kernel[grid](q, k, v, dout, logs, delta, dq, dk, dv, N, D**-0.5, D=D, BLOCK=BLOCK)
    for mine, theirs in zip((dq, dk, dv), torch.autograd.grad(want, exact, dout.float()), strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-2, rtol=2e-2)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
