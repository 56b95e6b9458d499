"""Allocations in the memories of a CTA, by name; `tests/plugin_contract` tests a plugin's memory."""

from __future__ import annotations

import pytest

from pyptx_dsl import smem
from pyptx_dsl.errors import AllocationError, SharedMemoryError
from pyptx_dsl.tracing.trace import Trace, tracing
from pyptx_dsl.types import f32
from pyptx_ir.plugins.errors import MissingPluginError
from pyptx_ir.plugins.memories import find_memory


def test_shared_memory_is_one_of_them() -> None:
    with tracing(Trace(target="sm_90a")) as trace:
        tile = smem.alloc(f32, (3,), name="tile")
        region = trace.memories.of("shared").allocate(trace, 16, 32)
        following = trace.memories.of("shared").allocate(trace, 4)
    assert trace.memories.of("shared") is trace.memories.shared
    assert (tile.region.offset, region.offset, following.offset) == (0, 32, find_memory("shared").alignment)
    assert [each.name for each in trace.memories.shared.regions] == ["tile", "shared_0", "shared_1"]
    assert trace.memories.shared.bytes == following.offset + 4


@pytest.mark.parametrize(
    ("size", "alignment", "said"),
    [
        (0, None, "cannot allocate 0 bytes of shared memory"),
        (True, None, "cannot allocate True bytes of shared memory"),
        (4, 12, "the alignment must be a power of two, got 12"),
        (1 << 20, None, "needs 1048576 bytes of shared memory; a CTA on sm_90a has 227 KiB"),
    ],
)
def test_what_makes_no_sense_or_is_too_much_is_refused(size: int, alignment: int | None, said: str) -> None:
    with tracing(Trace(target="sm_90a")) as trace, pytest.raises(SharedMemoryError, match=said) as caught:
        trace.memories.shared.allocate(trace, size, alignment)
    assert isinstance(caught.value, AllocationError)
    assert trace.memories.shared.regions == []


def test_a_memory_that_no_plugin_has_is_named() -> None:
    with (
        tracing(Trace()) as trace,
        pytest.raises(MissingPluginError, match="no installed plugin provides the memory nonesuch"),
    ):
        trace.memories.of("nonesuch")
