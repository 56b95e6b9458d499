"""Kernels that fail, each in its own process, because the failure destroys the context but must not kill the process.

    python -m tests.gpu.crash CASE

Prints, as JSON, the error of the launch, of waiting for the kernel, and of the next launch.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import numpy as np

from pyptx_launch import DriverError, Pointer, Scalar, TensorMap

from .driver import Device, device
from .driver import DriverError as Status
from .kernels import CROOKED, LOCAL, STORE, TRAP, constant
from .plans import plan_of, tile_plan

if TYPE_CHECKING:
    from collections.abc import Callable

NOWHERE = 0x10_0000  # address that the driver does not map

Report = dict[str, object]


def launch(run: Callable[[], None]) -> Report | None:
    """Return the error of a launch; None if it succeeds."""
    try:
        run()
    except DriverError as error:
        return {"type": type(error).__name__, "name": error.name, "help": error.help, "text": str(error)}
    return None


def wait(gpu: Device) -> str | None:
    """Return the error of waiting for the device; None if it succeeds."""
    try:
        gpu.synchronize()
    except Status as error:
        return str(error)
    return None


def fault(gpu: Device, case: str) -> dict[str, object]:
    """Launch a kernel that faults, wait for its completion, and launch a correct kernel."""
    place = gpu.upload(np.zeros(8, np.uint32))
    good = plan_of(constant(1), Pointer(0))
    good.launch((place,), 0, 0)
    gpu.synchronize()
    entry, pointers = {"trap": (TRAP, ()), "stray": (STORE, (NOWHERE,)), "crooked": (CROOKED, (place,))}[case]
    bad = plan_of(entry, *(Pointer(0) for _ in pointers))
    first = launch(lambda: bad.launch(pointers, 0, 0))
    return {"launch": first, "wait": wait(gpu), "next": launch(lambda: good.launch((place,), 0, 0))}


def exhausted(gpu: Device) -> list[int]:
    """Allocate all device memory, down to blocks of 512 bytes."""
    taken: list[int] = []
    size = 1 << 33
    while size >= 1 << 9:
        try:
            taken.append(gpu.allocate(size))
        except Status:
            size >>= 2
    return taken


def memory(gpu: Device, case: str) -> dict[str, object]:
    """Launch a kernel that needs device memory when none is free, and again after memory was freed."""
    out = gpu.upload(np.zeros(4096, np.uint8))
    if case == "local":
        plan, pointers = plan_of(LOCAL, Pointer(0), Scalar("u32", "at", 3), threads=256, blocks=256), (out,)
    else:
        plan, pointers = tile_plan(TensorMap.dense("f32", (8, 8), (8, 8)), "pointer"), (out, out + 1024)
    taken = exhausted(gpu)
    first = launch(lambda: plan.launch(pointers, 0, 0))
    for address in taken:
        gpu.free(address)
    return {"launch": first, "next": launch(lambda: plan.launch(pointers, 0, 0)), "wait": wait(gpu)}


CASES: dict[str, Callable[[Device, str], dict[str, object]]] = {
    "trap": fault, "stray": fault, "crooked": fault, "local": memory, "map": memory,
}  # fmt: skip


if __name__ == "__main__":
    found = device()
    found.current()
    print(json.dumps(CASES[sys.argv[1]](found, sys.argv[1])), flush=True)  # noqa: T201 - the program's output
