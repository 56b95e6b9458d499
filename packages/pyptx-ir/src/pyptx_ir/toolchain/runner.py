"""Run a tool on a file, and distinguish a crash from a rejected input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.toolchain.errors import ToolchainError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyptx_ir.toolchain.finder import Tool


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of running a tool: its exit status, its output, and the signal that killed it, if any."""

    status: int
    output: str
    signal: str | None = None


def run(tool: Tool, arguments: Sequence[str], folder: Path) -> Outcome:
    """Run `tool` in `folder`; raise ToolchainError if it can't be started."""
    import subprocess

    try:
        done = subprocess.run(
            [tool.path, *arguments],
            cwd=folder,
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise ToolchainError(f"{tool.path} can't be run: {error}") from error
    output = done.stderr + done.stdout
    return Outcome(done.returncode, output, killed_by(done.returncode))


def killed_by(status: int) -> str | None:
    """Return the name of the signal in an exit status, which is negative or a shell's 128 + n."""
    import signal

    # ptxas itself exits with 255 when it rejects its input; no signal has a number above 64.
    number = -status if status < 0 else status - 128 if 128 < status <= 192 else 0
    if not number:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
