"""`Operator`: a row in a package's table of operators; a table is a pytest file, which `pytest --pyptx` runs.

@cases(OPERATORS)
def test_operator(operator, size): operator.check(size)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch import Tensor

    Results = Tensor | tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of a package; `inputs` makes its arguments for a size, on the CPU.

    `call` gets them on the virtual GPU, `reference` on the CPU, by default as float64. `tolerance` is relative to the
    largest magnitude of each expected tensor. `gradients` names the inputs whose gradients are compared, too, for
    random gradients of the floating-point results.
    """

    name: str
    inputs: Callable[..., dict[str, Tensor]]
    call: Callable[..., Results]
    reference: Callable[..., Results]
    sizes: tuple[tuple[int, ...], ...]
    tolerance: float = 1e-5
    gradients: str = ""
    double: bool = True

    def check(self, size: Sequence[int]) -> None:
        """Compare results and gradients with those of the reference; raise AssertionError if they differ."""
        torch.manual_seed(18)
        made = self.inputs(*size)
        given = {name: tensor.cuda().requires_grad_(name in self.gradients.split()) for name, tensor in made.items()}
        wanted = {
            name: self._exact(tensor).requires_grad_(name in self.gradients.split()) for name, tensor in made.items()
        }
        have, want = _tensors(self.call(*given.values())), _tensors(self.reference(*wanted.values()))
        assert len(have) == len(want)
        for number, (got, expected) in enumerate(zip(have, want, strict=True)):
            self._compare(f"result {number}", got, expected)
        if self.gradients:
            self._check_gradients(given, wanted, have, want)

    def _check_gradients(
        self, given: dict[str, Tensor], wanted: dict[str, Tensor], have: list[Tensor], want: list[Tensor]
    ) -> None:
        both = [pair for pair in zip(have, want, strict=True) if pair[1].requires_grad]
        seeds = [torch.randn(expected.shape, dtype=torch.float32).to(got.dtype) for got, expected in both]
        torch.autograd.backward([got for got, _ in both], [seed.cuda() for seed in seeds])
        pulled = [seed.to(expected.dtype) for seed, (_, expected) in zip(seeds, both, strict=True)]
        torch.autograd.backward([expected for _, expected in both], pulled)
        for name in self.gradients.split():
            got, expected = given[name].grad, wanted[name].grad
            assert expected is not None, f"the reference has no gradient of {name}"
            assert got is not None, f"{name} has no gradient"
            self._compare(f"the gradient of {name}", got, expected)

    def _exact(self, tensor: Tensor) -> Tensor:
        return tensor.double() if self.double and tensor.is_floating_point() else tensor.clone()

    def _compare(self, what: str, got: Tensor, expected: Tensor) -> None:
        assert got.shape == expected.shape, f"{what} has shape {list(got.shape)}, not {list(expected.shape)}"
        away = distance(got.detach().cpu(), expected.detach())
        assert away <= self.tolerance, f"{what} has {away:.2g} relative error"


def cases(operators: Iterable[Operator]) -> Any:
    """Return the mark that runs a test for each operator and size."""
    rows = [(operator, size) for operator in operators for size in operator.sizes]
    names = [f"{operator.name}-{'x'.join(map(str, size))}" for operator, size in rows]
    return pytest.mark.parametrize(("operator", "size"), rows, ids=names)


def distance(got: Tensor, expected: Tensor) -> float:
    """Return the largest error relative to the largest expected magnitude; infinity if an element is not finite."""
    if not expected.numel():
        return 0.0
    away = float((got.double() - expected.double()).abs().max() / expected.double().abs().max().clamp_min(1e-30))
    return math.inf if math.isnan(away) else away


def _tensors(results: Results) -> list[Tensor]:
    return list(results) if isinstance(results, tuple) else [results]
