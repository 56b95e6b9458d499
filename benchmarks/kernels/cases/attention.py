"""Flash attention and its gradients, compared with torch's backends: FlashAttention and cuDNN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.kernels.case import HOPPER, Case, late, normal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

FORWARD = late("examples.hopper.flash_attention:flash_attention")
KERNELS = late("examples.hopper.flash_attention_backward:ATTENTION.get")
# Error bounds: results and MMA operands are rounded to bf16's 8 significant bits.
TOLERANCE = 2.0**-7
GRADIENT_TOLERANCE = 2.0**-6
BACKENDS = {"FlashAttention": "FLASH_ATTENTION", "cuDNN": "CUDNN_ATTENTION"}


@dataclass(frozen=True, slots=True)
class Attend:
    """Attention function of Q, K and V, [B, S, H, D]: `forward`, or torch's function if a backend is given."""

    causal: bool
    backend: str | None = None
    forward: Callable[..., Any] = FORWARD

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        """Return O; our kernel also returns LSE."""
        if self.backend is None:
            result: tuple[Tensor, ...] = self.forward(q, k, v, causal=self.causal)
            return result
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.functional import scaled_dot_product_attention

        with sdpa_kernel(getattr(SDPBackend, self.backend)):
            queries, keys, values = (each.transpose(1, 2) for each in (q, k, v))
            grouped = q.shape[2] != k.shape[2]
            out = scaled_dot_product_attention(queries, keys, values, is_causal=self.causal, enable_gqa=grouped)
            return (out.transpose(1, 2),)


@dataclass(frozen=True, slots=True)
class Differentiate:
    """Forward and backward pass, with torch's autograd; `kernels` returns our gradient kernels for a head dimension."""

    attend: Attend
    kernels: Callable[[int], Any] = KERNELS

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, gradient: Tensor) -> tuple[Tensor, ...]:
        """Run both passes and return dQ, dK and dV."""
        import torch

        leaves = [each.detach().requires_grad_() for each in (q, k, v)]
        attend: Callable[..., Any] = self.attend
        keywords = {}
        if self.attend.backend is None:
            attend, keywords = self.kernels(q.shape[3]), {"causal": self.attend.causal}
        return torch.autograd.grad(attend(*leaves, **keywords)[0], leaves, gradient)


def scores_of(q: Tensor, k: Tensor, *, causal: bool) -> Tensor:
    """Return the scores of one batch element in float64, [H, queries, keys]."""
    import torch

    scores: torch.Tensor = torch.einsum("qhd,khd->hqk", q.double(), k.double()) * q.shape[2] ** -0.5
    if causal:
        queries, keys = scores.shape[1:]
        seen = torch.ones(queries, keys, dtype=torch.bool, device=q.device).tril(keys - queries)
        scores = scores.masked_fill(~seen, -torch.inf)
    return scores


@dataclass(frozen=True, slots=True)
class Exact:
    """Attention in float64, one batch element at a time."""

    causal: bool

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        """Return O and LSE in float64."""
        import torch

        shared, found = q.shape[2] // k.shape[2], list[tuple[torch.Tensor, torch.Tensor]]()
        for one, key, value in zip(q, *(each.repeat_interleave(shared, 2) for each in (k, v)), strict=True):
            scores = scores_of(one, key, causal=self.causal)
            out = torch.einsum("hqk,khd->qhd", scores.softmax(2), value.double())
            found.append((out, scores.logsumexp(2)))
        return tuple(torch.stack(each) for each in zip(*found, strict=True))


@dataclass(frozen=True, slots=True)
class ExactGradients:
    """Gradients of attention in float64, one batch element at a time."""

    causal: bool

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, gradient: Tensor) -> tuple[Tensor, ...]:
        """Return dQ, dK and dV in float64."""
        import torch

        found = list[tuple[torch.Tensor, ...]]()
        for at in range(q.shape[0]):
            leaves = [each[at : at + 1].double().requires_grad_() for each in (q, k, v)]
            out = Exact(self.causal)(*leaves)[0]
            found.append(torch.autograd.grad(out, leaves, gradient[at : at + 1].double()))
        return tuple(torch.cat(each) for each in zip(*found, strict=True))


def sizes(shape: Sequence[int], heads_of_keys: int, inputs: int) -> list[tuple[int, ...]]:
    """Return the shapes of the first `inputs` arrays of Q, K, V and dO."""
    batch, length, heads, head_dim = shape
    own: tuple[int, ...] = (batch, length, heads, head_dim)
    other: tuple[int, ...] = (batch, length, heads_of_keys, head_dim)
    return [own, other, other, own][:inputs]


def attention(
    shape: tuple[int, int, int, int],
    goal_us: float | None,
    *,
    causal: bool,
    heads_of_keys: int | None = None,
    small: tuple[int, int] = (70, 2),
) -> Case:
    """Return the case of the forward pass for [B, S, H, D]; `small` has S and H of the dry run's inputs."""
    batch, length, heads, head_dim = shape
    shared = heads if heads_of_keys is None else heads_of_keys
    elements = 2 * batch * length * (heads + shared) * head_dim
    return Case(
        name=name_of("attention", shape, shared, causal=causal),
        kernel=Attend(causal),
        make=normal(*sizes(shape, shared, 3), dtype="bfloat16"),
        baselines={name: Attend(causal, backend) for name, backend in BACKENDS.items()},
        reference=Exact(causal),
        tolerance=TOLERANCE,
        bytes=2 * elements + 4 * batch * heads * length,
        flops=4 * batch * heads * length * length * head_dim // (1 + causal),
        goal_us=goal_us,
        small=normal(*sizes((1, *small, head_dim), 1, 3), dtype="bfloat16"),
        capability=HOPPER,
    )


def training(shape: tuple[int, int, int, int], *, causal: bool) -> Case:
    """Return the case of forward and backward pass together; the backward pass has 2.5 times the forward flops."""
    batch, length, heads, head_dim = shape
    elements = batch * length * heads * head_dim
    return Case(
        name=name_of("attention and gradients", shape, heads, causal=causal),
        kernel=Differentiate(Attend(causal)),
        make=normal(*sizes(shape, heads, 4), dtype="bfloat16"),
        baselines={name: Differentiate(Attend(causal, backend)) for name, backend in BACKENDS.items()},
        reference=ExactGradients(causal),
        tolerance=GRADIENT_TOLERANCE,
        # Matrices moved: forward Q, K, V, O; backward reads Q, K, V, O, dO and writes dQ, dK, dV.
        bytes=2 * (4 + 5 + 3) * elements,
        flops=14 * batch * heads * length * length * head_dim // (1 + causal),
        small=normal(*sizes((1, 70, 2, head_dim), 1, 4), dtype="bfloat16"),
        capability=HOPPER,
    )


def name_of(what: str, shape: Sequence[int], heads_of_keys: int, *, causal: bool) -> str:
    """Return the name of a case: `attention B2 S4096 H16 D64 causal`."""
    batch, length, heads, head_dim = shape
    shared = "" if heads_of_keys == heads else f":{heads_of_keys}"
    return f"{what} B{batch} S{length} H{heads}{shared} D{head_dim}{' causal' * causal}"


CASES = (
    attention((2, 4096, 16, 64), 310, causal=False),
    attention((2, 4096, 16, 64), 180, causal=True),
    attention((2, 4096, 16, 128), 460, causal=False),
    attention((2, 4096, 16, 128), 260, causal=True),
    attention((1, 4096, 1, 64), 18, causal=False, small=(300, 1)),
    attention((1, 4096, 1, 64), None, causal=True, small=(300, 1)),
    attention((1, 4096, 1, 128), None, causal=False, small=(300, 1)),
    attention((2, 4096, 32, 128), None, causal=True, heads_of_keys=8),
    *(training((2, 4096, 16, head_dim), causal=causal) for head_dim in (64, 128) for causal in (False, True)),
)
