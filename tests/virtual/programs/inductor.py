"""Functions that torch.compile's Inductor fuses into Triton kernels: forward, backward, a reduction, in three modes."""

import torch

SIZES = [(3, 37), (8, 128), (5, 301)]


def fused(x, weight, bias):
    scaled = torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias)
    return torch.nn.functional.gelu(scaled, approximate="tanh").softmax(-1)


def check(compiled, rows, columns):
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(shape, device="cuda") for shape in ((rows, columns), (columns,), (columns,)))
    given = [each.requires_grad_() for each in (x, weight, bias)]
    wanted = [each.detach().cpu().requires_grad_() for each in given]
    seed = torch.randn(rows, columns)
    torch.compiler.cudagraph_mark_step_begin()
    compiled(*given).backward(seed.cuda())
    plain = torch.nn.functional.layer_norm(wanted[0], (columns,), wanted[1], wanted[2])
    torch.nn.functional.gelu(plain, approximate="tanh").softmax(-1).backward(seed)
    for got, expected in zip(given, wanted, strict=True):
        torch.testing.assert_close(got.grad.cpu(), expected.grad, atol=1e-4, rtol=1e-3)


if __name__ == "__main__":
    for size in SIZES:
        check(torch.compile(fused, fullgraph=True), *size)
    for mode in ("reduce-overhead", "max-autotune"):
        torch.compiler.reset()
        compiled = torch.compile(fused, mode=mode)
        for _ in range(2):
            check(compiled, *SIZES[0])
