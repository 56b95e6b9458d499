"""Progress of runs, and the partial results that an interrupt, a real signal, leaves."""

from __future__ import annotations

import json
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pyptx_sim
from pyptx_ir.commands import INTERRUPTED, main
from pyptx_sim import Launch, Schedule
from pyptx_sim.errors import ExplorationInterrupted, SimulationInterrupted
from pyptx_sim.machine.grid_progress import GridProgress

from .ptx_text import rules_found

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LAST_LANE = 31
# Each thread counts to `count`; all threads of the grid write the same word, which is a data race.
PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 count)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<4>;
	.reg .pred %p1;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r2, [count];
	mov.u32 %r1, 0;
	mov.u32 %r3, %laneid;
	st.global.u32 [%rd1], %r3;
L:
	add.u32 %r1, %r1, 1;
	setp.lt.u32 %p1, %r1, %r2;
	@%p1 bra L;
	ret;
}
"""


@pytest.fixture
def interrupting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Send SIGINT to this process in a report after the first stores and exits; yield the reports so far."""
    reports: list[str] = []

    def report(progress: GridProgress) -> None:
        reports.append(str(progress))
        if len(reports) > 5 and not reports[-1].startswith("0"):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(GridProgress, "report", report)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield reports
    signal.signal(signal.SIGINT, before)


def calls(grid: int, count: int, **options: Any) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    word = np.zeros(1, np.uint32)
    pyptx_sim.run(PTX, grid=grid, block=32, args=[word, count], progress=lambda *call: found.append(call), **options)
    return found


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call the callback in every report of progress, not only 20 times per second."""
    monkeypatch.setattr("pyptx_sim.machine.grid_progress.SPACING", 0.0)


@pytest.mark.usefixtures("always")
def test_the_ctas_that_have_exited_are_counted_up_to_all() -> None:
    found = calls(100, 400, checks="none", resident_blocks=10)
    assert {total for _, total in found} == {100}
    assert [done for done, _ in found] == sorted(done for done, _ in found)
    assert len({done for done, _ in found}) == 11
    assert found[-1] == (100, 100)


@pytest.mark.usefixtures("always")
def test_a_launch_of_one_cta_counts_steps_without_a_total() -> None:
    found = calls(1, 2_000, checks="none")
    assert {total for _, total in found} == {0}
    assert [done for done, _ in found] == sorted(done for done, _ in found)
    assert len(found) > 3
    assert found[-1][0] > 2_000


def test_results_and_findings_do_not_depend_on_progress() -> None:
    word = np.zeros(1, np.uint32)
    plain = pyptx_sim.run(PTX, grid=8, block=64, args=[word, 100], seed=3)
    assert pyptx_sim.run(PTX, grid=8, block=64, args=[word, 100], seed=3, progress=lambda *_: None) == plain


def test_calls_are_at_least_a_twentieth_of_a_second_apart() -> None:
    assert len(calls(100, 400, checks="none", resident_blocks=10)) < 20


def test_an_exception_of_the_callback_ends_the_run() -> None:
    with pytest.raises(ZeroDivisionError):
        pyptx_sim.run(PTX, grid=2, block=32, args=[np.zeros(1, np.uint32), 1], progress=lambda done, _: done // 0)


@pytest.mark.parametrize("threads", [0, 2])
def test_explore_counts_schedules(threads: int) -> None:
    found: list[tuple[int, int]] = []
    launch = Launch(grid=1, block=32, args=[np.zeros(1, np.uint32), 1])
    with ThreadPoolExecutor(2) as executor:
        workers = executor if threads else 1
        pyptx_sim.explore(PTX, launch, seeds=range(3), workers=workers, progress=lambda *call: found.append(call))
    assert found == [(done, 6) for done in range(1, 7)]


@pytest.mark.parametrize(
    ("grid", "count", "options", "extent"),
    [(1, 200_000, {}, r"\d[\d,]* steps"), (200, 50, {"resident_blocks": 1}, r"[1-9]\d* of 200 CTAs")],
)
def test_an_interrupt_has_the_findings_so_far_and_no_launch_runs_again(
    grid: int, count: int, options: dict[str, Any], extent: str, interrupting: list[str]
) -> None:
    word = np.zeros(1, np.uint32)
    with pytest.raises(SimulationInterrupted, match=f"^interrupted after {extent}$") as caught:
        pyptx_sim.run(PTX, grid=grid, block=64, args=[word, count], **options)
    assert rules_found(caught.value.findings) == {"global-race", "lane-race"}
    assert word[0] == LAST_LANE
    assert len(interrupting) < 20


@pytest.mark.usefixtures("interrupting")
def test_an_interrupted_run_of_an_exploration_has_findings_and_leaves_the_arrays() -> None:
    word = np.zeros(1, np.uint32)
    with pytest.raises(ExplorationInterrupted, match="interrupted after 0 of 32 schedules") as caught:
        pyptx_sim.explore(PTX, grid=1, block=64, args=[word, 200_000])
    assert rules_found(caught.value.findings) == {"global-race", "lane-race"}
    assert not caught.value.exploration.results
    assert word[0] == 0


def test_an_interrupted_exploration_has_the_outcomes_of_completed_schedules() -> None:
    def interrupting(done: int, total: int) -> None:
        if (done, total) == (2, 6):
            raise KeyboardInterrupt

    word = np.zeros(1, np.uint32)
    with pytest.raises(ExplorationInterrupted, match="interrupted after 2 of 6 schedules") as caught:
        pyptx_sim.explore(PTX, grid=1, block=32, args=[word, 1], seeds=range(3), progress=interrupting)
    exploration = caught.value.exploration
    assert list(exploration.results) == [Schedule(0, delay_async=True), Schedule(1)]
    assert caught.value.findings == exploration.all_findings
    assert {each.rule for each in exploration.all_findings} == {"lane-race"}


@pytest.fixture
def launch(tmp_path: Path) -> list[str]:
    """Return the words of a long launch for commands."""
    (tmp_path / "k.ptx").write_text(PTX)
    return [str(tmp_path / "k.ptx"), "--block", "64", "--arg", "u32[1]", "--arg", "200000"]


@pytest.mark.usefixtures("interrupting")
@pytest.mark.parametrize("style", ["text", "json", "sarif"])
def test_the_command_prints_the_findings_so_far(
    style: str, launch: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sim", *launch, "--format", style]) == INTERRUPTED
    out, error = capsys.readouterr()
    assert re.fullmatch(r"\ninterrupted after \d[\d,]* steps\n", error)
    if style == "text":
        assert out.count("error[") == 1
    elif style == "json":
        found = json.loads(out)
        assert [each["rule"] for each in found["problems"]] == ["global-race"]
        assert found["unreadable"][0]["message"] == error.strip()
    else:
        (run,) = json.loads(out)["runs"]
        assert len(run["results"]) == 1
        assert not run["invocations"][0]["executionSuccessful"]


@pytest.mark.usefixtures("interrupting")
def test_the_timeline_of_an_interrupted_run_is_written(
    launch: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.json"
    assert main(["trace", *launch, "-o", str(path)]) == INTERRUPTED
    assert capsys.readouterr().out.endswith(f"timeline: {path} (open it at https://ui.perfetto.dev)\n")
    assert "interrupted after" in path.read_text()


@pytest.mark.parametrize("name", ["run.json", "run.svg"])
def test_trace_writes_the_timeline_of_sim(
    name: str, launch: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launch[-1] = "2"
    assert main(["trace", *launch, "-o", str(tmp_path / name)]) == 1
    traced = capsys.readouterr().out
    assert main(["sim", *launch, "--trace", str(tmp_path / f"sim-{name}")]) == 1
    assert traced == capsys.readouterr().out.replace(f"sim-{name}", name)
    assert (tmp_path / name).read_bytes() == (tmp_path / f"sim-{name}").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [([], "required: -o/--output"), (["-o", "run.txt"], "trace must be a .json or .svg file")],
)
def test_trace_needs_the_name_of_a_file(
    words: list[str], message: str, launch: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", *launch, *words]) == 2
    assert message in capsys.readouterr().err
