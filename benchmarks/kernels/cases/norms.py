"""Norms, softmax and SwiGLU, compared with torch's own functions and torch.compile; a copy is the upper bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.kernels.case import HOPPER, Case, compiled, late, normal

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

EPS = 1e-6
BYTES = {"float32": 4, "bfloat16": 2}
TOLERANCE = {"float32": 2e-6, "bfloat16": 2**-8}  # bf16 results are rounded to 8 significant bits
TYPES = {"float32": "f32", "bfloat16": "bf16"}


@dataclass(frozen=True, slots=True)
class ForRows:
    """Kernel that `maker` returns for rows of `columns` elements of `dtype`, built when it is first called."""

    maker: Callable[..., Any]
    columns: int
    dtype: str

    def __call__(self, *tensors: Tensor) -> Any:  # noqa: ANN401 - a tensor, or a tuple of them
        """Build the kernel and call it; the example's function caches the kernel."""
        from pyptx import types

        return self.maker(self.columns, getattr(types, TYPES[self.dtype]))(*tensors)


def rms_norm(x: Tensor, w: Tensor) -> Tensor:
    """Call torch's RMS norm."""
    import torch

    return torch.nn.functional.rms_norm(x, w.shape, w, EPS)


def layer_norm(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    """Call torch's layer norm."""
    import torch

    return torch.nn.functional.layer_norm(x, w.shape, w, bias)


def softmax(x: Tensor) -> Tensor:
    """Call torch's softmax."""
    return x.softmax(1)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """Compute SwiGLU with torch: two kernels."""
    import torch

    return torch.nn.functional.silu(gate) * up


def rms_norm_gradients(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the gradients of x and w with torch, in float64 for tensors of float64, else in float32."""
    import torch

    wide = torch.promote_types(x.dtype, torch.float32)
    a, weight, g = x.to(wide), w.to(wide), dy.to(wide)
    rstd = torch.rsqrt(a.square().mean(1, keepdim=True) + EPS)
    pull = rstd**3 * (g * weight * a).mean(1, keepdim=True)
    return (g * weight * rstd - a * pull).to(x.dtype), (g * a * rstd).sum(0).to(w.dtype)


@dataclass(frozen=True, slots=True)
class Exact:
    """Reference: a torch function, evaluated in float64."""

    function: Callable[..., Any]

    def __call__(self, *tensors: Tensor) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the function with the tensors in float64."""
        return self.function(*(tensor.double() for tensor in tensors))


@dataclass(frozen=True, slots=True)
class Subject:
    """Properties of a kernel that are the same for all sizes.

    `maker` names the function that builds it; `function` is the equivalent in torch; `matrices` and `vectors` count its
    inputs; `moved` is the number of matrices that it reads and writes. `native` is whether torch has a kernel of its
    own. The kernel is in `folder` of the examples, and runs on GPUs of one `capability`.
    """

    maker: str
    function: Callable[..., Any]
    matrices: int
    vectors: int
    moved: int
    native: bool = True
    folder: str = "hopper"
    capability: tuple[int, int] = HOPPER

    def case(self, rows: int, columns: int, dtype: str = "float32", goal_us: float | None = None) -> Case:
        """Return the case for one size of the matrices."""
        kernel = late(f"examples.{self.folder}.{self.maker}")
        prefix = "" if self.folder == "hopper" else f"{self.folder} "
        # `dynamic=False` compiles for this shape only: otherwise torch would build, at a second shape,
        # a slower kernel for all shapes.
        baselines = {"torch.compile": compiled(self.function, dynamic=False)}
        shapes = ((rows, columns),) * self.matrices, ((2, columns),) * self.matrices
        vectors = ((columns,),) * self.vectors
        return Case(
            name=f"{prefix}{self.function.__name__} {TYPES[dtype]} {rows}x{columns}",
            kernel=kernel if self.function is swiglu else ForRows(kernel, columns, dtype),
            make=normal(*_ordered(shapes[0], vectors), dtype=dtype),
            baselines={"torch": self.function, **baselines} if self.native else baselines,
            reference=Exact(self.function),
            tolerance=TOLERANCE[dtype],
            bytes=(self.moved * rows + self.vectors) * columns * BYTES[dtype],
            flops=0,
            goal_us=goal_us,
            small=normal(*_ordered(shapes[1], vectors), dtype=dtype),
            capability=self.capability,
        )


def _ordered(matrices: tuple[tuple[int, ...], ...], vectors: tuple[tuple[int, ...], ...]) -> tuple[Any, ...]:
    """Return the shapes of a kernel's arguments: a matrix, the vectors, the other matrices."""
    return (matrices[0], *vectors, *matrices[1:])


RMS = Subject("rms_norm:rms_norm_for", rms_norm, 1, 1, 2)
LAYER = Subject("layer_norm:layer_norm_for", layer_norm, 1, 2, 2)
SOFTMAX = Subject("softmax:softmax_for", softmax, 1, 0, 2)
SWIGLU = Subject("swiglu:swiglu", swiglu, 2, 0, 3)
SWIGLU_BF16 = Subject("swiglu:swiglu_bf16", swiglu, 2, 0, 3)
GRADIENTS = Subject("rms_norm_backward:gradients_for", rms_norm_gradients, 2, 1, 3, native=False)

CASES = (
    RMS.case(2048, 8192, goal_us=35),
    LAYER.case(2048, 8192, goal_us=35),
    SOFTMAX.case(2048, 8192, goal_us=35),
    SWIGLU.case(2048, 8192, goal_us=50.5),
    # Cases that move at least a gigabyte: the goal is 0.97 of the speed of a device copy.
    RMS.case(32768, 8192),
    LAYER.case(32768, 8192),
    SOFTMAX.case(32768, 8192),
    SWIGLU.case(16384, 8192),
    RMS.case(65536, 8192, "bfloat16"),
    SOFTMAX.case(65536, 8192, "bfloat16"),
    SWIGLU_BF16.case(32768, 8192, "bfloat16"),
    # Cases with short rows, with rows kept in shared memory, and with rows split over a cluster
    # (kept in registers or in shared memory).
    RMS.case(262144, 512, "bfloat16"),
    RMS.case(8192, 24576),
    SOFTMAX.case(4096, 65536),
    RMS.case(4096, 131072, "bfloat16"),
    LAYER.case(1024, 262144),
    GRADIENTS.case(4096, 8192),
    GRADIENTS.case(16384, 4096, "bfloat16"),
)
