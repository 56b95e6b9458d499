"""Record for which grids `griddepcontrol.wait` waits in a chain of dependent launches; the manual leaves it open.

The manual states: all prerequisite grids in flight. In a stream, the prerequisite of a launch is the previous launch.
If the second of three launches waits, its completion implies that of the first. If it does not wait, the first may be
incomplete after the wait of the third, and the simulator reports accesses of the third to words that the first writes.
The record (see golden.py) is the number of `TRIES` runs in which the third launch read the old word.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_launch import Pointer, Scalar

from .kernels import FIRST, SECOND, Entry
from .plans import plan_of

if TYPE_CHECKING:
    from .driver import Device

pytestmark = pytest.mark.gpu

TRIES = 20
NANOSECONDS = 2_000_000  # time that the first launch spins while the second and third launch are resident
WRITTEN = 7
PROGRAMMATIC = ((6, struct.pack("<i", 1)),)  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
BETWEEN = {
    "waits": Entry("between", (".u64 times",), "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;"),
    "does not wait": Entry("between", (".u64 times",), "griddepcontrol.launch_dependents;"),
}


def seen_by_the_third(gpu: Device, between: Entry) -> np.ndarray:
    """Run three launches, the later two dependent; return the first launch's word as the third reads it, per try."""
    times, stream = gpu.upload(np.zeros(4, np.uint64)), gpu.stream()
    first = plan_of(FIRST, Pointer(0), Scalar("u64", "nanoseconds", NANOSECONDS))
    chain = (
        first,
        plan_of(between, Pointer(0), attributes=PROGRAMMATIC),
        plan_of(SECOND, Pointer(0), attributes=PROGRAMMATIC),
    )
    seen = np.zeros(TRIES, np.uint64)
    for number in range(-1, TRIES):  # run -1 loads the code, which serializes the kernels
        gpu.write(times, np.zeros(4, np.uint64))
        for plan in chain:
            plan.launch((times,), stream, 0)
        gpu.synchronize()
        seen[max(number, 0)] = gpu.download(times, np.zeros(4, np.uint64))[3]
    return seen


def test_the_third_launch_sees_what_the_first_has_written_if_the_second_waits(gpu: Device) -> None:
    assert (seen_by_the_third(gpu, BETWEEN["waits"]) == WRITTEN).all()


def test_what_the_third_launch_sees_if_the_second_does_not_wait_is_recorded(
    gpu: Device, truth: dict[str, np.ndarray]
) -> None:
    seen = seen_by_the_third(gpu, BETWEEN["does not wait"])
    assert set(seen.tolist()) <= {0, WRITTEN}
    truth["griddepcontrol.wait after a launch that does not wait: old words read"] = np.array(
        [np.count_nonzero(seen == 0)], np.uint32
    )
