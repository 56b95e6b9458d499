"""`Operator`, a row in a library's table of operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    Results = Tensor | tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of a library; `inputs` makes its arguments for a size, `reference` gets them as float64.

    `tolerance` is relative to the largest magnitude of the reference.
    """

    name: str
    inputs: Callable[..., dict[str, Tensor]]
    call: Callable[..., Results]
    reference: Callable[..., Results]
    sizes: tuple[tuple[int, ...], ...]
    tolerance: float = 1e-5
