"""`pyptx doctor`: runs the checks of the core and of plugins, and prints a line per result."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from pyptx_ir.command_line import ERRORS, SUCCESS, CommandParser, add_format, run
from pyptx_ir.doctor.devices import devices
from pyptx_ir.doctor.installation import distributions, frameworks, plugins, python
from pyptx_ir.doctor.tools import cubin_cache, tools
from pyptx_ir.errors import PyptxError
from pyptx_ir.plugins.rows import Diagnosis, DoctorCheck
from pyptx_ir.reports import Problem, Report, render
from pyptx_ir.terminal import styled, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pyptx_ir.reports import Severity

STATES: Final = ("ok", "missing", "warning", "broken")
_OWN: Final = (
    DoctorCheck("python", python),
    DoctorCheck("distributions", distributions),
    DoctorCheck("plugins", plugins),
    DoctorCheck("tools", tools),
    DoctorCheck("cubin cache", cubin_cache),
    DoctorCheck("devices", devices),
    DoctorCheck("frameworks", frameworks),
)
_SEVERITIES: Final[dict[str, Severity]] = {"missing": "note", "warning": "warning", "broken": "error"}
_STYLES: Final = {"ok": "added"} | _SEVERITIES


def doctor(argv: Sequence[str]) -> int:
    """Print the results of all checks; return 1 if an installed component is broken, else 0."""
    return run(doctor_parser(), _diagnosed, argv)


def _diagnosed(options: argparse.Namespace) -> int:
    found = diagnose()
    sys.stdout.write(_as_text(found) if options.format == "text" else render(report_of(found), options.format))
    return ERRORS if any(one.state == "broken" for one in found) else SUCCESS


def doctor_parser() -> CommandParser:
    """Return the parser of the options of `pyptx doctor`."""
    parser = CommandParser(
        "doctor",
        "Check the installation, tools and devices of this machine, and print help for each problem. "
        "Exits with 1 if an installed component is broken; a missing component is not an error.",
    )
    add_format(parser)
    return parser


def diagnose() -> tuple[Diagnosis, ...]:
    """Return the results of all checks. An error that a check raises is also a result; the other checks still run."""
    return tuple(line for check in (*_OWN, *_of_plugins()) for line in _run(check))


def _of_plugins() -> tuple[DoctorCheck, ...]:
    from pyptx_ir.plugins.manager import manager

    try:
        return manager().doctor_checks()
    except PyptxError as error:  # a plugin's hook failed, or two plugins have checks with one name
        fault = Diagnosis("plugins", "broken", error.message, error.help)
        return (DoctorCheck("plugins", lambda: (fault,)),)


def _run(check: DoctorCheck) -> Sequence[Diagnosis]:
    try:
        return check.run()
    except PyptxError as error:
        return (Diagnosis(check.name, "broken", error.message, error.help),)
    except Exception as error:  # noqa: BLE001 an installed component may fail in any way
        said = f"{type(error).__name__}: {error}"
        return (Diagnosis(check.name, "broken", said, "reinstall the component, or report this error"),)


def _as_text(found: Sequence[Diagnosis]) -> str:
    rows = list[tuple[str, str, str]]()
    for one in found:
        first, *others = one.found.splitlines() or [""]
        rows.append((styled(one.state, _STYLES[one.state], sys.stdout), one.subject, first))
        help = [f"{styled('help:', 'help', sys.stdout)} {one.help}"] if one.help else []
        rows += [("", "", line) for line in (*others, *help)]
    counts = [(state, sum(one.state == state for one in found)) for state in STATES]
    return table(rows) + ", ".join(f"{count} {state}" for state, count in counts if count) + "\n"


def report_of(found: Sequence[Diagnosis]) -> Report:
    """Return the results as a report: a broken component is an error, a missing one a note.

    `details["results"]` are all results, as objects with `subject`, `state`, `found` and `help`.
    """
    problems = tuple(
        Problem(one.subject, one.state, _SEVERITIES[one.state], one.found, help=one.help or "")
        for one in found
        if one.state in _SEVERITIES
    )
    subjects = tuple(dict.fromkeys(one.subject for one in found))
    return Report("pyptx doctor", subjects, problems, details={"results": [asdict(one) for one in found]})
