"""`pyptx_sim.Context`: modules, streams, events and graphs of a device that outlive launches."""

from __future__ import annotations

import os
import random
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_sim import Context, Schedule
from pyptx_sim.errors import KernelTrap, LaunchError, SimulationError

from .ptx_text import module

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.terminal.progress import ProgressCallback
    from pyptx_sim.context import DeviceLaunch

INCREMENT = module("ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;")
COUNTER = module(
    "ld.const.u32 %r2, [step]; atom.global.add.u32 %r1, [counter], %r2; st.global.u32 [%rd1], %r1;",
    before=".visible .global .u32 counter = 5;\n.visible .const .u32 step = 2;",
)
# Entry `choose` stores the address of a function, and `call` calls the stored function: `virtual` methods in CUDA C++.
METHODS = """
.version 8.8
.target sm_90
.address_size 64
.visible .global .u64 method;
.func (.reg .u32 %y) twice(.reg .u32 %x) { add.u32 %y, %x, %x; ret; }
.func (.reg .u32 %y) square(.reg .u32 %x) { mul.lo.u32 %y, %x, %x; ret; }
.visible .entry choose(.param .u32 which) {
  .reg .pred %p; .reg .u32 %r; .reg .u64 %a, %b;
  ld.param.u32 %r, [which]; mov.u64 %a, twice; mov.u64 %b, square;
  setp.eq.u32 %p, %r, 0; selp.u64 %a, %a, %b, %p; st.global.u64 [method], %a; ret;
}
.visible .entry call(.param .u64 out) {
  .reg .u32 %r, %s; .reg .u64 %f, %o;
  ld.global.u64 %f, [method]; mov.u32 %r, %tid.x; add.u32 %r, %r, 5;
  prototype: .callprototype (.reg .u32 _) _ (.reg .u32 _);
  call (%s), %f, (%r), prototype;
  ld.param.u64 %o, [out]; st.global.u32 [%o], %s; ret;
}
"""
HEAP = """
.version 8.8
.target sm_90
.address_size 64
.visible .global .u64 block;
.extern .func (.param .b64 p) malloc (.param .b64 n);
.extern .func free (.param .b64 p);
.visible .entry take() {
  .reg .u64 %p, %n; .reg .u32 %r; .param .b64 a; .param .b64 r;
  mov.u64 %n, 64; st.param.b64 [a], %n; call (r), malloc, (a); ld.param.b64 %p, [r];
  mov.u32 %r, 17; st.u32 [%p], %r; st.global.u64 [block], %p; ret;
}
.visible .entry give(.param .u64 out) {
  .reg .u64 %p, %o; .reg .u32 %r; .param .b64 a;
  ld.global.u64 %p, [block]; ld.u32 %r, [%p]; ld.param.u64 %o, [out]; st.global.u32 [%o], %r;
  st.param.b64 [a], %p; call free, (a); ret;
}
"""


def words(context: Context, address: int, count: int = 1) -> list[int]:
    return context.memory.bytes(address, 4 * count).view(np.uint32).tolist()


def zeros(context: Context, count: int = 32) -> int:
    address = context.memory.allocate(4 * count)
    context.memory.write(address, bytes(4 * count))
    return address


def test_variables_keep_their_values_between_launches() -> None:
    context = Context()
    out, loaded = zeros(context), context.load(COUNTER)
    for before in (5, 7, 9):
        assert context.launch(loaded, grid=1, block=1, args=[out]).findings == ()
        assert words(context, out) == [before]
    loaded.write("step", (100).to_bytes(4, "little"))
    loaded.write("counter", b"\x01", offset=1)
    context.launch(COUNTER, grid=1, block=1, args=[out])  # the same text is the same module
    assert words(context, out) == [11 + 256]
    assert int.from_bytes(loaded.read("counter"), "little") == 367
    assert words(context, loaded.address("counter")) == [367]
    assert int.from_bytes(loaded.read("step"), "little") == 100
    assert Context().load(COUNTER).read("counter") == (5).to_bytes(4, "little")


def test_a_device_may_have_more_memory_than_the_machine() -> None:
    on_linux = sys.platform == "linux"  # other systems do not map more memory than there is
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if on_linux else 1 << 20
    context = Context(memory_bytes=machine + (1 << 30))
    context.memory.allocate(machine)
    word = context.memory.allocate(4)
    context.memory.write(word, bytes(4))
    context.launch(INCREMENT, grid=1, block=1, args=[word])
    assert context.launches[0].findings == ()
    assert bytes(context.memory.bytes(word, 4)) == (1).to_bytes(4, "little")


def test_wrong_uses_of_variables_are_refused() -> None:
    loaded = Context().load(COUNTER)
    with pytest.raises(LaunchError, match=r"no variable 'missing'\nhelp: its variables: step, counter"):
        loaded.read("missing")
    with pytest.raises(LaunchError, match=r"in \.const memory"):
        loaded.address("step")
    for data, offset in ((bytes(5), 0), (bytes(4), 1), (b"", -1)):
        with pytest.raises(LaunchError, match="do not fit in counter"):
            loaded.write("counter", data, offset)


def test_two_modules_have_variables_of_their_own() -> None:
    context, other = Context(), COUNTER.replace("counter = 5", "counter = 50")
    out = zeros(context)
    for text, value in ((COUNTER, 5), (other, 50), (COUNTER, 7), (other, 52)):
        assert context.launch(text, grid=1, block=1, args=[out]).findings == ()
        assert words(context, out) == [value]


def test_accesses_past_a_variable_are_found() -> None:
    context = Context()
    past = module("ld.global.u32 %r1, [counter+4]; st.global.u32 [%rd1], %r1;", before=".global .u32 counter;")
    (finding,) = context.launch(past, grid=1, block=1, args=[zeros(context)]).findings
    assert (finding.rule, "counter" in finding.message) == ("out-of-bounds", True)


def test_function_pointers_in_memory_are_called_by_later_launches() -> None:
    context = Context()
    out = zeros(context)
    for which, value in ((0, 10), (1, 25)):
        context.launch(METHODS, entry="choose", grid=1, block=1, args=[which])
        assert context.launch(METHODS, entry="call", grid=1, block=1, args=[out]).findings == ()
        assert words(context, out) == [value]


def test_blocks_of_the_heap_outlive_the_launch_that_allocated_them() -> None:
    context = Context()
    out = zeros(context)
    for _ in range(2):
        assert context.launch(HEAP, entry="take", grid=1, block=1).findings == ()
        assert context.launch(HEAP, entry="give", grid=1, block=1, args=[out]).findings == ()
        assert words(context, out) == [17]
    with pytest.raises(SimulationError, match="not allocated by malloc, or freed before"):
        context.launch(HEAP, entry="give", grid=1, block=1, args=[out])
    assert [each.rule for each in context.launches[-1].findings] == ["out-of-bounds"]


def test_launches_are_recorded_with_their_findings_and_errors() -> None:
    context, seen = Context(checks="all"), list[int]()
    context.when_complete = lambda launch: seen.append(launch.number)
    x = context.memory.allocate(128, "x")
    record = context.launch(INCREMENT, grid=1, block=32, args=[x])
    assert [each.rule for each in record.findings] == ["uninitialized-memory"]
    assert (record.kernel, record.grid, record.stream, record.after) == ("k", (1, 1, 1), 0, ())
    with pytest.raises(KernelTrap):
        context.launch(module("trap;"), grid=1, block=32, args=[x])
    assert isinstance(context.launches[1].error, KernelTrap)
    assert context.launches[1].result is None
    assert seen == [0, 1]
    assert context.launch(INCREMENT, grid=0, block=32, args=[np.zeros(0, np.uint32)]).findings == ()


def test_the_progress_of_each_launch_is_shown() -> None:
    shown: list[tuple[int, str]] = []

    @contextmanager
    def show(launch: DeviceLaunch) -> Iterator[ProgressCallback]:
        shown.append((launch.number, "begins"))
        yield lambda done, total: shown.append((launch.number, f"{done} of {total}"))
        shown.append((launch.number, "ends"))

    context = Context()
    context.show = show
    for _ in range(2):
        context.launch(INCREMENT, grid=3, block=1, args=[np.zeros(1, np.uint32)])
    assert [number for number, _ in shown] == sorted(number for number, _ in shown)
    for number in (0, 1):
        texts = [text for launch, text in shown if launch == number]
        assert (texts[0], texts[-1]) == ("begins", "ends")
        assert "3 of 3" in texts


def test_arrays_of_the_host_are_modified_when_their_launch_completes() -> None:
    context, array = Context(seed=1), np.zeros(32, np.uint32)
    context.launch(INCREMENT, grid=1, block=32, args=[array])
    assert not array.any()
    context.synchronize()
    assert array.tolist() == [1] * 32


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_run_in_an_order_that_streams_events_and_graphs_allow(seed: int) -> None:
    """The reference is the definition: the transitive order of program order in streams, events, and captures."""
    choose, context = random.Random(seed), Context(seed=seed)
    streams = [context.default_stream, *(context.stream(blocking=choose.random() < 0.5) for _ in range(3))]
    ran, before = list[int](), dict[int, set[int]]()
    last, events = dict[Any, set[int]]((stream, set()) for stream in streams), list[tuple[Any, set[int]]]()

    def reach(numbers: set[int]) -> set[int]:
        return numbers.union(*(before[number] for number in numbers))

    def predecessors(stream: Any) -> set[int]:
        found = set(last[stream])
        if stream is streams[0]:
            found = found.union(*(last[other] for other in streams if other.blocking))
        elif stream.blocking:
            found |= last[streams[0]]
        return reach(found)

    for number in range(60):
        stream, what = choose.choice(streams), choose.random()
        if what < 0.6:
            before[number] = predecessors(stream)
            last[stream] = {number}
            context.enqueue(partial(ran.append, number), "step", stream)
        elif what < 0.75:
            events.append((stream.record(), predecessors(stream)))
        elif what < 0.95 and events:
            event, seen = choose.choice(events)
            stream.wait(event)
            last[stream] = last[stream] | seen
        elif what < 0.98:
            stream.synchronize()
            assert predecessors(stream) <= set(ran)
        elif events:
            event, seen = choose.choice(events)
            event.synchronize()
            assert seen <= set(ran)
    context.synchronize()
    assert sorted(ran) == sorted(before)
    position = {number: at for at, number in enumerate(ran)}
    assert all(position[early] < position[late] for late, found in before.items() for early in found)
    assert (ran == sorted(ran)) == (seed == 0)


def test_what_nothing_orders_runs_in_every_order() -> None:
    orders = set[tuple[int, ...]]()
    for seed in range(40):
        context, ran = Context(seed=seed), list[int]()
        for number in range(3):
            context.enqueue(partial(ran.append, number), "step", context.stream(blocking=False))
        context.synchronize()
        orders.add(tuple(ran))
    assert len(orders) == 6


def test_a_graph_runs_what_was_captured_in_its_order_each_time_it_is_launched() -> None:
    for seed in range(8):
        context, ran = Context(seed=seed), list[str]()
        one, two = context.stream(blocking=False), context.stream(blocking=False)

        def step(name: str, stream: Any, context: Context = context, ran: list[str] = ran) -> None:
            context.enqueue(partial(ran.append, name), name, stream)

        step("earlier", one)
        with one.capture() as graph:
            step("fork", one)
            two.wait(one.record())
            step("left", one)
            step("right", two)
            one.wait(two.record())
            step("join", one)
            with pytest.raises(LaunchError, match="during its capture"):
                one.synchronize()
        assert "fork" not in ran
        for _ in range(2):
            graph.launch(one)
        step("later", one)
        one.synchronize()
        assert [ran[0], ran[-1], len(ran)] == ["earlier", "later", 10]
        for part in (ran[1:5], ran[5:9]):
            assert (part[0], part[3], {*part[1:3]}) == ("fork", "join", {"left", "right"})


def test_captured_launches_run_with_their_arguments_again() -> None:
    context = Context()
    x, stream = zeros(context), context.stream()
    with stream.capture() as graph:
        record = context.launch(INCREMENT, grid=1, block=32, args=[x], stream=stream)
    assert (record.result, words(context, x)) == (None, [0])
    for _ in range(3):
        graph.launch()
    context.synchronize()
    assert words(context, x, 32) == [3] * 32
    assert len(context.launches) == 3


def test_a_host_that_polls_an_event_makes_progress() -> None:
    context, ran = Context(seed=3), list[int]()
    stream = context.stream()
    for number in range(5):
        context.enqueue(partial(ran.append, number), "step", stream)
    event, polls = stream.record(), 0
    while not event.complete:
        polls += 1
        assert polls < 10
    assert ran == list(range(5))
    assert stream.idle


PRIMARY = module("st.global.u32 [%rd1], %r0; griddepcontrol.launch_dependents;")
DEPENDENT = ".param .u64 out, .param .u64 x"


def dependent(wait: str) -> str:
    load = "ld.param.u64 %rd2, [x]; mad.wide.u32 %rd3, %r0, 4, %rd2; ld.global.u32 %r1, [%rd3];"
    return module(f"{wait} {load} st.global.u32 [%rd1], %r1;", DEPENDENT)


@pytest.mark.hopper
@pytest.mark.parametrize("seed", range(3))
def test_a_dependent_launch_overlaps_the_launch_before_it(seed: int) -> None:
    for wait, rules in (("griddepcontrol.wait;", set()), ("", {"global-race"})):
        context = Context(seed=seed)
        x, y = zeros(context), zeros(context)
        first = context.launch(PRIMARY, grid=1, block=32, args=[x])
        second = context.launch(dependent(wait), grid=1, block=32, args=[y, x], programmatic_dependent=True)
        context.synchronize()
        assert (first.within, first.findings) == (second.number, ())
        assert {each.rule for each in second.findings} == rules
        if wait:
            assert words(context, y, 32) == list(range(32))


def test_findings_of_complete_schedules_are_kept_when_another_one_is_ended() -> None:
    calls: list[int] = []

    def progress(done: int, _total: int) -> None:
        calls.append(done)
        if len(calls) > 1:
            raise TimeoutError

    context = Context(schedules=(Schedule(0), Schedule(1)), progress=progress)
    with pytest.raises(TimeoutError):
        context.launch(INCREMENT, grid=1, block=32, args=[context.memory.allocate(128, "x")])
    (record,) = context.launches
    assert record.result is None
    assert [(each.rule, each.notes[-1]) for each in record.findings] == [("uninitialized-memory", "found with seed 1")]
