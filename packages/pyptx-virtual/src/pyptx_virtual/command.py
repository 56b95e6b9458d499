"""`pyptx run`: run a Python program on the virtual GPU, and report the findings of its launches."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_ir.command_line import ERRORS, CommandParser, add_format
from pyptx_ir.command_line import run as run_command
from pyptx_ir.reports import render
from pyptx_ir.suppressions import add_suppressions, load_suppressions
from pyptx_ir.terminal import write
from pyptx_ir.terminal.progress import show_progress
from pyptx_sim.run_inputs import rules_of
from pyptx_virtual.activation import MEMORY_BYTES, TARGET, activate
from pyptx_virtual.options import memory_size, schedules
from pyptx_virtual.program import Program
from pyptx_virtual.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_virtual.device import VirtualDevice
    from pyptx_virtual.session import Verdict

_EXAMPLES: Final = """
The program runs unchanged, in this process: torch has a CUDA device, Triton compiles for it, and its launches run on
the simulator with all checks. Options of pyptx come before the program.

examples:
  pyptx run train.py --steps 2                       a script, with its arguments
  pyptx run --schedules 4 -m package.kernels         a module, each launch under four schedules
  pyptx run --suppressions accepted.toml -- python -m pytest tests

Exit status: the program's own, if it fails; 1: errors found; 2: invalid command; 130: an interrupt.
"""


def run(argv: Sequence[str]) -> int:
    """Run a program, print the findings of its launches and a summary; return the exit status."""
    return run_command(run_parser(), _ran, argv)


def _ran(options: argparse.Namespace) -> int:
    program = Program.parse(_words(options))
    rules_of(options.checks)  # an unknown name is an error before the program starts
    session = Session(options.checks, load_suppressions(options), options.strict_suppressions)
    device = activate(
        options.target,
        memory_bytes=options.memory,
        shadow_gpu=options.shadow_gpu,
        schedules=schedules(options.schedules),
        checks=options.checks,
    )
    device.when_complete.append(session.add)
    device.context.show = lambda launch: show_progress(f"launch {launch.number}, {launch.kernel}", "CTA")
    status = program.run(finish=device.context.synchronize)
    verdict = session.verdict()
    _write(options, program, verdict, device, status)
    if not status and options.require_launches and not verdict.launches:
        write("pyptx run: the program launched no kernel\n", sys.stderr)
        return ERRORS
    return status or (ERRORS if verdict.failed else 0)


def _words(options: argparse.Namespace) -> list[str]:
    """Return the command line of the program."""
    if options.module is not None:
        return ["-m", *options.module]
    if options.text is not None:
        return ["-c", *options.text]
    words: list[str] = options.program
    return words[1:] if words[:1] == ["--"] else words


def _write(options: argparse.Namespace, program: Program, verdict: Verdict, device: VirtualDevice, status: int) -> None:
    """Print the findings and the summary to standard error; write reports in other formats to their files."""
    sys.stdout.flush()
    write(verdict.text(device.name), sys.stderr)
    if options.summary is not None:
        with Path(options.summary).open("a", encoding="utf-8") as file:
            file.write(verdict.markdown(device.name))
    if options.format == "text":
        return
    text = render(verdict.report(program.name, status), options.format)
    if options.report is None:
        sys.stdout.write(text)
    else:
        Path(options.report).write_text(text, encoding="utf-8")


def run_parser() -> CommandParser:
    """Return the parser of the options of `pyptx run`."""
    summary = "Run a Python program on a virtual GPU, and check every kernel that it launches."
    parser = CommandParser("run", summary, _EXAMPLES, output=False)
    add = parser.add_argument
    add("--target", default=TARGET, metavar="NAME", help="architecture of the GPU (default: sm_90a)")
    add(
        "--memory",
        type=memory_size,
        default=MEMORY_BYTES,
        metavar="SIZE",
        help="device memory: 512M, 16G (default: 16G)",
    )
    add("--checks", type=_checks, default="all", metavar="RULE,…", help="rules to check: all (default), none, or names")
    add("--schedules", type=_positive, default=1, metavar="N", help="run each launch under N schedules (default: 1)")
    add("--require-launches", action="store_true", help="fail if the program launches no kernel")
    add("--shadow-gpu", action="store_true", help="use the virtual GPU although the machine has a GPU")
    add("--output", dest="report", metavar="FILE", help="write the report of --format to FILE")
    add("--summary", metavar="FILE", help="append a summary in Markdown to FILE, such as $GITHUB_STEP_SUMMARY")
    add_format(parser)
    add_suppressions(parser)
    rest = argparse.REMAINDER
    add("-m", dest="module", nargs=rest, metavar="MODULE", help="run a module; its arguments")
    add("-c", dest="text", nargs=rest, metavar="TEXT", help="run Python code; its arguments")
    add("program", nargs=rest, metavar="PROGRAM", help="FILE.py, or a command that starts with python; its arguments")
    return parser


def _checks(text: str) -> str | list[str]:
    return text if text in {"all", "none"} else text.split(",")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number
