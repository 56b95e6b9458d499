"""Layer norm, forward and backward; the weights' gradients are partial sums under locks, reduced by a second kernel."""

import torch
import triton
import triton.language as tl

SIZES = [(5, 45), (8, 128), (9, 200)]
GROUPS = 2


@triton.jit
def forward_kernel(x, y, weight, bias, means, scales, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < N
    values = tl.load(x + row * N + at, mask=inside, other=0.0)
    mean = tl.sum(values, 0) / N
    centered = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centered * centered, 0) / N + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    w = tl.load(weight + at, mask=inside)
    b = tl.load(bias + at, mask=inside)
    tl.store(y + row * N + at, centered * scale * w + b, mask=inside)


@triton.jit
def backward_kernel(
    x, dx, dy, weight, means, scales, dweight, dbias, locks, N, GROUPS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < N
    values = tl.load(x + row * N + at, mask=inside, other=0.0)
    gradient = tl.load(dy + row * N + at, mask=inside, other=0.0)
    w = tl.load(weight + at, mask=inside, other=0.0)
    scale = tl.load(scales + row)
    normal = tl.where(inside, (values - tl.load(means + row)) * scale, 0.0)
    weighted = w * gradient
    along = tl.sum(normal * weighted, 0) / N
    tl.store(dx + row * N + at, (weighted - normal * along - tl.sum(weighted, 0) / N) * scale, mask=inside)
    group = row % GROUPS
    while tl.atomic_cas(locks + group, 0, 1) == 1:
        pass
    partial_w = tl.load(dweight + group * N + at, mask=inside)
    partial_b = tl.load(dbias + group * N + at, mask=inside)
    tl.store(dweight + group * N + at, partial_w + gradient * normal, mask=inside)
    tl.store(dbias + group * N + at, partial_b + gradient, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(locks + group, 0)


@triton.jit
def reduce_kernel(parts, out, N, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for group in range(GROUPS):
        total += tl.load(parts + group * N + at, mask=at < N, other=0.0)
    tl.store(out + at, total, mask=at < N)


class LayerNorm(torch.autograd.Function):
    """Layer norm of rows."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        (M, N), y = x.shape, torch.empty_like(x)
        means, scales = torch.empty(M, device=x.device), torch.empty(M, device=x.device)
        forward_kernel[(M,)](x, y, weight, bias, means, scales, N, eps, BLOCK=triton.next_power_of_2(N))
        ctx.save_for_backward(x, weight, means, scales)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, means, scales = ctx.saved_tensors
        (M, N), dx, BLOCK = x.shape, torch.empty_like(x), triton.next_power_of_2(x.shape[1])
        locks = torch.zeros(GROUPS, dtype=torch.int32, device=x.device)
        parts = torch.zeros(2, GROUPS, N, device=x.device)
        sums = torch.empty(2, N, device=x.device)
        backward_kernel[(M,)](
            x, dx, dy, weight, means, scales, parts[0], parts[1], locks, N, GROUPS=GROUPS, BLOCK=BLOCK
        )
        for part, total in zip(parts, sums, strict=True):
            reduce_kernel[(triton.cdiv(N, 128),)](part, total, N, GROUPS=GROUPS, BLOCK=128)
        return dx, sums[0], sums[1], None


def check(M, N):
    x = torch.randn(M, N, device="cuda", requires_grad=True)
    weight = torch.randn(N, device="cuda", requires_grad=True)
    bias = torch.randn(N, device="cuda", requires_grad=True)
    dy = torch.randn(M, N, device="cuda")
    given = (x, weight, bias)
    got = LayerNorm.apply(*given, 1e-5)
    want = torch.nn.functional.layer_norm(x, (N,), weight, bias, 1e-5)
    torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)
    for mine, theirs in zip(torch.autograd.grad(got, given, dy), torch.autograd.grad(want, given, dy), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-4)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
