"""Timelines: invariants of every recording, of correct and faulty kernels, under every schedule."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tools.shares import share

from pyptx_ir.plugins.rows import Frame, TensorMap
from pyptx_ir.syntax import parse
from pyptx_sim import WithDescriptor, run
from pyptx_sim.errors import Deadlock, KernelTrap, LaunchError, MemoryFault, SimulationError, StepLimitExceeded
from pyptx_sim.instructions.compiling.table import compile_program
from pyptx_sim.machine.asynchrony.engine import Engine
from pyptx_sim.machine.machine import Machine
from pyptx_sim.program.lowering import lower
from pyptx_sim.timeline import model, recording
from pyptx_sim.timeline.drawing import drawing
from pyptx_sim.timeline.source_lines import SourceLines

from .injected_async_bugs import INJECTED
from .ptx_text import execute, module
from .test_async_copy import SCHEDULES
from .test_pipeline import BLOCKS, BOX, PTX, STEPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyptx_sim import Result

pytestmark = [pytest.mark.scaled, pytest.mark.hopper]

Event = dict[str, Any]

# The second warp waits for bytes that no thread sends. The first warp waits for its copy, then for the second warp.
STUCK = """
ld.param.u64 %rd2, [x];
mov.u32 %r1, bar;
mov.u32 %r2, s;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra READY;
mbarrier.init.shared.b64 [%r1], 1;
mbarrier.init.shared.b64 [%r1+8], 1;
fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 96;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 64, [%r1];
READY:
bar.sync 0;
setp.lt.u32 %p2, %r0, 32;
@%p2 bra FIRST;
SECOND:
mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0;
@!%p3 bra SECOND;
mbarrier.arrive.shared.b64 _, [%r1+8];
FIRST:
mbarrier.try_wait.parity.shared.b64 %p3, [%r1+8], 0;
@!%p3 bra FIRST;
"""

# Two stages of cp.async by two warps; the odd lanes of the second warp diverge and reconverge with the others.
COPIES = """
ld.param.u64 %rd2, [x];
mov.u32 %r2, s;
mad.lo.u32 %r1, %r0, 16, %r2;
mad.wide.u32 %rd3, %r0, 16, %rd2;
mov.u32 %r5, 0;
cp.async.ca.shared.global [%r1], [%rd3], 16;
cp.async.commit_group;
NEXT:
cp.async.ca.shared.global [%r1+1024], [%rd3], 16;
cp.async.commit_group;
cp.async.wait_group 1;
bar.sync 0;
ld.shared.u32 %r3, [%r1];
and.b32 %r4, %r0, 33;
setp.eq.u32 %p1, %r4, 33;
@%p1 bra ODD;
bra MEET;
ODD:
add.u32 %r3, %r3, 1;
xor.b32 %r3, %r3, 1;
MEET:
bar.warp.sync -1;
cp.async.wait_group 0;
bar.sync 0;
add.u32 %r5, %r5, 1;
setp.lt.u32 %p2, %r5, 3;
@%p2 bra NEXT;
st.global.u32 [%rd1], %r3;
"""


def pipeline(text: str) -> Callable[..., Result]:
    """Return a function that runs the kernel of `test_pipeline`, or a variant of it."""

    def launch(**options: Any) -> Result:
        x = np.arange(BOX[0] * BLOCKS * BOX[1] * STEPS, dtype=np.float32).reshape(BOX[0] * BLOCKS, BOX[1] * STEPS)
        described = TensorMap("f32", x.shape, x.strides, BOX, (1, 1))
        arguments = [np.zeros((BLOCKS, 128), np.float32), WithDescriptor(x, described)]
        return run(text, grid=BLOCKS, block=160, args=arguments, **options)

    return launch


def injected(title: str) -> Callable[..., Result]:
    """Return a function that runs a kernel with an injected fault (`faulty`) or without it."""
    case = next(case for case in INJECTED if case.title == title)

    def launch(*, faulty: bool = False, **options: Any) -> Result:
        a, b = np.arange(1, 257, dtype=np.uint32), np.zeros(256, np.uint32)
        arguments = [a, b, WithDescriptor(a, TensorMap("u32", (16, 16), (64, 4), (8, 8), (1, 1)))]
        text = case.text(case.faulty if faulty else case.mended)
        return run(text, grid=case.blocks, cluster=case.blocks, block=64, args=arguments, **options)

    return launch


def copies(**options: Any) -> Result:
    x, out = np.arange(256 + 256, dtype=np.uint32), np.zeros(64, np.uint32)
    before, parameters = ".shared .align 128 .b8 s[2048];", ".param .u64 out, .param .u64 x"
    return execute(COPIES, out, x, grid=1, block=64, before=before, parameters=parameters, **options)


def stuck(**options: Any) -> Result:
    x, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    before = ".shared .align 128 .b8 s[128];\n.shared .align 8 .b64 bar[2];"
    parameters = ".param .u64 out, .param .u64 x"
    return execute(STUCK, out, x, grid=1, block=64, before=before, parameters=parameters, **options)


CASES: dict[str, Callable[..., Result]] = {
    "pipeline": pipeline(PTX),
    "stuck": stuck,
    "copies": copies,
    **{case.title: injected(case.title) for case in share(INJECTED, 6)},
}
TURNS = share(range(len(SCHEDULES)), 2, 1)  # default indices in SCHEDULES: of seed 1, and of delayed completion


@dataclass(frozen=True, eq=False)
class Recorded:
    """Result of a run, and its recorded timeline as JSON text."""

    result: Result
    text: str

    @cached_property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.text)
        return document

    def events(self, *phases: str) -> list[Event]:
        return [event for event in self.document["traceEvents"] if event["ph"] in phases]

    def tracks(self, *phases: str) -> dict[tuple[int, int], list[Event]]:
        found: dict[tuple[int, int], list[Event]] = defaultdict(list)
        for event in self.events(*phases):
            found[event["pid"], event["tid"]].append(event)
        return found

    def names(self, what: str) -> list[str]:
        return [event["args"]["name"] for event in self.events("M") if event["name"] == what]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("timelines")


def record(launch: Callable[..., Result], path: Path, **options: Any) -> Recorded:
    result = launch(trace=path, trace_blocks=64, **options)
    return Recorded(result, path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def recorded(folder: Path) -> Callable[[str, int], Recorded]:
    return cache(lambda name, schedule: record(CASES[name], folder / "it.json", **SCHEDULES[schedule]))


@pytest.fixture(params=[(name, schedule) for name in CASES for schedule in TURNS], ids=str, scope="module")
def one(request: pytest.FixtureRequest, recorded: Callable[[str, int], Recorded]) -> Recorded:
    """Return the recorded run of one case under one schedule, for each case and schedule."""
    found: Recorded = recorded(*request.param)
    return found


# --- invariants of every recording ----------------------------------------------------------------------

FIELDS = {"X": {"dur": int}, "i": {"s": str}, "C": {}, "s": {"id": int}, "f": {"id": int, "bp": str}}
COMMON = {"name": str, "cat": str, "ts": int, "pid": int}


def test_events_have_the_fields_that_the_format_asks_for(one: Recorded) -> None:
    assert {"traceEvents", "displayTimeUnit", "otherData"} == one.document.keys()
    assert one.events("M") == one.document["traceEvents"][: len(one.events("M"))]
    processes = {event["pid"] for event in one.events("M") if event["name"] == "process_name"}
    threads = {(event["pid"], event["tid"]) for event in one.events("M") if event["name"] == "thread_name"}
    last = 0
    for event in one.events(*FIELDS):
        for field, kind in (COMMON | FIELDS[event["ph"]]).items():
            assert type(event[field]) is kind
        assert list(event)[:2] == ["ph", "ts"]  # Perfetto's tokenizer reads an event's fields only up to `ts`
        assert last <= event["ts"] <= one.document["otherData"]["ticks"]
        last = event["ts"]
        assert event["pid"] in processes
        assert event["ph"] == "C" or (event["pid"], event["tid"]) in threads
    numbers = {tid for _, tid in threads}
    assert len(numbers) == len(threads)  # some trace viewers identify threads by tid alone
    assert not numbers & processes  # some viewers take tid == pid for a process's main thread
    assert len(one.events("M", *FIELDS)) == len(one.document["traceEvents"])


def test_spans_of_a_track_do_not_overlap(one: Recorded) -> None:
    for spans in one.tracks("X").values():
        ends = [span["ts"] + span["dur"] for span in spans]
        assert all(span["dur"] > 0 for span in spans)
        assert all(end <= following["ts"] for end, following in zip(ends, spans[1:], strict=False))


def test_every_instruction_that_was_executed_lies_in_a_span(one: Recorded) -> None:
    spans = one.events("X")
    assert sum(span["args"].get("instructions", 0) for span in spans) == one.result.statistics.instructions
    assert all(span["args"]["instructions"] == span["dur"] for span in spans if span["cat"] == "run")


def test_arrows_go_forwards_between_things_that_happen(one: Recorded) -> None:
    starts = {event["id"]: event for event in one.events("s")}
    ends = {event["id"]: event for event in one.events("f")}
    assert starts.keys() == ends.keys()
    assert len(starts) == len(one.events("s")) == len(one.events("f"))
    spans = one.tracks("X")
    for number, start in starts.items():
        assert start["ts"] <= ends[number]["ts"]
        assert start["name"] == ends[number]["name"]
        for end in (start, ends[number]):
            here = spans[end["pid"], end["tid"]]
            assert sum(span["ts"] <= end["ts"] < span["ts"] + span["dur"] for span in here) == 1


def test_work_is_issued_by_a_running_warp_and_lands_later(one: Recorded) -> None:
    work = [event for event in one.events("X") if event["cat"] == "async"]
    begun = [(event["pid"], event["tid"], event["ts"]) for event in one.events("f") if event["name"] == "issue"]
    assert sorted(begun) == sorted((event["pid"], event["tid"], event["ts"]) for event in work)
    assert all(event["args"]["operations"] > 0 for event in work)
    left = {(event["pid"], event["tid"]) for event in one.events("s") if event["name"] == "issue"}
    assert left <= {place for place, spans in one.tracks("X").items() if {s["cat"] for s in spans} <= {"run", "wait"}}


def test_everything_ends_unless_the_run_is_stuck(one: Recorded) -> None:
    stuck = any(finding.rule == "deadlock" for finding in one.result.findings)
    endless = [span for span in one.events("X") if span["args"].get("ended") is False]
    assert bool(endless) == stuck
    assert all(span["name"].endswith("(never ends)") for span in endless)


@pytest.mark.parametrize("schedule", TURNS)
@pytest.mark.parametrize("name", CASES)
def test_recording_changes_nothing_of_a_run(name: str, schedule: int, recorded: Callable[[str, int], Recorded]) -> None:
    assert recorded(name, schedule).result == CASES[name](**SCHEDULES[schedule])


@pytest.mark.parametrize(("name", "schedule"), [("pipeline", 1), ("copies", 3)])
def test_the_same_run_gives_the_same_bytes(
    name: str, schedule: int, recorded: Callable[[str, int], Recorded], folder: Path
) -> None:
    assert record(CASES[name], folder / "again.json", **SCHEDULES[schedule]).text == recorded(name, schedule).text


# --- contents -------------------------------------------------------------------------------------------


def test_counts_of_an_mbarrier_go_down_and_come_back(recorded: Callable[[str, int], Recorded]) -> None:
    counts: dict[tuple[int, str], list[Event]] = defaultdict(list)
    for event in recorded("pipeline", 3).events("C"):
        counts[event["pid"], event["name"]].append(event["args"])
    assert len(counts) == 2 * 3 * BLOCKS
    for (_, name), values in counts.items():
        expected = 4 if "empty" in name else 1
        arrivals = [value["pending arrivals"] for value in values]
        pending = [value["pending bytes"] for value in values]
        assert arrivals[0] == max(arrivals) == expected
        assert (arrivals[-1], pending[-1]) == (expected, 0)
        assert set(pending) == ({0} if "empty" in name else {0, 4096})


def test_a_pipeline_shows_its_waits_its_copies_and_what_woke_whom(recorded: Callable[[str, int], Recorded]) -> None:
    late = recorded("pipeline", 3)
    assert late.names("process_name") == ["CTA (0, 0, 0)", "CTA (1, 0, 0)"]
    assert late.names("thread_name")[:6] == ["warp 0", "warp 0, from lane 1", *(f"warp {i}" for i in range(1, 5))]
    loads = [event for event in late.events("X") if event["cat"] == "async"]
    assert [event["name"] for event in loads] == ["cp.async.bulk.tensor.2d"] * STEPS * BLOCKS
    assert {event["args"]["bytes written"] for event in loads} == {4096}
    waits = {event["name"] for event in late.events("X") if event["cat"] == "wait"}
    assert {f"waiting at mbarrier full+{8 * stage}, phase 0" for stage in range(3)} <= waits
    woken = [event for event in late.events("f") if event["name"] == "completion"]
    assert len(woken) == STEPS * BLOCKS * 4  # each completed load wakes four consumer warps
    assert any(event["name"] == "arrival" for event in late.events("f"))  # an arrival at `empty` wakes the producer
    seen = [event["name"] for event in late.events("i") if event["cat"] == "phase"]
    assert seen.count("mbarrier full+0, phase 0 complete") == 4 * BLOCKS


def test_copies_in_groups_lead_to_whoever_waits_for_them(recorded: Callable[[str, int], Recorded]) -> None:
    late = recorded("copies", 3)
    assert {"cp.async", "cp.async #2"} <= set(late.names("thread_name"))
    work = [event for event in late.events("X") if event["cat"] == "async"]
    assert {event["name"] for event in work} == {"cp.async.ca"}
    assert all(event["args"]["bytes written"] == event["args"]["bytes read"] == 64 * 16 for event in work)
    assert all(event["args"]["warps"] == "0-1" for event in work)
    assert len([event for event in late.events("s") if event["name"] == "completion"]) == len(work) == 4


def test_lanes_that_part_have_a_track_of_their_own_until_they_meet(recorded: Callable[[str, int], Recorded]) -> None:
    shown = recorded("copies", 3)
    assert [name for name in shown.names("thread_name") if "lane" in name] == ["warp 1, from lane 1"]
    odd = [event for event in shown.events("X") if event["args"].get("lanes") == ", ".join(map(str, range(1, 32, 2)))]
    assert [event["name"] for event in odd] == ["ODD"] * 3


def test_lanes_that_come_early_to_where_their_warp_meets_wait_there(folder: Path) -> None:
    body = """
    and.b32 %r1, %r0, 1;
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra ODD;
    bar.warp.sync -1;
    bra MEET;
    ODD:
    add.u32 %r1, %r1, 1;
    bar.warp.sync -1;
    MEET:
    st.global.u32 [%rd1], %r1;
    """
    shown = record(lambda **options: execute(body, np.zeros(32, np.uint32), **options), folder / "meet.json")
    waits = [event for event in shown.events("X") if event["cat"] == "wait"]
    assert {event["name"] for event in waits} == {"lanes synchronize at bar.warp.sync"}
    odd = next(event for event in shown.events("X") if event["name"] == "ODD")
    assert odd["tid"] != waits[0]["tid"]
    assert waits[0]["ts"] <= odd["ts"] < waits[0]["ts"] + waits[0]["dur"]


def test_a_barrier_is_a_wait_for_whoever_comes_early_and_a_mark_for_the_last(folder: Path) -> None:
    body = "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra LATE;\nbar.sync 0;\nexit;\nLATE:\nadd.u32 %r1, %r0, 1;\nbar.sync 0;"
    shown = record(lambda **options: execute(body, np.zeros(64, np.uint32), block=64, **options), folder / "bar.json")
    (wait,) = [event for event in shown.events("X") if event["cat"] == "wait"]
    (mark,) = [event for event in shown.events("i") if event["cat"] == "barrier"]
    assert wait["name"] == "bar.sync 0"
    assert mark["name"] == "bar.sync"
    assert wait["tid"] != mark["tid"]
    assert wait["ts"] + wait["dur"] == mark["ts"] + 1


def test_a_finding_is_marked_where_it_happens(folder: Path) -> None:
    shown = record(injected(INJECTED[0].title), folder / "found.json", faulty=True)
    (finding, *_) = shown.result.findings
    marks = [event for event in shown.events("i") if event["cat"] == "finding"]
    assert finding.headline in {mark["name"] for mark in marks}
    assert finding.line in {mark["args"]["ptx line"] for mark in marks}


def test_spans_are_named_after_the_line_of_python_that_wrote_them(folder: Path) -> None:
    text = module("add.u32 %r1, %r0, 1;\nst.global.u32 [%rd1], %r1;")
    origins = {n: (Frame("/a/kernels.py", 7, "inner"), Frame("/a/kernels.py", 30, "k")) for n in range(1, 60)}
    path = folder / "python.json"
    run(text, grid=1, block=32, args=[np.zeros(32, np.uint32)], origins=origins, trace=path)
    (span,) = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert span["name"] == "kernels.py:7"
    assert span["args"]["source"] == ["/a/kernels.py:7 in inner", "/a/kernels.py:30 in k"]
    assert span["args"]["lanes"] == "0-31"


# --- runs that end with a deadlock or an error ----------------------------------------------------------


@pytest.mark.parametrize(
    ("checks", "schedule"), [("all", {}), ("none", {"seed": 1}), ("none", {"delay_async": True})], ids=str
)
def test_a_deadlock_is_written_and_says_what_never_came(schedule: dict[str, Any], checks: str, folder: Path) -> None:
    path = folder / "deadlock.json"
    if checks == "none":
        with pytest.raises(Deadlock):
            stuck(trace=path, checks=checks, **schedule)
    else:
        stuck(trace=path, checks=checks, **schedule)
    document = json.loads(path.read_text())
    assert (document["otherData"]["error"] is None) == (checks == "all")
    endless = {e["name"]: e for e in document["traceEvents"] if e.get("args", {}).get("ended") is False}
    names = [f"waiting at mbarrier bar+{offset}, phase 0 (never ends)" for offset in (0, 8)]
    assert sorted(endless) == names
    assert "tx-count 32" in endless[names[0]]["args"]["why"]
    assert "no arrivals since mbarrier.init" in endless[names[1]]["args"]["why"]
    # The polls before the simulator reports the deadlock are part of the span of the wait, and take no ticks.
    assert all(event["args"]["retries"] > 0 for event in endless.values())
    assert {event["ts"] + event["dur"] for event in endless.values()} == {document["otherData"]["ticks"]}
    assert document["otherData"]["ticks"] < 60


def test_a_barrier_that_some_threads_never_reach_says_how_many_came(folder: Path) -> None:
    body = "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra LONE;\nbar.sync 1, 96;\nLONE:\nadd.u32 %r1, %r0, 1;"
    shown = record(lambda **options: execute(body, np.zeros(64, np.uint32), block=64, **options), folder / "lone.json")
    (wait,) = [event for event in shown.events("X") if event["args"].get("ended") is False]
    assert wait["name"] == "bar.sync 1 (never ends)"
    assert wait["args"]["why"] == "32 of 96 threads arrived at barrier 1"


BAD_ENDS: list[tuple[str, type[SimulationError], dict[str, Any]]] = [
    ("mov.u64 %rd1, 0;\nst.global.u32 [%rd1], %r0;", MemoryFault, {"checks": "none"}),
    ("trap;", KernelTrap, {}),
    ("AGAIN:\nadd.u32 %r0, %r0, 1;\nbra AGAIN;", StepLimitExceeded, {"step_limit": 300}),
]


@pytest.mark.parametrize(("body", "error", "options"), BAD_ENDS, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize("suffix", ["json", "svg"])
def test_a_run_that_stops_with_an_error_is_written(
    body: str, error: type[SimulationError], options: dict[str, Any], suffix: str, folder: Path
) -> None:
    path = folder / f"{error.__name__}.{suffix}"
    with pytest.raises(error) as raised:
        execute(body, np.zeros(32, np.uint32), trace=path, **options)
    text = path.read_text(encoding="utf-8")
    if suffix == "json":
        assert json.loads(text)["otherData"]["error"] == raised.value.message
    else:
        assert raised.value.message[:40] in "".join(ET.fromstring(text).itertext())  # noqa: S314 - our own file


# --- limits of recordings, and their files --------------------------------------------------------------


def numbered(grid: int, **options: Any) -> Result:
    return execute("st.global.u32 [%rd1], %r0;", np.zeros(32, np.uint32), grid=grid, checks="none", **options)


@pytest.mark.parametrize(
    ("options", "count"), [({}, 8), ({"trace_blocks": 3}, 3), ({"trace_blocks": 3, "cluster": 2}, 4)], ids=str
)
def test_the_first_blocks_are_recorded_and_clusters_whole(options: dict[str, Any], count: int, folder: Path) -> None:
    path = folder / "some.json"
    numbered(16, trace=path, **options)
    shown = Recorded(numbered(16), path.read_text())
    assert shown.names("process_name") == [f"CTA ({x}, 0, 0)" for x in range(count)]
    assert len(shown.events("X")) == count


def test_blocks_that_run_in_later_waves_are_recorded_too(folder: Path) -> None:
    path = folder / "waves.json"
    result = numbered(600, trace=path, trace_blocks=600)
    assert result.statistics.waves > 1
    shown = Recorded(result, path.read_text())
    assert len(shown.names("process_name")) == 600
    assert sum(span["args"]["instructions"] for span in shown.events("X")) == result.statistics.instructions
    numbered(600, trace=path, trace_blocks=5)
    assert len(Recorded(result, path.read_text()).names("process_name")) == 5


def test_of_a_run_too_long_to_keep_the_end_is_kept(
    monkeypatch: pytest.MonkeyPatch, recorded: Callable[[str, int], Recorded], folder: Path
) -> None:
    whole = recorded("pipeline", 3)
    monkeypatch.setattr(model, "KEPT", 50)
    part = record(pipeline(PTX), folder / "part.json", delay_async=True)
    assert part.document["otherData"]["spans dropped"] == len(whole.events("X")) - 50
    assert {json.dumps(span["args"]) for span in part.events("X")} <= {
        json.dumps(span["args"]) for span in whole.events("X")
    }
    assert max(span["ts"] for span in part.events("X")) == max(span["ts"] for span in whole.events("X"))
    spans = part.tracks("X")
    assert all((event["pid"], event["tid"]) in spans for event in part.events("s", "f"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trace": "out.png"}, "must be a .json or .svg file"),
        ({"trace": "no/such/folder/out.json"}, "no such folder"),
        ({"trace": "out.json", "trace_blocks": 0}, "must be positive, got 0"),
    ],
    ids=str,
)
def test_a_file_that_cannot_be_written_is_refused_before_the_run(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LaunchError, match=message) as raised:
        numbered(1, **options)
    assert raised.value.help


def test_without_a_trace_the_machine_is_the_plain_one(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    machines: list[Machine] = []
    go = Machine.turns

    def noticed(machine: Machine, random: np.random.Generator | None) -> Iterator[bool]:
        machines.append(machine)
        return go(machine, random)

    monkeypatch.setattr(Machine, "turns", noticed)
    numbered(2)
    numbered(2, trace=folder / "noticed.json")
    plain, watched = machines
    assert plain.code is compile_program(plain.program, checked=False, exact=False, schedule="fixed")
    assert plain.make_engine is Engine
    assert not plain.observers.active
    assert watched.code is not compile_program(watched.program, checked=False, exact=False)
    assert watched.observers.active


# --- the drawing ----------------------------------------------------------------------------------------


def drawn(launch: Callable[..., Result], path: Path, **options: Any) -> ET.Element:
    launch(trace=path, **options)
    return ET.parse(path).getroot()  # noqa: S314 - our own file


def elements(root: ET.Element, tag: str, kind: str = "") -> Iterator[ET.Element]:
    for element in root.iter(f"{{http://www.w3.org/2000/svg}}{tag}"):
        if kind in (element.get("class") or "").split() or not kind:
            yield element


@pytest.mark.parametrize("name", CASES)
def test_a_drawing_stands_alone_and_holds_every_track(
    name: str, recorded: Callable[[str, int], Recorded], folder: Path
) -> None:
    root = drawn(CASES[name], folder / "it.svg", delay_async=True, trace_blocks=64)
    shown = recorded(name, 3)
    texts = {element.text for element in elements(root, "text")}
    assert {*shown.names("process_name"), *shown.names("thread_name")} <= texts
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for rect in elements(root, "rect"):
        right = float(rect.get("x", 0)) + float(rect.get("width", 0))
        bottom = float(rect.get("y", 0)) + float(rect.get("height", 0))
        assert right <= width + 0.1
        assert bottom <= height + 0.1
    text = (folder / "it.svg").read_text(encoding="utf-8")
    assert "href" not in text
    assert text.count("http") == 1  # only the URL of the SVG namespace


def test_a_drawing_has_a_bar_with_a_tooltip_for_every_span(
    recorded: Callable[[str, int], Recorded], folder: Path
) -> None:
    root = drawn(pipeline(PTX), folder / "bars.svg", delay_async=True)
    spans = [event for event in recorded("pipeline", 3).events("X") if event["pid"] == 1]
    titles = [title.text or "" for group in elements(root, "g") for title in elements(group, "title")]
    assert sorted(title.splitlines()[0] for title in titles) == sorted(span["name"] for span in spans)
    assert sum("bytes written: 4096" in title for title in titles) == STEPS
    assert len(list(elements(root, "path", "arrow"))) > STEPS


def test_what_is_narrower_than_the_screen_can_show_is_drawn_together() -> None:
    program = lower(parse(module("add.u32 %r1, %r0, 1;")), None)
    track = model.Track(0, None, 0, 0)
    timeline = model.Timeline("k", {0: "CTA (0, 0, 0)"}, stop=60_000)
    timeline.spans.extend(model.Span(track, "run", "it", start, start + 3, 0, {}) for start in range(0, 60_000, 3))
    root = ET.fromstring(drawing(timeline, SourceLines(program, program.frames)))  # noqa: S314 - our own file
    bars = [rect for group in elements(root, "g") for rect in elements(group, "rect")]
    assert 1000 < len(bars) <= 2 * 2400
    assert float(root.get("width", 0)) < 3000


def test_many_rows_of_one_engine_are_thin_and_named_once() -> None:
    program = lower(parse(module("add.u32 %r1, %r0, 1;")), None)
    for count, shown in ((8, {f"cp.async #{slot}" for slot in range(2, 9)}), (9, {"cp.async, 9 at once"})):
        timeline = model.Timeline("k", {0: "CTA (0, 0, 0)"}, stop=100)
        tracks = [model.Track(0, "cp.async", 0, slot) for slot in range(count)]
        timeline.spans.extend(model.Span(track, "async", "cp.async.ca", 1, 99, 0, {}) for track in tracks)
        root = ET.fromstring(drawing(timeline, SourceLines(program, program.frames)))  # noqa: S314 - our own file
        names = {element.text for element in elements(root, "text", "row") if element.text}
        assert names - {"cp.async"} == shown
        heights = {float(rect.get("height", 0)) for group in elements(root, "g") for rect in elements(group, "rect")}
        assert heights == ({5.0} if count > 8 else {15.0})


def test_names_are_escaped_and_what_xml_cannot_hold_is_replaced(folder: Path) -> None:
    origins = {n: (Frame('/a/<b>&"c"\x01.py', 7, "<lambda>"),) for n in range(1, 60)}
    path = folder / "escaped.svg"
    run(module("add.u32 %r1, %r0, 1;"), grid=1, block=32, args=[np.zeros(32, np.uint32)], origins=origins, trace=path)
    (title,) = [title.text or "" for title in elements(ET.parse(path).getroot(), "title")]  # noqa: S314 - our own file
    assert title.splitlines()[0] == '<b>&"c"?.py:7'
    assert title.splitlines()[-1] == '<b>&"c"?.py:7 in <lambda>'


def test_formats_are_chosen_by_suffix() -> None:
    assert recording._FORMATS.keys() == {".json", ".svg"}
