"""Checks of calls `kernel(…)` with CPU arrays: a small launch is first run with all checks.

The checked run leaves the arrays unchanged; its first finding becomes a FindingWarning at the kernel's line. A launch
is small if it has at most `MOST_THREADS` threads and `MOST_BYTES` of arrays. The checks end after `MOST_STEPS` basic
blocks, and earlier findings are reported. Measured (docs/simulator.md): the checks make a small call up to three times
as long, and no call over 0.1 s longer. PYPTX_CHECKS is `auto` (this policy), `all` (every call, up to `STEP_LIMIT`
basic blocks) or `off`.
"""

from __future__ import annotations

import math
import os
import warnings
from typing import TYPE_CHECKING, Final

from pyptx_ir.debug_info import user_frame
from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.errors import FindingWarning, LaunchError, SimulationError
from pyptx_sim.machine.geometry import MULTIPROCESSORS
from pyptx_sim.simulator import STEP_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_ir.plugins.rows import Specialization
    from pyptx_sim.findings import Finding
    from pyptx_sim.result import Result

MOST_THREADS: Final = 2048
MOST_BYTES: Final = 1 << 22
MOST_STEPS: Final = 1000

# Registry of shown warnings, as Python's `warnings` keeps it per module: each line of a kernel warns once.
_WARNED: Final[dict[str | tuple[str, type[Warning], int], int]] = {}


def find(special: Specialization, sizes: Sequence[int], attempt: Callable[[int], Result]) -> Sequence[Finding]:
    """Return the findings of a launch with arrays of `sizes` bytes, if PYPTX_CHECKS checks it; else none.

    Findings of severity `note` are omitted. `attempt(step_limit)` runs the launch with checks and without changing the
    arrays. If that run fails, the findings before the failure are returned: the run without checks then fails, too.
    """
    policy = os.environ.get("PYPTX_CHECKS", "auto")
    if policy not in {"off", "auto", "all"}:
        raise LaunchError(f"PYPTX_CHECKS must be off, auto or all, got {policy!r}")
    if policy == "off":
        return ()
    threads = math.prod(special.grid_on(MULTIPROCESSORS)) * math.prod(special.block)
    if policy == "auto" and (threads > MOST_THREADS or sum(sizes) > MOST_BYTES):
        return ()
    try:
        found = attempt(MOST_STEPS if policy == "auto" else STEP_LIMIT).findings
    except SimulationError as stopped:
        found = stopped.findings
    return tuple(finding for finding in found if finding.severity != "note")


def warn(kernel: str, findings: Sequence[Finding]) -> None:
    """Warn about the first of the findings, at that finding's line in the user's Python code."""
    if not findings:
        return
    first, others = findings[0], len(findings) - 1
    more = f" (and {counted(others, 'more finding')})" if others else ""
    user = user_frame(first.origin) if first.origin else None
    file, line = (f"<{kernel}>", first.line or 1) if user is None else (user.file, user.line)
    warnings.warn_explicit(
        f"{kernel}: {first}\n{kernel}.simulate(…) with the same arguments returns all findings{more}; PYPTX_CHECKS=off "
        "disables the checks of calls",
        FindingWarning,
        file,
        line,
        registry=_WARNED,
    )
