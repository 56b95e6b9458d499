"""Types of kernel calls. Never run: `nox -s types` checks it with mypy and pyright, strict.

A kernel returns the arrays of its `out_specs`, of the framework of its inputs. `tests/typing` is checked without torch
and JAX, so a class with one method represents their arrays; tests/editor/test_call_types.py uses their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel, Tile, differentiable_kernel, kernel
from pyptx.types import f32
from pyptx_ir.plugins.rows import Simulation

N = Tile("N", f32)


class Tensor:
    """Stand-in for an array of another framework."""

    def cumsum(self, dim: int) -> Tensor:
        """Return an array of the type of `self`."""
        raise NotImplementedError(dim)


class Parameter(Tensor):
    """A subclass of tensor that no computation returns."""


@kernel(in_specs=(N,), out_specs=(N,))
def one(X: object, Y: object) -> None:
    """Kernel with one output."""


@kernel(in_specs=(N,), out_specs=(N, N))
def two(X: object, Y: object, Z: object) -> None:
    """Kernel with several outputs."""


@kernel(in_specs=(N,))
def in_place(X: object) -> None:
    """Kernel that writes to its input."""


@kernel(in_specs=(N,), out_specs=())
def empty(X: object) -> None:
    """Kernel with an empty tuple of outputs."""


@kernel(out_specs=(N,), block=32)
def fill(Y: object, *, value: float = 0.0) -> None:
    """Kernel without inputs."""


@kernel(raw_params=[("u32", "n")])
def raw() -> None:
    """Kernel with a `raw_params` entry."""


@kernel(in_specs=[N], out_specs=[N])
def listed(X: object, Y: object) -> None:
    """Kernel whose number of outputs type checkers cannot know."""


@kernel
def bare() -> None:
    """Kernel decorated without `in_specs` and `out_specs`."""


def kernels(any_kernel: Kernel) -> None:
    """A kernel's type gives its outputs; a bare `Kernel` accepts any kernel."""
    assert_type(one, Kernel[tuple[Tile]])
    assert_type(two, Kernel[tuple[Tile, Tile]])
    assert_type(in_place, Kernel[None])
    assert_type(raw, Kernel[None])
    assert_type(bare, Kernel[None])
    assert_type(Kernel(print, out_specs=(N,)), Kernel[tuple[Tile]])
    assert_type(Kernel(print), Kernel)
    assert_type(any_kernel, Kernel[Sequence[Tile] | None])
    every: list[Kernel] = [one, two, in_place, empty, fill, raw, listed, bare]
    assert all(isinstance(each, Kernel) for each in every)


def numpy_arrays(
    x: NDArray[np.float32], half: NDArray[Any], index: NDArray[np.uint32], arrays: list[NDArray[Any]]
) -> None:
    """A NumPy array gives a NumPy array of any element type and rank: the kernel determines both."""
    assert_type(one(x), NDArray[Any])
    assert_type(one(x, half, index), NDArray[Any])
    assert_type(one(x, *arrays), NDArray[Any])
    assert_type(one(np.zeros((2, 3), np.float32), N=3), NDArray[Any])
    assert_type(two(x, index), tuple[NDArray[Any], ...])
    y, z = two(x)
    assert_type(y[0] + z.sum(), Any)
    sums: np.ndarray[tuple[int], np.dtype[np.int32]] = one(np.zeros((2, 3), np.float32))
    assert_type(sums.shape, tuple[int])


def other_arrays(x: Tensor, weight: Parameter, arrays: Any) -> None:
    """An array of another framework gives an array of that framework; `Any` gives `Any`."""
    assert_type(one(x), Tensor)
    assert_type(one(weight), Tensor)
    assert_type(one(x, weight, N=4), Tensor)
    assert_type(two(weight, x), tuple[Tensor, ...])
    assert_type(one(arrays), Any)


def outputs_given(x: Tensor, weight: Parameter, maybe: Tensor | None) -> None:
    """`out=` determines the type of the result."""
    assert_type(one(x, out=weight), Parameter)
    assert_type(fill(out=x), Tensor)
    assert_type(two(x, out=(x, x)), tuple[Tensor, ...])
    assert_type(two(x, out=[x, x]), tuple[Tensor, ...])
    assert_type(one(x, out=maybe), Tensor)


def unknown_outputs(x: Tensor, any_kernel: Kernel) -> None:
    """If the number of outputs or the framework is unknown, the result may be an array, a tuple or None."""
    assert_type(listed(x), Tensor | tuple[Tensor, ...] | None)
    assert_type(any_kernel(x), Tensor | tuple[Tensor, ...] | None)
    assert_type(fill(N=4), object)


def nothing(x: Tensor) -> None:
    """A kernel without outputs returns None."""
    in_place(x)
    empty(x)
    raw(n=4)
    bare()
    in_place(x).cumsum(0)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  None


def simulated(x: Tensor, n: NDArray[np.float32]) -> None:
    """Outputs of the simulator have the types of a call's outputs, always as a tuple."""
    assert_type(one.simulate(x), Simulation[Tensor])
    assert_type(one.simulate(x).outputs, tuple[Tensor, ...])
    assert_type(two.simulate(n, checks="all", seed=1).outputs[0], NDArray[Any])
    assert_type([finding.line for finding in one.simulate(x, checks="none").findings], list[int | None])
    assert_type(fill.simulate(N=4).outputs, tuple[object, ...])


def differentiated(x: Tensor) -> None:
    """A differentiable function returns the outputs of its forward kernel."""
    assert_type(differentiable_kernel(one, two, save_for_backward=[0])(x), Tensor)
    assert_type(differentiable_kernel(two, one)(x, x), tuple[Tensor, ...])
    assert_type(differentiable_kernel(listed, one)(x), Tensor | tuple[Tensor, ...] | None)


def mistakes() -> None:
    """Type checkers must report kernel arguments that are not arrays."""
    one([1.0, 2.0])  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]  a list
    one(3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]  a number
    one.simulate("x")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]  a string
