"""Every command with inputs that are missing, folders or garbage: the documented exit status, and no traceback."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.commands import INTERRUPTED, READER_GONE, main
from pyptx_ir.plugins.manager import manager

if TYPE_CHECKING:
    from collections.abc import Iterator

PTX = ".version 8.5\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n"
LONG = """{
    .reg .b32 %r; .reg .pred %p; mov.u32 %r, 0;
    L: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 2000000000; @%p bra L; ret;
}"""
WITH_INPUT = [
    "check",
    "check --json",
    "check --format sarif",
    "check --format junit",
    "check --format github",
    "check --format ndjson",
    "check -j 2",
    "check --portability",
    "check --target sm_80",
    "fmt -o -",
    "fmt --check",
    "fmt --style llvm -o -",
    "diff --quiet GOOD",
    "diff --json GOOD",
    "diff --renames GOOD",
    "ptx",
    "sass",
    "resources",
    "resources --json",
    "layout",
    "sim --block 32",
    "sim --block 32 --json",
    "sim --block 32 --format junit",
    "sim --block 32 --seed 1 --delay-async",
    "trace --block 32 -o TIMELINE",
    "transpile",
    "transpile --sugar",
    "transpile --report json",
    "transpile --name k --no-verify",
]
OTHERS = [
    "help",
    "help sim",
    "--version",
    "explain shared-race",
    "explain --list",
    "isa mbarrier",
    "isa add --json",
    "targets",
    "targets --json",
    "plugins",
    "plugins --json",
    "doctor",
    "doctor --json",
    "cache ls",
    "completion bash",
]
GARBAGE = {
    "text": b"this is no PTX at all {{{ ;;; \n" * 20,
    "bytes": bytes(range(256)) * 40,
    "elf": b"\x7fELF" + bytes(200),
    "empty": b"",
    "half": PTX.encode()[:-10],
    "deep": PTX.encode() + b".func f() " + b"{" * 5000,
    "script.py": b"def broken(:\n",
}
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1a\x1c-\x1f]|\x1b")  # control characters that change a terminal


def words_of(line: str, good: str) -> list[str]:
    """Return the words of a command line: GOOD is an input without errors, TIMELINE a file in the same folder."""
    names = {"GOOD": good, "TIMELINE": str(Path(good).with_name("timeline.json"))}
    return [names.get(word, word) for word in line.split()]


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.ptx"
    path.write_text(PTX)
    return str(path)


def run_here(words: list[str], capsysbinary: pytest.CaptureFixture[bytes]) -> tuple[int, str]:
    status = main(words)
    captured = capsysbinary.readouterr()
    assert b"Traceback" not in captured.err, words
    return status, (captured.out + captured.err).decode("utf-8", "surrogateescape")


def test_there_are_forty_commands_and_every_command_is_among_them() -> None:
    assert len(WITH_INPUT) + len(OTHERS) >= 40
    mentioned = {line.split()[0] for line in (*WITH_INPUT, *OTHERS)}
    writing, with_gpu, of_programs = {"export", "new", "stubs", "suppress"}, {"bench"}, {"run"}
    assert {row.name for row in manager().commands()} - mentioned == writing | with_gpu | of_programs


@pytest.mark.parametrize("line", WITH_INPUT)
def test_an_input_that_cannot_be_read_is_a_usage_error(
    line: str, good: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "folder").mkdir()
    words = words_of(line, good)
    for name in ("missing.ptx", "missing.py:k", "missing.so#2", "folder", "*.nothing"):
        status, said = run_here([*words, str(tmp_path / name)], capsysbinary)
        assert status == 2, (words, name)
        assert said.strip(), (words, name)


@pytest.mark.parametrize("line", WITH_INPUT)
@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_an_error(
    line: str, name: str, good: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / name
    path.write_bytes(GARBAGE[name])
    status, said = run_here([*words_of(line, good), str(path)], capsysbinary)
    if line == "ptx":  # prints an input as it is, unless it has PTX images
        assert status == (2 if name in ("elf", "script.py") else 0)
        return
    assert status in (1, 2) or name == "empty"
    assert not CONTROL.search(said), "control characters of an input reach the terminal"


@pytest.mark.parametrize("line", [*WITH_INPUT, *OTHERS])
def test_good_inputs_are_no_errors(line: str, good: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    status, said = run_here([*words_of(line, good), *([good] if line in WITH_INPUT else [])], capsysbinary)
    assert status == (1 if line == "fmt --check" else 0)
    assert said or "--quiet" in line or "--check" in line or line in ("check --format github", "diff --renames GOOD")


@pytest.mark.parametrize(
    "line", ["explain --list", "isa add --json", "check --json", "transpile", "targets", "ptx", "fmt -o -"]
)
def test_a_reader_that_exits_ends_the_command_without_a_word(line: str, good: str) -> None:
    inputs = [] if line.startswith(("explain", "isa", "targets")) else [good]
    command = [sys.executable, "-m", "pyptx", *line.split(), *inputs]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (READER_GONE, "")


@pytest.mark.parametrize("line", ["--version", "help sim", "targets", "ptx", "check --json"])
def test_output_that_cannot_be_written_is_one_line(line: str, good: str) -> None:
    command = [sys.executable, "-m", "pyptx", *line.split(), *([good] if line in {"ptx", "check --json"} else [])]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch(r"pyptx.*: \[Errno 28\] No space left on device\n", done.stderr)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("line", ["--version", "check", "ptx"])
def test_a_command_runs_with_closed_streams(line: str, closed: str, good: str) -> None:
    inputs = good if line in WITH_INPUT else ""
    command = f"{shlex.quote(sys.executable)} -m pyptx {line} {inputs} {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Make subprocesses of a test receive SIGINT, even if a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("line", ["check", "sim --block 1024 --grid 4000", "transpile"])
@pytest.mark.long
def test_an_interrupt_ends_the_command_with_one_line(line: str, tmp_path: Path) -> None:
    path = tmp_path / "endless.ptx"
    if line.startswith("sim"):
        path.write_text(PTX.replace("{ ret; }", LONG))
    else:
        os.mkfifo(path)  # no process writes to it
    command = [sys.executable, "-m", "pyptx", *line.split(), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            writer = os.open(path, os.O_WRONLY) if path.is_fifo() else None  # waits until the command reads
            # `sim` compiles, and runs a loop for minutes; a signal between `open` and `read` would not end the `read`.
            time.sleep(2 if writer is None else 0.5)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=20)
        finally:
            process.kill()
    if writer is not None:
        os.close(writer)
    # After an interrupt in the `exec` of a string, as in imports, CPython exits by the signal: 130 in a shell.
    assert process.returncode in (INTERRUPTED, -signal.SIGINT)
    assert re.fullmatch(r"\ninterrupted( after 0 of \d+ \w+)?\n", said)
