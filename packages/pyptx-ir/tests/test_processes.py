"""Calls in subprocesses: their results, and their termination by an interrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import islice
from time import sleep

import pytest

from pyptx_ir.commands import INTERRUPTED
from pyptx_ir.processes import IN_FLIGHT, in_processes

PROGRAM = """
import sys, time
from pyptx_ir.commands import ended
from pyptx_ir.processes import in_processes

def work():
    print("begun", flush=True)
    with in_processes(time.sleep, [0.001] * 300 + [1000] * 2, 2) as results:
        for _ in results:
            print("done", flush=True)
    return 0

if __name__ == "__main__":
    sys.exit(ended(work))
"""


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.long
def test_each_item_gives_one_result(number: int) -> None:
    with in_processes(abs, range(-2 * IN_FLIGHT, 0), number) as results:
        assert sorted(results) == list(range(1, 2 * IN_FLIGHT + 1))
    with in_processes(abs, (), number) as results:
        assert list(results) == []


def test_what_the_function_or_the_items_raise_is_raised() -> None:
    with in_processes(int, ["1", "2", "three"], 2) as results, pytest.raises(ValueError, match="three"):
        list(results)
    with in_processes(abs, (1 // item for item in (1, 0)), 2) as results, pytest.raises(ZeroDivisionError):
        list(results)


def test_a_worker_that_dies_is_an_error() -> None:
    with in_processes(os._exit, [1], 1) as results, pytest.raises(RuntimeError, match="terminated abruptly"):
        list(results)


def test_leaving_early_hands_no_more_out() -> None:
    asked = list[int]()
    items = (asked.append(item) or item for item in range(100 * IN_FLIGHT))
    with in_processes(abs, items, 1) as results:
        assert len(list(islice(results, 3))) == 3
    assert len(asked) < 50 * IN_FLIGHT


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("lines", [1, 2, 150, 301])
@pytest.mark.long
def test_an_interrupt_at_any_time_ends_all_processes(lines: int) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], **pipes, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(lines)][-1]
        os.killpg(process.pid, signal.SIGINT)  # a terminal signals the whole process group on Ctrl-C
        try:
            assert process.communicate(timeout=60)[1] == "\ninterrupted\n"
            assert process.returncode == INTERRUPTED
            for _ in range(600):
                os.killpg(process.pid, 0)
                sleep(0.1)
            pytest.fail("a worker is left")
        except ProcessLookupError:
            pass
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.long
def test_an_interrupt_of_the_command_alone_waits_for_the_calls_that_run() -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = PROGRAM.replace("[1000] * 2", "[1] * 100")
    with subprocess.Popen([sys.executable, "-c", program], **pipes, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(301)][-1]
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=60)[1] == "\ninterrupted\n"
        finally:
            process.kill()
        assert process.returncode == INTERRUPTED
