"""A question that the manual leaves open: for which grids `griddepcontrol.wait` waits in a chain of dependent launches.

The manual says: for all prerequisite grids in flight. In a stream the prerequisite of a launch is the one before it. If
the second of three launches waits, its completion includes the first one's. If it does not wait, nothing says that the
first is complete when the third goes on, and the simulator reports accesses of the third to what the first writes. What
this GPU does is recorded (see golden.py): how often the third read the old word, of `TRIES` launches.
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
NANOSECONDS = 2_000_000  # that the first launch spins for, with the others resident
WRITTEN = 7
PROGRAMMATIC = ((6, struct.pack("<i", 1)),)  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
BETWEEN = {
    "waits": Entry("between", (".u64 times",), "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;"),
    "does not wait": Entry("between", (".u64 times",), "griddepcontrol.launch_dependents;"),
}


def seen_by_the_third(gpu: Device, between: Entry) -> np.ndarray:
    """Run three launches in a row, the later two dependent; return the word of the first that the third has read."""
    times, stream = gpu.upload(np.zeros(4, np.uint64)), gpu.stream()
    first = plan_of(FIRST, Pointer(0), Scalar("u64", "nanoseconds", NANOSECONDS))
    chain = (
        first,
        plan_of(between, Pointer(0), attributes=PROGRAMMATIC),
        plan_of(SECOND, Pointer(0), attributes=PROGRAMMATIC),
    )
    seen = np.zeros(TRIES, np.uint64)
    for number in range(-1, TRIES):  # the first time loads the code, which keeps kernels apart
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
    truth["griddepcontrol.wait behind a launch that does not wait: old words read"] = np.array(
        [np.count_nonzero(seen == 0)], np.uint32
    )
