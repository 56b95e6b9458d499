"""Grouped GEMMs on Hopper, compared with torch's grouped GEMM."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from benchmarks.kernels.case import HOPPER, Case, built, late
from benchmarks.kernels.cases.hopper_gemm import TOLERANCE

if TYPE_CHECKING:
    from torch import Generator, Tensor

KERNEL = "examples.hopper.grouped_gemm"


@dataclass(frozen=True, slots=True)
class Groups:
    """Function that draws X, W and the ends of groups with these numbers of rows; each group has a K x N matrix."""

    rows: tuple[int, ...]
    k: int
    n: int

    def __call__(self, generator: Generator) -> tuple[Tensor, ...]:
        """Draw X and W from N(0, 1); return them with the ends of the groups."""
        import torch

        device, shapes = generator.device, ((sum(self.rows), self.k), (len(self.rows), self.k, self.n))
        x, w = (torch.randn(shape, generator=generator, device=device).to(torch.bfloat16) for shape in shapes)
        return x, w, torch.tensor(self.rows, device=device).cumsum(0).to(torch.int32)


def reference(x: Tensor, w: Tensor, ends: Tensor) -> Tensor:
    """Return Y in float64, group by group."""
    import torch

    limits = [0, *map(int, ends)]
    parts = [x[a:b].double() @ w[g].double() for g, (a, b) in enumerate(pairwise(limits))]
    return torch.cat(parts)


def grouped_mm(x: Tensor, w: Tensor, ends: Tensor) -> Any:  # noqa: ANN401 - a private function of torch's
    """Multiply with torch's grouped GEMM."""
    return late("torch:_grouped_mm")(x, w, offs=ends)


def case(name: str, kernel: Any, groups: Groups, goal_us: float | None = None) -> Case:  # noqa: ANN401 - late, or built
    """Return the case of a grouped GEMM for groups with these numbers of rows."""
    rows, count = sum(groups.rows), len(groups.rows)
    return Case(
        name=name,
        kernel=kernel,
        make=groups,
        baselines={"torch": grouped_mm},
        reference=reference,
        tolerance=TOLERANCE,
        bytes=2 * (rows * groups.k + count * groups.k * groups.n + rows * groups.n),
        flops=2 * rows * groups.k * groups.n,
        goal_us=goal_us,
        small=Groups((5, 0, 130), 72, 80),
        capability=HOPPER,
    )


# Row counts of sixteen experts: as uneven as a router's, and not multiples of a tile size.
UNEVEN = (1900, 310, 77, 2048, 1, 640, 1333, 0, 905, 1511, 420, 2600, 128, 1777, 999, 1736)
CASES = (
    case("grouped 16 uneven groups, 4096 x 4096", late(f"{KERNEL}:grouped_gemm"), Groups(UNEVEN, 4096, 4096)),
    case("grouped 8 x 2048, 2048 x 2048", late(f"{KERNEL}:grouped_gemm"), Groups((2048,) * 8, 2048, 2048)),
    case(
        "grouped 8 x 2048, 2048 x 64",
        built(f"{KERNEL}:build_grouped_gemm", block_n=64, stages=8),
        Groups((2048,) * 8, 2048, 64),
        goal_us=21.0,
    ),
)
