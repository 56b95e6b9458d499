"""A case of the kernel benchmarks: a kernel, its inputs, its baselines and its reference.

Modules of cases import neither torch nor the kernels: they name functions by `late`.
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
    """Function that `importlib` imports when it is first called."""

    where: str

    def target(self) -> Callable[..., Any]:
        """Import and return the function; raise ImportError or AttributeError if it does not exist."""
        module, _, name = self.where.partition(":")
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        function: Callable[..., Any] = found
        return function

    def __call__(self, *arguments: object, **options: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Import the function and call it."""
        return self.target()(*arguments, **options)


def late(where: str) -> Late:
    """Return a function, `"torch:matmul"` or `"examples.hopper.rms_norm:rms_norm"`, that is imported when called."""
    return Late(where)


@dataclass(frozen=True, slots=True)
class Built:
    """Kernel that a function of an example builds with these sizes, when it is first called."""

    where: str
    sizes: tuple[tuple[str, int | str], ...]

    def __call__(self, *inputs: object) -> Any:  # noqa: ANN401 - whatever the kernel returns
        """Build the kernel and call it; the example's function caches the kernel."""
        return late(self.where)(**dict(self.sizes))(*inputs)


def built(where: str, **sizes: int | str) -> Built:
    """Return the kernel that the function at `where` builds with these sizes, when it is first called."""
    return Built(where, tuple(sizes.items()))


@dataclass(slots=True)
class Compiled:
    """Function that torch compiles when it is first called."""

    function: Callable[..., Any]
    options: dict[str, Any]
    _made: Any = field(default=None, init=False)

    def __call__(self, *arguments: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Compile the function by torch.compile at the first call, and call it."""
        if self._made is None:
            import torch

            framework: Any = torch
            function = self.function.target() if isinstance(self.function, Late) else self.function
            self._made = framework.compile(function, fullgraph=True, **self.options)
        return self._made(*arguments)


def compiled(function: Callable[..., Any], **options: Any) -> Compiled:  # noqa: ANN401 - torch.compile's own options
    """Return the baseline `torch.compile(function, fullgraph=True, **options)`."""
    return Compiled(function, options)


@dataclass(frozen=True, slots=True)
class Normal:
    """Function that draws tensors from N(0, scale), of one torch dtype, on the generator's device."""

    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    scale: float = 1.0

    def __call__(self, generator: Generator) -> Inputs:
        """Draw and return one tensor per shape."""
        import torch

        dtype, device = getattr(torch, self.dtype), generator.device
        drawn = (torch.randn(shape, generator=generator, device=device) for shape in self.shapes)
        return tuple((each * self.scale).to(dtype) for each in drawn)


def normal(*shapes: tuple[int, ...], dtype: str, scale: float = 1.0) -> Normal:
    """Return a function that draws tensors of these shapes: `normal((M, K), (K, N), dtype="bfloat16")`."""
    return Normal(shapes, dtype, scale)


# Compute capabilities of the GPUs that the kernels target.
HOPPER, BLACKWELL = (9, 0), (10, 0)


@dataclass(frozen=True, slots=True)
class Case:
    """Benchmark case: a kernel at one size.

    `make` draws the inputs on the generator's device. Kernel, baselines and reference are called with the inputs, and
    return a tensor or a tuple of tensors. They allocate their results and do not synchronize, so that a CUDA graph can
    capture them. The kernel's result is compared with the reference's, in float64, or in float32 if float64 is too
    large for the device: `tolerance` bounds the largest difference over the largest magnitude, per output. It applies
    to baselines too, which may omit the last of several outputs.

    `bytes` is the minimum memory traffic, reads and writes; `flops` counts a multiply-add as two. `goal_us` is the time
    that the kernel should reach on an H200, None without a goal. `small` draws inputs small enough for the simulator,
    where the tests also compare kernel and reference. `capability` is that of the only GPUs that the kernel runs on,
    HOPPER for sm_90a; on other GPUs the case is left out.
    """

    name: str
    kernel: Callable[..., Any]
    make: Callable[[Generator], Inputs]
    baselines: Mapping[str, Callable[..., Any]]
    reference: Callable[..., Any]
    tolerance: float
    bytes: int
    flops: int
    goal_us: float | None = None
    small: Callable[[Generator], Inputs] | None = None
    capability: tuple[int, int] | None = None


def matmul_bytes(m: int, n: int, k: int, element: int, result: int) -> int:
    """Return the bytes of a GEMM's operands and result; `element` and `result` are the bytes of one element."""
    return (prod((m, k)) + prod((k, n))) * element + m * n * result
