"""Errors and warnings of pyptx-sim.

PyptxError
└── SimulationError
    ├── ProgramError          the module cannot be run: no such entry, an undeclared name, a missing body
    │   ├── UnknownForm       an instruction that matches no form of the instruction table
    │   └── MissingSemantics  an instruction without semantics in any plugin
    ├── LaunchError           grid, block or arguments do not match the entry
    ├── MemoryFault           an access outside every buffer, or misaligned, in a run without checks
    ├── BarrierFault          an mbarrier that is invalid, or whose counts overflow, in a run without checks
    ├── Deadlock              no warp can make progress
    ├── StepLimitExceeded     the kernel ran longer than the caller allowed
    └── KernelTrap            the kernel executed `trap`, or an assertion in it failed

UserWarning
├── SimulatedExecution        a kernel got CPU tensors and runs on the simulator
└── FindingWarning            the checks found a fault in a plain call of a kernel
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.errors import PyptxError
from pyptx_ir.errors import SimulatedExecution as SimulatedExecution  # noqa: PLC0414  filters of warnings name it here

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax.nodes import Statement
    from pyptx_sim.findings import Finding


_NAMED: Final = 3  # findings listed in the text of an error


class SimulationError(PyptxError):
    """Base of every error of the simulator. Its text ends with the first three findings of the aborted run."""

    line: int | None = None
    """PTX line of the error, if known."""

    findings: tuple[Finding, ...] = ()
    """Findings of the run before the error, in order of first occurrence."""

    def __str__(self) -> str:
        """Return the text; findings of severity error come first."""
        if not self.findings:
            return self.without_findings
        found = sorted(self.findings, key=lambda finding: ("error", "warning", "note").index(finding.severity))
        count, more = len(found), len(found) - _NAMED
        lines = [f"{count} earlier finding{'s' * (count > 1)}:", *(f"  {each.summary}" for each in found[:_NAMED])]
        return "\n".join([self.without_findings, *lines, *([f"  and {more} more"] if more > 0 else [])])

    @property
    def without_findings(self) -> str:
        """The text without findings, for output that prints them in full."""
        return super().__str__()

    def locate(self, where: str, line: int | None = None) -> None:
        """Add the source line, if the error has none yet."""
        if self.where is None:
            self.line = line
            PyptxError.__init__(self, self.message, where=where, help=self.help)

    def point_at(self, user: str) -> None:
        """Add the user's own line after the PTX line."""
        if user and self.where is not None and user not in self.where:
            PyptxError.__init__(self, self.message, where=f"{self.where}\n{user}", help=self.help)


class ProgramError(SimulationError):
    """A module that cannot be lowered for the simulator."""

    statement: Statement | None = None
    """The declaration that causes the error, until its line is added."""


class Declaring:
    """Context manager that attributes a ProgramError of its body to a declaration, unless it has one already."""

    __slots__ = ("_statement",)

    def __init__(self, statement: Statement) -> None:
        """Attribute errors to this declaration."""
        self._statement = statement

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Attribute the error and let it propagate."""
        if isinstance(error, ProgramError):
            error.statement = error.statement or self._statement


class UnknownForm(ProgramError):  # noqa: N818 - names the fault, like the rest of the hierarchy
    """An instruction that matches no form of the instruction table: no row specifies its semantics."""


class MissingSemantics(ProgramError):  # noqa: N818 - names the fault, like the rest of the hierarchy
    """An instruction without semantics."""


class LaunchError(SimulationError):
    """Launch parameters that do not match the entry."""


class MemoryFault(SimulationError):  # noqa: N818 - the hardware's word
    """An out-of-bounds or misaligned access in a run without checks."""


class BarrierFault(SimulationError):  # noqa: N818 - the same
    """Operation on an invalid mbarrier, or overflow of its counts, in a run without checks."""


class Deadlock(SimulationError):  # noqa: N818 - the usual word
    """Every live warp is blocked, or repeats the same state, indefinitely."""


class StepLimitExceeded(SimulationError):  # noqa: N818 - named after what happened
    """More basic blocks than `step_limit` allows: an infinite loop, or a limit that is too low."""


def fault_text(rule: str, message: str, label: str | None, notes: Iterable[str] = ()) -> str:
    """Return the text of an error for a fault that a checked run reports as a finding."""
    headline = f"{rule}: {message}" if label is None else f"{rule}: {message} ({label})"
    return "\n".join([headline, *(f"note: {note}" for note in notes)])


class KernelTrap(SimulationError):  # noqa: N818 - the instruction's name
    """`trap`, or a failed device assertion."""


class FindingWarning(UserWarning):
    """First finding of the checks in a plain call of a kernel on the CPU."""
