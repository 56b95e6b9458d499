"""Program that launches kernels with torch's launcher on the host driver (see test_torch_on_host_driver.py).

CPU tensors stand for device memory. The simulator runs the launches when the stream is synchronized, and accesses
registered tensors only. Outputs are registered after the call that allocates them.
"""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from pyptx_dsl import ptx, reg
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import u32

from .test_torch_launches import HOST, caller, kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE, MANY, THREADS, CALLS = 4096, 20, 4, 25  # numbers of elements, scalars, threads, calls of each thread
NAMES = [f"s{number}" for number in range(MANY)]
driver = ctypes.CDLL(os.environ["PYPTX_LIBCUDA"])
PLACE = replace(HOST, stream=lambda device: 0)  # place of CPU tensors whose torch stream is 0 (default stream)


@kernel(
    in_specs=(Tile("N", u32),),
    out_specs=(Tile("N", u32),),
    grid=1,
    block=1,
    arch="sm_90",
    raw_params=[("u32", name) for name in NAMES],
)
def many(X: Any, Y: Any) -> None:
    """Y[i] = X[i] + scalar i."""
    x, y = ptx.global_ptrs(X, Y)
    for number, name in enumerate(NAMES):
        value, scalar = reg.scalar(u32), reg.scalar(u32)
        ptx.inst.ld.global_.u32(value, ptx.addr(x + 4 * number))
        ptx.inst.ld.param.u32(scalar, ptx.addr(name))
        ptx.inst.add.u32(value, value, scalar)
        ptx.inst.st.global_.u32(ptx.addr(y + 4 * number), value)
    ptx.ret()


def call(function: str, *arguments: object) -> None:
    result = driver[function](*arguments)
    assert result == 0, (function, result)


@contextmanager
def reachable(*tensors: torch.Tensor) -> Iterator[None]:
    """Register tensors with the host driver during the body; synchronize the stream after the body."""
    for tensor in tensors:
        call("cuMemHostRegister_v2", ctypes.c_void_p(tensor.data_ptr()), ctypes.c_size_t(tensor.nbytes), 0)
    try:
        yield
        call("cuCtxSynchronize")
    finally:
        for tensor in tensors:
            call("cuMemHostUnregister", ctypes.c_void_p(tensor.data_ptr()))


def ready() -> None:
    """Set the primary context of device 0 for this thread."""
    context = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)


def outputs() -> None:
    """Make first and later (cached) calls with an output, alternately of two sizes, and check results."""
    double, long = caller(kernels.build_double(), PLACE)
    for number in range(6):
        x = torch.randn(SIZE * (1 + number % 2))
        y = double(x)
        with reachable(x, y):
            pass
        assert torch.equal(y, 2 * x)
    assert len(long) == 2


def numbers() -> None:
    """Make calls with more scalars than an earlier version of the launcher cached; all scalars change between calls."""
    fill, long = caller(many, PLACE)
    x = torch.arange(7, 7 + MANY).to(torch.uint32)
    for round_ in range(4):
        values = {name: 1000 * round_ + number for number, name in enumerate(NAMES)}
        y = fill(x, **values)
        with reachable(x, y):
            pass
        assert y.tolist() == [7 + number + value for number, value in enumerate(values.values())]
    assert len(long) == 1


def threads() -> None:
    """Make calls of one kernel, cached by the launcher, from many threads."""
    double, _ = caller(kernels.build_double(), PLACE)
    wrong: list[int] = []

    def work(number: int) -> None:
        ready()
        for each in range(CALLS):
            x = torch.full((SIZE,), float(number * CALLS + each))
            y = double(x)
            with reachable(x, y):
                pass
            if not torch.equal(y, 2 * x):
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


SCENES: tuple[Callable[[], None], ...] = (outputs, numbers, threads)


def main() -> None:
    """Run all SCENES in a second thread: the main thread may allocate memory below the simulator's global memory."""
    failed: list[str] = []

    def play() -> None:
        ready()
        for scene in SCENES:
            scene()
            failed.remove(scene.__name__)

    failed.extend(scene.__name__ for scene in SCENES)
    player = threading.Thread(target=play)
    player.start()
    player.join()
    print("failed:", failed)  # noqa: T201 - the program's output


if __name__ == "__main__":
    main()
