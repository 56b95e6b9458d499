"""`pyptx doctor`: runs the checks of the core and of plugins, and prints a line per result."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from pyptx_ir.command_line import ERRORS, SUCCESS, CommandParser, run
from pyptx_ir.doctor.devices import devices
from pyptx_ir.doctor.installation import distributions, frameworks, plugins, python
from pyptx_ir.doctor.tools import cubin_cache, tools
from pyptx_ir.errors import PyptxError
from pyptx_ir.plugins.rows import Diagnosis, DoctorCheck

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

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
_WIDTH: Final = 16


def doctor(argv: Sequence[str]) -> int:
    """Print the results of all checks; return 1 if an installed component is broken, else 0."""
    return run(_parser(), _diagnosed, argv)


def _diagnosed(options: argparse.Namespace) -> int:
    found = diagnose()
    sys.stdout.write(_as_json(found) if options.json else _as_text(found))
    return ERRORS if any(one.state == "broken" for one in found) else SUCCESS


def _parser() -> CommandParser:
    parser = CommandParser(
        "doctor",
        "Check the installation, tools and devices of this machine, and print help for each problem. "
        "Exits with 1 if an installed component is broken; a missing component is not an error.",
    )
    parser.add_argument(
        "--json", action="store_true", help="print a JSON list of results instead of one line per result"
    )
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
    lines = list[str]()
    for one in found:
        first, *others = one.found.splitlines() or [""]
        lines.append(f"{one.state:<8} {one.subject:<{_WIDTH}} {first}".rstrip())
        help = [f"help: {one.help}"] if one.help else []
        lines += [f"{'':<8} {'':<{_WIDTH}} {other}".rstrip() for other in (*others, *help)]
    counts = [(state, sum(one.state == state for one in found)) for state in STATES]
    lines.append(", ".join(f"{count} {state}" for state, count in counts if count))
    return "\n".join(lines) + "\n"


def _as_json(found: Sequence[Diagnosis]) -> str:
    return json.dumps([asdict(one) for one in found], indent=2) + "\n"
