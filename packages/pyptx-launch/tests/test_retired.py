"""The code of a dropped module stays loaded while its kernels may run; dropping it does not wait for them."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

from pyptx_launch import DriverError, Module, Plan
from pyptx_launch.retired import MANY, RETIRED

from .images import image
from .null_driver import compiled

ONE = (1, 1, 1)


def launched_and_gone(count: int, device: int = 0) -> None:
    """Load `count` modules, launch their kernels, and drop the modules."""
    modules = [Module(image()) for _ in range(count)]  # all before dropping any: loading unloads dropped modules
    for module in modules:
        Plan(module, "k", grid=ONE, block=ONE).launch((), 0, device)
    del module, modules
    gc.collect()


@pytest.fixture(scope="module")
def settled():
    """Unfreeze and garbage-collect the objects frozen before these tests; freeze the live objects again."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@pytest.fixture
def empty(null, settled):  # noqa: ARG001 - used for its effect
    """Provide the null driver with no retired module and no pending garbage, before and after the test."""
    gc.collect()
    RETIRED.unload(wait=True)
    null.take()
    assert len(RETIRED) == 0
    yield null
    null.reset()
    RETIRED.unload(wait=True)


def unloaded(null) -> int:
    return len(null.take("cuLibraryUnload"))


@pytest.mark.long
def test_a_module_that_dies_is_not_unloaded_under_its_kernels(empty):
    empty.set(events_pending=1)
    launched_and_gone(1)
    assert unloaded(empty) == 0
    assert len(RETIRED) == 1


def test_a_garbage_collection_asks_the_driver_for_nothing(empty):
    modules = [Module(image()) for _ in range(3 * MANY)]
    for module in modules:
        Plan(module, "k", grid=ONE, block=ONE).launch((), 0, 0)
    empty.take()
    del module, modules
    gc.collect()
    assert empty.take() == []
    assert len(RETIRED) == 3 * MANY


def test_once_many_have_gathered_they_go_when_what_the_devices_were_asked_for_is_done(empty):
    launched_and_gone(MANY, device=0)
    empty.context(1)  # make device 1 current in this thread, while device 0's modules are retired
    empty.set(events_pending=1)
    Module(image())
    recorded = empty.take("cuCtxRecordEvent")
    assert [each["context"] for each in recorded] == [0, 1]
    assert empty.current() == 1
    for _ in range(3):
        Module(image())
    assert unloaded(empty) == 0
    assert [len(batch.retired) for batch in RETIRED.batches] == [MANY]
    assert empty.live(idle=False)["events"] == 2
    empty.set(events_pending=0)
    keep = Module(image())
    assert unloaded(empty) == MANY
    assert RETIRED.batches == ()
    assert empty.live(idle=False)["events"] == 0
    assert keep.kernel("k")


class Memory:
    """Stand-in for memory that a kernel reads, which must be freed only after the kernel."""


def test_what_kernels_may_still_use_stays_with_their_library(empty):
    memory, keep = Memory(), [Module(image()) for _ in range(MANY)]
    gone = weakref.ref(memory)
    for module in keep:
        RETIRED.add(module._library, memory)
        module._library = 0  # prevents Module.__del__ from retiring the same library a second time
    del memory, module, keep
    empty.set(events_pending=1)
    Module(image())
    assert gone() is not None
    empty.set(events_pending=0)
    Module(image())
    assert unloaded(empty) == MANY
    assert gone() is None


def test_few_stay_loaded_until_somebody_waits(empty):
    launched_and_gone(MANY - 1)
    keep = Module(image())
    assert [call["call"] for call in empty.take() if "Event" in call["call"] or "Unload" in call["call"]] == []
    RETIRED.unload(wait=True)
    calls = [call["call"] for call in empty.take()]
    assert calls.index("cuCtxSynchronize") < calls.index("cuLibraryUnload")
    assert calls.count("cuLibraryUnload") == MANY - 1
    assert keep.kernel("k")


@pytest.mark.parametrize("seen_by", ["driver", "guard"])
def test_no_capture_is_broken_off(empty, monkeypatch, seen_by):
    capturing = [seen_by == "guard"]
    monkeypatch.setattr(RETIRED, "_guards", (lambda: capturing[0],))
    empty.set(capturing=int(seen_by == "driver"))
    launched_and_gone(MANY)
    Module(image())
    RETIRED.unload(wait=True)
    calls = {call["call"] for call in empty.take()}
    assert not calls & {"cuCtxRecordEvent", "cuCtxSynchronize", "cuLibraryUnload"}
    empty.set(capturing=0)
    capturing[0] = False
    keep = Module(image())
    assert unloaded(empty) == MANY + 1  # unloaded: MANY dropped modules, and the module loaded during the capture
    assert keep.kernel("k")


def test_a_guard_is_asked_once_however_often_it_is_given(monkeypatch):
    monkeypatch.setattr(RETIRED, "_guards", ())
    asked = lambda: False
    RETIRED.guard(asked)
    RETIRED.guard(asked)
    assert RETIRED._guards == (asked,)


@pytest.mark.parametrize("call", ["cuEventCreate", "cuCtxRecordEvent", "cuCtxGetCurrent", "cuDevicePrimaryCtxRetain"])
def test_where_the_driver_refuses_the_list_stays_and_loading_goes_on(empty, call):
    launched_and_gone(MANY)
    empty.fail(call, 700)
    keep = Module(image())
    assert unloaded(empty) == 0
    assert len(RETIRED) == MANY
    assert empty.live(idle=False)["events"] == 0
    Module(image())
    assert unloaded(empty) == MANY
    assert keep.kernel("k")


def test_whoever_waits_is_told_that_waiting_failed(empty):
    launched_and_gone(1)
    empty.fail("cuCtxSynchronize", 719)
    with pytest.raises(DriverError, match="cuCtxSynchronize failed with CUDA_ERROR_LAUNCH_FAILED"):
        RETIRED.unload(wait=True)
    assert len(RETIRED) == 1


def test_threads_load_and_drop_modules_and_each_library_is_unloaded_once(empty):
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        for _ in range(100):
            loop = [Module(image())]
            loop.append(loop)  # a reference cycle through the module, which only garbage collection frees

    threads = [threading.Thread(target=work) for _ in range(8)]
    before = gc.get_threshold()
    gc.set_threshold(7, 3, 3)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*before)
    gc.collect()
    RETIRED.unload(wait=True)
    assert len(RETIRED) == 0
    calls = empty.take()
    loaded = [call["library"] for call in calls if call["call"] == "cuLibraryLoadData"]
    gone = [call["library"] for call in calls if call["call"] == "cuLibraryUnload"]
    assert len(loaded) == 800
    assert sorted(gone) == sorted(loaded)


AT_THE_END = """
import pyptx_launch as p
from pyptx_launch.retired import MANY, RETIRED
def launched():
    module = p.Module(b".version 8.0 .entry k(.param .u64 x) { ret; }")
    map_ = p.TensorMap.dense("f32", (64, 32), (8, 8))
    plan = p.Plan(module, "k", grid=(1, 1, 1), block=(1, 1, 1), parameters=[p.MapPointer(0, map_)])
    plan.launch([0x1000], 0, 0)
    return plan
keep = launched()
for number in range(COUNT):
    launched()
print(len(RETIRED) + 1)
"""


@pytest.mark.parametrize("count", [0, 1, MANY + 1])
def test_a_process_ends_in_silence_whatever_is_loaded_and_retired(null, count):
    """The native extension prints a message if one of its objects outlives Python."""
    environment = os.environ | {"PYPTX_LIBCUDA": str(null.path)}
    command = [sys.executable, "-c", AT_THE_END.replace("COUNT", str(count))]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert (int(done.stdout), done.stderr) == (1 + count % MANY, "")


OLD = """
import pyptx_launch as p
from pyptx_launch.retired import MANY, RETIRED
def gone():
    module = p.Module(b".version 8.0 .entry k() { ret; }")
    p.Plan(module, "k", grid=(1, 1, 1), block=(1, 1, 1)).launch((), 0, 0)
for number in range(MANY + 1):
    gone()
    print(len(RETIRED), end=" ")
"""


@pytest.mark.long
def test_a_driver_without_events_of_contexts_is_waited_for_when_many_have_gathered(null, tmp_path):
    old = compiled(tmp_path, "-Wl,-soname,libcuda.so.1", without="cuCtxRecordEvent")
    environment = os.environ | {"PYPTX_LIBCUDA": old, "NULL_DRIVER_LOG": str(tmp_path / "log")}
    done = subprocess.run([sys.executable, "-c", OLD], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.split() == [*map(str, range(1, MANY + 1)), "1"]
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert log.index("cuCtxSynchronize") < log.index("cuLibraryUnload")
    assert log.count("cuCtxSynchronize") == 1
    assert null.take() == []
