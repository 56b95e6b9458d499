"""Checks of many files: in this process, in others, on a compute cluster; each report is yielded when it is ready."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest
from junitparser import JUnitXml

from pyptx_ir.commands import INTERRUPTED, READER_GONE, main
from pyptx_ir.isa.modules import FileReport, check_files, check_text
from pyptx_ir.isa.target_rows import TargetError
from pyptx_ir.processes import IN_FLIGHT

from .modules_broken import entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

GOOD, BAD = entry("add.s32 %r1, %r2, 1;"), entry("add.s32 %r1, %nothing, 1;")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Write a valid file, an invalid one and another valid one; return their paths and a missing file's path."""
    for name, text in (("a", GOOD), ("b", BAD), ("c", GOOD)):
        (tmp_path / f"{name}.ptx").write_text(text)
    return [str(tmp_path / f"{name}.ptx") for name in "abcd"]


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", "import sys; from pyptx_ir.commands import main; sys.exit(main())", "check", *words]


def assert_right(reports: list[FileReport], files: list[str]) -> None:
    assert sorted(report.file for report in reports) == sorted(files)
    of = {report.file: report for report in reports}
    assert [of[name].diagnostics for name in files[:3]] == [(), check_text(BAD), ()]
    assert of[files[1]].shown[0].startswith(f"{files[1]}:10:15: error[undefined-register]")
    assert [(of[name].errors, of[name].warnings) for name in files] == [(0, 0), (1, 0), (0, 0), (0, 0)]
    assert [bool(of[name].unreadable) for name in files] == [False, False, False, True]


def test_files_are_checked_in_order_and_only_when_they_are_asked_for(files: list[str]) -> None:
    asked: list[str] = []

    def names() -> Iterator[str]:
        for name in files:
            asked.append(name)
            yield name

    reports = check_files(names())
    assert next(reports).file == files[0]
    assert asked == files[:1]
    rest = list(reports)
    assert [report.file for report in rest] == files[1:]
    assert_right(list(check_files(files)), files)


@pytest.mark.parametrize(
    "pool",
    [ThreadPoolExecutor, partial(ProcessPoolExecutor, mp_context=get_context("spawn"))],
    ids=["threads", "processes"],
)
def test_any_executor_of_the_standard_library_gives_the_same_reports(
    pool: Callable[[int], Executor], files: list[str]
) -> None:
    with pool(2) as executor:
        assert_right(list(check_files(files, executor=executor)), files)


def test_a_local_cluster_of_dask_gives_the_same_reports(files: list[str]) -> None:
    import distributed

    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert_right(list(check_files(files, executor=client.get_executor())), files)


class Counting(Executor):
    """Executor that runs no task: the test completes its futures, and the last in flight completes at once."""

    def __init__(self) -> None:
        self.futures: list[Future[tuple[FileReport, ...]]] = []

    def submit(self, _: Callable[..., tuple[FileReport, ...]], /, *words: str) -> Future[tuple[FileReport, ...]]:
        future: Future[tuple[FileReport, ...]] = Future()
        self.futures.append(future)
        if len(self.futures) == IN_FLIGHT:  # all `IN_FLIGHT` files are submitted: complete the last first
            future.set_result((FileReport(words[0]),))
        return future


def test_no_more_files_are_handed_out_than_may_wait_and_who_stops_cancels_them() -> None:
    executor = Counting()
    reports = check_files(map(str, range(10 * IN_FLIGHT)), executor=executor)
    assert next(reports).file == str(IN_FLIGHT - 1)
    assert len(executor.futures) == IN_FLIGHT
    reports.close()
    assert all(future.cancelled() for future in executor.futures[:-1])


def test_a_target_that_nobody_knows_is_an_error_before_a_file_is_read() -> None:
    with pytest.raises(TargetError, match="sm_91"):
        check_files(["none.ptx"], target="sm_91")


@pytest.mark.parametrize("jobs", ["1", "2", "0"])
def test_ndjson_is_an_object_a_line_for_each_file(
    jobs: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "-j", jobs, "--format", "ndjson", *files]) == 2
    captured = capsys.readouterr()
    rows = {row["inputs"][0]: row for row in map(json.loads, captured.out.splitlines())}
    assert sorted(rows) == files
    assert [each["rule"] for each in rows[files[1]]["problems"]] == [one.code for one in check_text(BAD)]
    assert "d.ptx" in rows[files[3]]["unreadable"][0]["message"]
    assert "d.ptx" in captured.err


def test_the_exit_status_of_many_files_is_that_of_the_worst(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "-j2", files[0], files[2]]) == 0
    assert main(["check", "-j2", *files[:3]]) == 1
    assert capsys.readouterr().out.endswith("3 files, 1 error, 0 warnings\n")
    assert main(["check", "-j2", *files]) == 2
    assert main(["check", "-j", "-1", *files]) == 2


def test_a_file_is_reported_before_the_next_is_read(tmp_path: Path, files: list[str]) -> None:
    late = tmp_path / "late.ptx"
    os.mkfifo(late)
    words = command("--format", "ndjson", files[0], str(late))
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["inputs"] == [files[0]]  # the second file does not exist yet
        late.write_text(BAD)
        assert json.loads(process.stdout.readline())["counts"]["error"] == 1
    assert process.returncode == 1


@pytest.mark.long
def test_a_reader_that_goes_away_ends_the_command_without_a_word(tmp_path: Path) -> None:
    many = entry("".join(f"mov.b32 %r1, name{i}x;\n" for i in range(3000)))
    paths = [tmp_path / f"{i}.ptx" for i in range(8)]
    for path in paths:
        path.write_text(many)
    for jobs in ("1", "2"):
        words = command("-j", jobs, *map(str, paths))
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == ""
        assert process.returncode == READER_GONE


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_the_command_with_the_number_of_checked_files(jobs: str, tmp_path: Path) -> None:
    for name, text in (("a.ptx", GOOD), ("b.ptx", BAD)):
        (tmp_path / name).write_text(text)
    os.mkfifo(tmp_path / "silent.ptx")
    rest = ["silent.ptx"] if jobs == "1" else ["b.ptx"] * 10_000
    words = command("-j", jobs, "--format", "ndjson", "a.ptx", *rest)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, **pipes, text=True, start_new_session=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)  # a terminal signals the whole process group on Ctrl-C
        try:
            said = process.communicate(timeout=60)[1]
            assert re.fullmatch(rf"\ninterrupted after [1-9]\d* of {1 + len(rest)} files\n", said)
        finally:
            process.kill()
    assert process.returncode == INTERRUPTED


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("style", ["text", "json", "sarif", "junit"])
def test_an_interrupt_leaves_a_valid_report_that_lists_the_files_not_checked(style: str, tmp_path: Path) -> None:
    for name, text in (("a.ptx", GOOD), ("b.ptx", BAD)):
        (tmp_path / name).write_text(text)
    os.mkfifo(tmp_path / "silent.ptx")
    words = command("--format", style, "a.ptx", "b.ptx", "silent.ptx")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, **pipes, text=True, cwd=tmp_path) as process:
        writer = os.open(tmp_path / "silent.ptx", os.O_WRONLY)  # returns when the command reads the pipe
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
        os.close(writer)
    assert (process.returncode, said) == (INTERRUPTED, "\ninterrupted after 2 of 3 files\n")
    if style == "text":
        assert out.endswith("\n2 files, 1 error, 0 warnings\n")
    elif style == "json":
        found = json.loads(out)
        assert (found["inputs"], found["counts"]["error"]) == (["a.ptx", "b.ptx", "silent.ptx"], 1)
        assert found["unreadable"] == [{"input": "silent.ptx", "message": "not checked: interrupted"}]
    elif style == "sarif":
        (run,) = json.loads(out)["runs"]
        assert len(run["results"]) == 1
        assert not run["invocations"][0]["executionSuccessful"]
    else:
        suites = JUnitXml.fromstring(out.encode())
        assert (suites.tests, suites.failures, suites.errors) == (3, 1, 1)
