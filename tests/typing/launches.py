"""Types of launches on the simulator. Never run: `nox -s types` checks it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_type

import numpy as np

from pyptx_arch_hopper import TensorMap
from pyptx_sim import DeviceArray, Launch, Memory, Result, Uninitialized, WithDescriptor, run
from pyptx_sim.readers import from_triton

if TYPE_CHECKING:
    import ctypes

    from numpy.typing import NDArray


def arguments(x: NDArray[np.float32], p: ctypes.Structure, tensor: Any) -> None:
    """Arguments are arrays, numbers, structures and descriptors."""
    memory = Memory()
    placed = memory.put(x, "x")
    assert_type(placed, DeviceArray)
    assert_type(placed.address_of(1, 2), int)
    described = TensorMap.of(placed, (64, 64), swizzle="128B")
    assert_type(described, TensorMap)
    assert_type(TensorMap.decode(described.encode(placed.address)), tuple[TensorMap, int])
    launch = Launch(
        grid=(1, 2),
        args=[x, placed, Uninitialized(x), 1, 1.5, np.int32(1), p, b"1", WithDescriptor(x, described), tensor],
        memory=memory,
    )
    assert_type(Launch(grid=1, args=[{"x": x, "sizes": (np.int32(1), [placed, WithDescriptor(x, described)])}]), Launch)
    assert_type(replace(launch, block=(32, 4)), Launch)
    Launch(grid=1, args=[None])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]  0 is the null pointer
    Launch(block=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  the grid is missing


def launches(launch: Launch, compiled: Any) -> None:
    """`run` takes a `Launch`, or the fields of a `Launch` as keywords."""
    assert_type(run("", launch, seed=1), Result)
    assert_type(run("", launch, block=32), Result)
    assert_type(run("", grid=1, block=32, args=[1], checks="none"), Result)
    assert_type(from_triton(compiled, (1, 2), [1, 2]), Launch)
    run("", grid=1, blok=32)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  a typo
