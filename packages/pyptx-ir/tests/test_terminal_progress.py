"""Progress on a terminal: when it appears, the time left, and that nothing of it remains."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass
from textwrap import indent
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.commands import INTERRUPTED
from pyptx_ir.terminal.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

# `work()` runs in a command; the lines before it shorten the delay, or make `import rich` fail. `drawn()` waits for the
# line on the terminal.
PROGRAM = """
import sys, time
from pyptx_ir.commands import ended
from pyptx_ir.terminal import progress_line
from pyptx_ir.terminal.progress import show_progress

{before}
def work():
    with show_progress("simulating", "CTA") as on_progress:
        def drawn():
            while on_progress.line is not None and on_progress.line._line is None:
                time.sleep(0.01)

{body}
    print("result", flush=True)
    return 0

sys.exit(ended(work))
"""
SOON = "progress_line.DELAY = 0.1"
PLAIN = "sys.modules['rich.console'] = None"
A_WHILE = """
for done in range(11):
    on_progress(done, 64)
    time.sleep(0.02)
drawn()
"""
LINES = """
for name in "ab":
    drawn()
    with on_progress.hidden():
        print(name, flush=True)
"""


@dataclass(frozen=True, slots=True)
class Screen:
    """What a program has written to its terminal, and its exit status."""

    text: str
    status: int

    @property
    def rest(self) -> str:
        """The characters that remain visible in a terminal that knows carriage returns and erased lines."""
        screen: list[str] = [""]
        column = 0
        for part in re.findall(r"\x1b\[[0-9;?]*[a-zA-Z]|.|\n|\r", self.text):
            if part == "\n":
                screen.append("")
                column = 0
            elif part == "\r":
                column = 0
            elif part == "\x1b[2K":
                screen[-1] = ""
            elif part == "\x1b[1A":
                screen.pop()
            elif not part.startswith("\x1b"):
                screen[-1] = screen[-1][:column].ljust(column) + part + screen[-1][column + 1 :]
                column += 1
        return "\n".join(line.rstrip() for line in screen)


def started(body: str, *before: str, piped: bool = False, columns: int = 0) -> tuple[subprocess.Popen[bytes], int]:
    """Start a program with a terminal for both outputs; with `piped`, standard error is a pipe."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    text = PROGRAM.format(body=indent(body, " " * 8), before="\n".join(before))
    out = os.open(os.devnull, os.O_WRONLY) if piped else theirs
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "NO_COLOR": "1"}
    error = subprocess.PIPE if piped else theirs
    process = subprocess.Popen([sys.executable, "-c", text], stdout=out, stderr=error, env=environment)
    os.close(theirs)
    return process, ours


def ended(process: subprocess.Popen[bytes], ours: int) -> Screen:
    parts: list[bytes] = []
    try:
        while part := os.read(ours, 1 << 16):
            parts.append(part)
    except OSError:  # Linux: no process has the terminal open
        pass
    os.close(ours)
    return Screen(b"".join(parts).decode().replace("\r\n", "\n"), process.wait(timeout=10))


def shown(body: str, *before: str) -> Screen:
    return ended(*started(body, *before))


@pytest.mark.parametrize("before", [(SOON,), (SOON, PLAIN)], ids=["rich", "plain"])
def test_the_line_has_units_and_time_left_and_is_erased_before_the_result(before: Sequence[str]) -> None:
    found = shown(A_WHILE, *before)
    assert re.search(r"simulating: \d+ of 64 CTAs, 0:\d\d left", found.text)
    assert ("━" in found.text) == (PLAIN not in before)
    assert (found.rest, found.status) == ("result\n", 0)


@pytest.mark.parametrize("before", [(SOON,), (SOON, PLAIN)], ids=["rich", "plain"])
def test_an_exception_erases_the_line(before: Sequence[str]) -> None:
    found = shown("drawn(); raise KeyError('lost')", *before)
    assert "simulating: 0:00 elapsed" in found.text
    assert found.rest.startswith("Traceback")
    assert found.rest.endswith("KeyError: 'lost'\n")


@pytest.mark.parametrize("before", [(SOON,), (SOON, PLAIN)], ids=["rich", "plain"])
def test_an_interrupt_erases_the_line(before: Sequence[str], interruptible: None) -> None:
    del interruptible
    process, ours = started("time.sleep(60)", *before)
    assert os.read(ours, 1)  # the first byte of the line
    process.send_signal(signal.SIGINT)
    found = ended(process, ours)
    assert (found.rest, found.status) == ("\ninterrupted\n", INTERRUPTED)


@pytest.mark.long
def test_work_without_a_call_is_reported_after_two_seconds_but_not_before_and_never_to_a_pipe() -> None:
    long, piped, short = started("drawn()"), started("time.sleep(2.3)", piped=True), started("time.sleep(1.8)")
    assert ended(*short) == Screen("result\n", 0)
    assert re.search(r"simulating: 0:0[2-9] elapsed", ended(*long).text)
    assert piped[0].communicate(timeout=10)[1] == b""
    os.close(piped[1])


def test_output_while_the_line_is_hidden_has_lines_of_its_own() -> None:
    assert shown(LINES, SOON, PLAIN).rest == "a\nb\nresult\n"


def test_a_line_is_cut_to_a_narrow_terminal() -> None:
    found = ended(*started("drawn()", SOON, PLAIN, columns=12))
    assert found.text.startswith("\rsimulating:\r ")  # 11 characters
    assert found.rest == "result\n"


def test_time_left_is_extrapolated_from_the_first_call_and_starts_again_with_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    work = Progress("simulating", "CTA")
    now = 110.0
    assert work.text() == "simulating: 0:10 elapsed"
    work(0, 1)
    assert work.text() == "simulating: 0 of 1 CTA, 0:10 elapsed"
    work = Progress("simulating", "CTA")
    work(0, 64)
    now += 60
    work(16, 64)
    now += 2
    assert work.text() == "simulating: 16 of 64 CTAs, 2:58 left"
    now += 3600
    assert work.text() == "simulating: 16 of 64 CTAs, 0:00 left"
    work(0, 64)
    assert work.text() == "simulating: 0 of 64 CTAs, 1:01:02 elapsed"
    steps = Progress("simulating", "CTA")
    steps(12345, 0)
    assert steps.text() == "simulating: 12,345 steps, 0:00 elapsed"
