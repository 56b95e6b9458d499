"""What one row of the benchmarks says: a kernel, its inputs, what it is measured against, and what is right.

Modules of rows import without torch and without the kernels: whatever runs is named by `late`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Generator, Tensor

    Inputs = tuple[Tensor | int | float, ...]


@dataclass(frozen=True, slots=True)
class Late:
    """A function that is imported when it is first called."""

    where: str

    def target(self) -> Callable[..., Any]:
        """Import the function; ImportError or AttributeError where there is none of that name."""
        module, _, name = self.where.partition(":")
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        function: Callable[..., Any] = found
        return function

    def __call__(self, *arguments: object, **options: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the function."""
        return self.target()(*arguments, **options)


def late(where: str) -> Late:
    """Name a function, `"torch:matmul"` or `"examples.hopper.rms_norm:rms_norm"`, to be imported when it is called."""
    return Late(where)


@dataclass(frozen=True, slots=True)
class Built:
    """A kernel that a function of an example builds with these sizes, when it is first called."""

    where: str
    sizes: tuple[tuple[str, int | str], ...]

    def __call__(self, *inputs: object) -> Any:  # noqa: ANN401 - whatever the kernel returns
        """Run it; the example keeps what it has built."""
        return late(self.where)(**dict(self.sizes))(*inputs)


def built(where: str, **sizes: int | str) -> Built:
    """Name the kernel that the function at `where` builds with these sizes, when it is first called."""
    return Built(where, tuple(sizes.items()))


@dataclass(slots=True)
class Compiled:
    """A function that torch compiles when it is first called."""

    function: Callable[..., Any]
    options: dict[str, Any]
    _made: Any = field(default=None, init=False)

    def __call__(self, *arguments: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the compiled function."""
        if self._made is None:
            import torch

            framework: Any = torch
            function = self.function.target() if isinstance(self.function, Late) else self.function
            self._made = framework.compile(function, fullgraph=True, **self.options)
        return self._made(*arguments)


def compiled(function: Callable[..., Any], **options: Any) -> Compiled:  # noqa: ANN401 - torch.compile's own options
    """Return a rival that is `torch.compile(function, fullgraph=True, **options)`."""
    return Compiled(function, options)


@dataclass(frozen=True, slots=True)
class Normal:
    """A maker of tensors drawn from N(0, scale), of one dtype (torch's name of it), on the generator's device."""

    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    scale: float = 1.0

    def __call__(self, generator: Generator) -> Inputs:
        """Draw them."""
        import torch

        dtype, device = getattr(torch, self.dtype), generator.device
        drawn = (torch.randn(shape, generator=generator, device=device) for shape in self.shapes)
        return tuple((each * self.scale).to(dtype) for each in drawn)


def normal(*shapes: tuple[int, ...], dtype: str, scale: float = 1.0) -> Normal:
    """Return a maker of tensors of these shapes: `normal((M, K), (K, N), dtype="bfloat16")`."""
    return Normal(shapes, dtype, scale)


# Compute capabilities, of GPUs for which kernels are made.
HOPPER, BLACKWELL = (9, 0), (10, 0)


@dataclass(frozen=True, slots=True)
class Case:
    """One row: a kernel at one size.

    `make` draws the inputs on the generator's device; kernel, rivals and reference are called with them and return a
    tensor or a tuple of tensors. They allocate what they return, and wait for nothing, so that they can be captured in
    a CUDA graph. The kernel's result is compared with the reference's (computed in float64, or float32 where float64
    is too large for the device): `tolerance` bounds the largest difference over the largest magnitude, output by
    output. Rivals are held to it too, and may leave out the last of several outputs.

    `bytes` is the least that must cross the memory bus, read and written; `flops` counts a multiply-add as two.
    `goal_us` is the time of FACTS.md, None where it names none; `small` draws inputs small enough for the simulator,
    where the tests compare kernel and reference too. `capability` is that of the only GPUs that the kernel runs on,
    HOPPER for sm_90a: others leave the row out.
    """

    name: str
    kernel: Callable[..., Any]
    make: Callable[[Generator], Inputs]
    rivals: Mapping[str, Callable[..., Any]]
    reference: Callable[..., Any]
    tolerance: float
    bytes: int
    flops: int
    goal_us: float | None = None
    small: Callable[[Generator], Inputs] | None = None
    capability: tuple[int, int] | None = None


def matmul_bytes(m: int, n: int, k: int, element: int, result: int) -> int:
    """Return the bytes of a product's two factors and its result, with these bytes to an element."""
    return (prod((m, k)) + prod((k, n))) * element + m * n * result
