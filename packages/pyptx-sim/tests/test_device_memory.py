"""`DeviceMemory`: allocations that outlive launches, which read and write them in place."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyptx_sim import Result, mapping, run
from pyptx_sim.device_memory import ALIGNMENT, DeviceMemory
from pyptx_sim.errors import LaunchError, OutOfMemory
from pyptx_sim.program.windows import GLOBAL_WINDOW

from .ptx_text import module

MIB = 1 << 20
COPY = "ld.param.u64 %rd2, [x]; mad.wide.u32 %rd3, %r0, 4, %rd2; ld.global.u32 %r1, [%rd3]; st.global.u32 [%rd1], %r1;"
COUNT = "atom.global.add.u32 %r1, [%rd0], 1;"


def launch(memory: DeviceMemory, body: str, *arguments: Any, block: int = 32, **options: Any) -> Result:
    parameters = ".param .u64 out, .param .u64 x" if len(arguments) > 1 else ".param .u64 out"
    return run(module(body, parameters), grid=1, block=block, args=arguments, memory=memory, **options)


def placed(memory: DeviceMemory, array: np.ndarray[Any, Any], name: str | None = None) -> int:
    address = memory.allocate(array.nbytes, name)
    memory.write(address, array.tobytes())
    return address


def words(memory: DeviceMemory, address: int, count: int) -> list[int]:
    return memory.bytes(address, 4 * count).view(np.uint32).tolist()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3 * MIB)), max_size=40))
def test_allocations_never_overlap_and_start_uninitialized_and_zero(steps: list[tuple[bool, int]]) -> None:
    memory, live = DeviceMemory(32 * MIB), dict[int, int]()
    for take, number in steps:
        if not take and live:
            address = sorted(live)[number % len(live)]
            memory.free(address)
            del live[address]
            continue
        try:
            address = memory.allocate(number)
        except OutOfMemory:
            assert sum(live.values()) + number > 8 * MIB  # 23 MiB are free at first; gaps between allocations remain
            continue
        assert address % ALIGNMENT == 0
        assert not memory.bytes(address, number).any()
        assert not memory.initialized(address, number).any()
        memory.write(address, b"\xff" * number)
        live[address] = number
    spans = sorted((address, address + size) for address, size in live.items())
    assert all(end < start for (_, end), (start, _) in pairwise(spans))
    assert all(memory.bytes(low, high - low).all() for low, high in spans)
    assert memory.used == sum(live.values())
    for low, high in spans:
        assert memory.allocation(low) == memory.allocation(max(high - 1, low)) == (low, high - low)
        assert memory.allocation(high + 1) is None or high == low


def test_a_launch_reads_and_writes_in_place() -> None:
    memory = DeviceMemory(64 * MIB)
    x, y = placed(memory, np.arange(32, dtype=np.uint32)), memory.allocate(128)
    assert launch(memory, COPY, y, x).clean
    assert words(memory, y, 32) == list(range(32))
    assert memory.initialized(y, 128).all()
    host = np.zeros(32, np.uint32)
    assert launch(memory, COPY, host, y).clean
    assert host.tolist() == list(range(32))


def test_arrays_over_device_memory_are_passed_without_a_copy() -> None:
    memory = DeviceMemory(64 * MIB)
    x, y = placed(memory, np.arange(64, dtype=np.uint32)), memory.allocate(256)
    view = memory.bytes(x, 256).view(np.uint32)
    assert launch(memory, COPY, memory.bytes(y, 128).view(np.uint32), view[32:]).clean
    assert words(memory, y, 32) == list(range(32, 64))


def test_memory_is_uninitialized_until_the_host_or_a_launch_writes_it() -> None:
    memory = DeviceMemory(64 * MIB)
    x, y = memory.allocate(128, "x"), memory.allocate(128, "y")
    (finding,) = launch(memory, COPY, y, x).findings
    assert finding.rule == "uninitialized-memory"
    assert "x+0" in finding.message
    assert launch(memory, "st.global.u32 [%rd1], %r0;", x, block=16).clean
    assert launch(memory, COPY, y, x, block=16).clean
    assert [each.rule for each in launch(memory, COPY, y, x).findings] == ["uninitialized-memory"]
    memory.write(x + 64, bytes(64))
    assert launch(memory, COPY, y, x).clean
    memory.mark_uninitialized(x + 4, 4)
    assert [each.count for each in launch(memory, COPY, y, x).findings] == [1]


def test_a_launch_without_checks_initializes_what_it_may_have_written() -> None:
    memory = DeviceMemory(64 * MIB)
    x, y = memory.allocate(128, "x"), memory.allocate(128, "y")
    assert launch(memory, "st.global.u32 [%rd1], %r0;", x, checks="none").clean
    assert launch(memory, COPY, y, x).clean


def test_accesses_to_freed_memory_are_found() -> None:
    memory = DeviceMemory(64 * MIB)
    x, y = placed(memory, np.arange(32, dtype=np.uint32)), memory.allocate(128)
    memory.free(x)
    assert [each.rule for each in launch(memory, COPY, y, x).findings] == ["out-of-bounds"]
    assert memory.allocate(128) != x
    for wrong in (x, y + 4, 0):
        with pytest.raises(LaunchError, match="no allocation starts at"):
            memory.free(wrong)


def test_what_is_freed_is_used_again_before_memory_runs_out() -> None:
    memory = DeviceMemory(32 * MIB)
    for _ in range(20):
        address = memory.allocate(16 * MIB)
        assert not memory.bytes(address, 16 * MIB).any()
        memory.bytes(address, 16 * MIB)[:] = 1
        memory.free(address)
    with pytest.raises(OutOfMemory, match=f"cannot allocate {24 * MIB} bytes: 0 of"):
        memory.allocate(24 * MIB)


def test_kept_arrays_leave_device_memory_unchanged() -> None:
    memory = DeviceMemory(64 * MIB)
    x, y = placed(memory, np.arange(32, dtype=np.uint32)), memory.allocate(128)
    assert launch(memory, COPY, y, x, keep_arrays=True).clean
    assert not any(words(memory, y, 32))
    assert not memory.initialized(y, 128).any()


def test_a_launch_that_runs_again_is_applied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, snapshots = DeviceMemory(64 * MIB), list[int]()
    snapshot = DeviceMemory.snapshot
    monkeypatch.setattr(DeviceMemory, "snapshot", lambda *args, **said: snapshots.append(1) or snapshot(*args, **said))
    counter, same = placed(memory, np.zeros(1, np.uint32)), placed(memory, np.zeros(2, np.uint32))
    # All lanes store the same value: to decide whether that is always so, the simulator runs the launch again.
    body = f"{COUNT} ld.param.u64 %rd2, [x]; shr.u32 %r3, %r0, 6; ld.global.u32 %r4, [%rd2+4]; add.u32 %r3, %r3, %r4;"
    launch(memory, f"{body} st.global.u32 [%rd2], %r3;", counter, same, block=64)
    assert words(memory, counter, 1) == [64]
    assert len(snapshots) > 1


def test_writes_before_an_error_are_kept() -> None:
    memory = DeviceMemory(64 * MIB)
    counter = placed(memory, np.zeros(1, np.uint32))
    with pytest.raises(Exception, match="trap"):
        launch(memory, f"{COUNT} bar.sync 0; trap;", counter)
    assert words(memory, counter, 1) == [32]


def test_results_do_not_depend_on_how_changed_pages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError

    values = np.random.default_rng(3).integers(0, 1 << 32, 8192, dtype=np.uint32)
    outcomes = []
    for hidden in (False, True):
        if hidden:
            monkeypatch.setattr(mapping.os, "open", refuse)
        memory = DeviceMemory(64 * MIB)
        x, y = placed(memory, values), memory.allocate(4 * 8192)
        assert launch(memory, COPY, y + 4 * 3000, x + 4 * 1021, block=1024).clean
        outcomes.append((memory.bytes(y, 4 * 8192).tobytes(), memory.initialized(y, 4 * 8192).tobytes()))
    assert outcomes[0] == outcomes[1]
    assert np.frombuffer(outcomes[0][0], np.uint32)[3000:4024].tolist() == values[1021:2045].tolist()


def test_spans_outside_device_memory_are_refused() -> None:
    memory = DeviceMemory(64 * MIB)
    for address, size in ((GLOBAL_WINDOW - 1, 1), (GLOBAL_WINDOW + memory.size, 1), (GLOBAL_WINDOW, memory.size + 1)):
        with pytest.raises(LaunchError, match="not in device memory"):
            memory.bytes(address, size)
    with pytest.raises(LaunchError, match="must not be negative"):
        memory.allocate(-1)


def test_host_addresses_lead_to_device_addresses_and_back() -> None:
    for memory in (DeviceMemory(MIB * 16), DeviceMemory(MIB * 16)):  # only one of them can be at its device addresses
        address = memory.allocate(64)
        host = memory.bytes(address, 64).__array_interface__["data"][0]
        assert memory.host_address(address) == host
        assert memory.device_address(host) == address
    assert memory.device_address(np.zeros(1).__array_interface__["data"][0]) is None


@pytest.mark.filterwarnings("ignore:.*os.fork:RuntimeWarning", "ignore:.*fork:DeprecationWarning")  # jax has threads
def test_a_forked_process_has_memory_of_its_own() -> None:
    memory = DeviceMemory(64 * MIB)
    x, y = placed(memory, np.arange(32, dtype=np.uint32)), memory.allocate(128)
    child = os.fork()
    if not child:
        right = launch(memory, COPY, y, x).clean and words(memory, y, 32) == list(range(32))
        memory.write(x, b"\x01" * 128)
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert words(memory, x, 32) == list(range(32))
    assert not memory.initialized(y, 128).any()


def test_messages_name_the_arrays_that_a_launch_passes() -> None:
    memory = DeviceMemory(64 * MIB)
    x, y = placed(memory, np.arange(64, dtype=np.uint32), "storage"), memory.allocate(128)
    view = memory.bytes(x + 192, 64).view(np.uint32)
    (finding,) = launch(memory, COPY, y, view, names=["out", "tail"]).findings
    assert (finding.rule, finding.count) == ("out-of-bounds", 16)
    assert "0 bytes after argument 1 'tail' (64 bytes)" in finding.message
