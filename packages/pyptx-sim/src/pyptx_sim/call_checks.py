"""The checks of plain calls: a small launch on the CPU runs once more beforehand, with all checks.

That run leaves the arrays as they were; what it finds first becomes a FindingWarning at the line of the kernel. Small
is at most `MOST_THREADS` threads and `MOST_BYTES` of arrays; behind `MOST_STEPS` basic blocks the checks end, with what
they have found. Measured (docs/simulator.md): a small call takes up to three times as long, and no call takes more than
a tenth of a second longer. PYPTX_CHECKS says `auto`, which is this, `all` for every call, to its end, or `off`.
"""

from __future__ import annotations

import math
import os
import warnings
from typing import TYPE_CHECKING, Final

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

# What Python's warnings remember of a place, here of all places: a warning is shown once for each line of a kernel.
_WARNED: Final[dict[str | tuple[str, type[Warning], int], int]] = {}


def find(special: Specialization, sizes: Sequence[int], attempt: Callable[[int], Result]) -> Sequence[Finding]:
    """Return what the checks find in a launch whose arrays have these sizes, as far as PYPTX_CHECKS wants to know.

    Notes are left out.
    `attempt(step_limit)` runs it with checks, and changes nothing. Of a run that fails, the findings until then count:
    the call itself, which follows, fails in the same way.
    """
    policy = os.environ.get("PYPTX_CHECKS", "auto")
    if policy not in {"off", "auto", "all"}:
        raise LaunchError(f"PYPTX_CHECKS={policy!r} is none of off, auto, all")
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
    """Warn of the first finding, at its line in the user's Python."""
    if not findings:
        return
    first, others = findings[0], len(findings) - 1
    more = f" (and {others} more finding{'s' if others > 1 else ''})" if others else ""
    file, line = (first.origin[0].file, first.origin[0].line) if first.origin else (f"<{kernel}>", first.line or 1)
    warnings.warn_explicit(
        f"{kernel}: {first}\n{kernel}.simulate(…) with the same arguments returns all findings{more}; PYPTX_CHECKS=off "
        "calls kernels without checks",
        FindingWarning,
        file,
        line,
        registry=_WARNED,
    )
