"""Errors and warnings of pyptx-sim.

PyptxError
└── SimulationError
    ├── ProgramError          the module cannot be run: no such entry, an undeclared name, a missing body
    │   ├── UnknownForm       an instruction that matches no form of the instruction table
    │   └── MissingSemantics  an instruction without semantics in any plugin
    ├── LaunchError           grid, block or arguments do not match the entry
    ├── OutOfMemory           device memory has no room for an allocation
    ├── MemoryFault           an access outside every buffer, or misaligned, in a run without checks
    ├── BarrierFault          an mbarrier that is invalid, or whose counts overflow, in a run without checks
    ├── Deadlock              no warp can make progress
    ├── StepLimitExceeded     the kernel ran longer than the caller allowed
    ├── InternalError         a fault of the simulator itself
    └── KernelTrap            the kernel executed `trap`, or an assertion in it failed

KeyboardInterrupt
└── SimulationInterrupted     Ctrl-C ended a run
    └── ExplorationInterrupted    Ctrl-C ended `explore`

UserWarning
├── SimulatedExecution        a kernel got CPU tensors and runs on the simulator
└── FindingWarning            the checks found a fault in a call of a kernel
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from pyptx_ir.errors import PyptxError
from pyptx_ir.errors import SimulatedExecution as SimulatedExecution  # noqa: PLC0414  filters of warnings name it here

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax.nodes import Statement
    from pyptx_sim.exploration import Exploration
    from pyptx_sim.findings import Finding


_NAMED: Final = 3  # maximum number of findings that the text of an error lists


class SimulationError(PyptxError):
    """Base of every error of the simulator. Its text ends with the first three findings of the aborted run."""

    line: int | None = None
    """PTX line of the error, if known."""

    pc: int | None = None
    """Index of the instruction in its program, for an error of an instruction before the run."""

    findings: tuple[Finding, ...] = ()
    """Findings of the run before the error, in order of first occurrence."""

    def __str__(self) -> str:
        """Return the message with the first three findings, those of severity `error` first."""
        if not self.findings:
            return self.without_findings
        found = sorted(self.findings, key=lambda finding: ("error", "warning", "note").index(finding.severity))
        count, more = len(found), len(found) - _NAMED
        lines = [f"{count} earlier finding{'s' * (count > 1)}:", *(f"  {each.summary}" for each in found[:_NAMED])]
        return "\n".join([self.without_findings, *lines, *([f"  and {more} more"] if more > 0 else [])])

    @property
    def without_findings(self) -> str:
        """Text of the error without its findings, for output that prints the findings in full."""
        return super().__str__()

    def locate(self, where: str, line: int | None = None, pc: int | None = None) -> None:
        """Set the PTX line of the error and the instruction at `pc`, if the error has no line yet."""
        if self.where is None:
            self.line, self.pc = line, pc
            PyptxError.__init__(self, self.message, where=where, help=self.help)

    def point_at(self, user: str) -> None:
        """Append the user's source line to the message, after the PTX line."""
        if user and self.where is not None and user not in self.where:
            PyptxError.__init__(self, self.message, where=f"{self.where}\n{user}", help=self.help)


class InternalError(SimulationError):
    """A fault of the simulator: an instruction raised another exception than a `PyptxError`, which is its cause."""


class ProgramError(SimulationError):
    """A module that cannot be lowered for the simulator."""

    statement: Statement | None = None
    """Declaration at fault; the lowering of the module adds the declaration's line to the error."""


class Declaring:
    """Context manager that sets `statement`, the declaration at fault, of a ProgramError raised in its `with` body."""

    __slots__ = ("_statement",)

    def __init__(self, statement: Statement) -> None:
        """Attribute ProgramErrors of the `with` body to the declaration `statement`."""
        self._statement = statement

    def __enter__(self) -> None:
        """Enter the `with` body."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Attribute a ProgramError of the `with` body to the declaration, and let the error propagate."""
        if isinstance(error, ProgramError):
            error.statement = error.statement or self._statement


class UnknownForm(ProgramError):  # noqa: N818 - names the fault, like the rest of the hierarchy
    """An instruction that matches no form of the instruction table, so that its semantics are unknown."""


class MissingSemantics(ProgramError):  # noqa: N818 - names the fault, like the rest of the hierarchy
    """An instruction for which no plugin has semantics."""


class LaunchError(SimulationError):
    """Launch configuration or arguments that do not match the entry."""


class OutOfMemory(SimulationError):  # noqa: N818 - the hardware's word
    """Device memory has no room for an allocation."""


class MemoryFault(SimulationError):  # noqa: N818 - the hardware's word
    """The kernel made an out-of-bounds or misaligned access, in a run without checks."""


class BarrierFault(SimulationError):  # noqa: N818 - the same
    """Operation on an invalid mbarrier, or overflow of an mbarrier's counts, in a run without checks."""


class Deadlock(SimulationError):  # noqa: N818 - the usual word
    """Every live warp is blocked, or polls in a loop without progress."""


class StepLimitExceeded(SimulationError):  # noqa: N818 - named after what happened
    """The kernel executed more basic blocks than `step_limit`: an infinite loop, or a limit that is too low."""


def fault_text(rule: str, message: str, label: str | None, notes: Iterable[str] = ()) -> str:
    """Return the error text of a fault that a run with checks reports as a finding."""
    headline = f"{rule}: {message}" if label is None else f"{rule}: {message} ({label})"
    return "\n".join([headline, *(f"note: {note}" for note in notes)])


class KernelTrap(SimulationError):  # noqa: N818 - the instruction's name
    """The kernel executed `trap`, or a device assertion failed."""


Stopped: TypeAlias = KernelTrap | StepLimitExceeded | MemoryFault | BarrierFault | Deadlock
"""Errors that end the run of a kernel; runs of other schedules may complete."""

STOPS: Final = (KernelTrap, StepLimitExceeded, MemoryFault, BarrierFault, Deadlock)
"""The classes of `Stopped`."""


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a run. Its text is the extent of the run: `interrupted after 12 of 64 CTAs`."""

    findings: tuple[Finding, ...] = ()
    """Findings of the run before the interrupt. Data races are not examined further: benign races are not notes."""


class ExplorationInterrupted(SimulationInterrupted):
    """Ctrl-C ended `explore`; `findings` also has the findings of the interrupted run."""

    exploration: Exploration
    """Outcome of the completed runs."""


class FindingWarning(UserWarning):
    """Warning with the first finding of the checks that precede a call `kernel(…)` with CPU arrays."""
