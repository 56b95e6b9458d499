"""Installation checks: Python, pyptx's own distributions, its plugins, and frameworks without their runtime."""

from __future__ import annotations

import sys
from importlib.metadata import Distribution
from importlib.metadata import distributions as installed
from importlib.util import find_spec
from typing import Final

from pyptx_ir.errors import PyptxError
from pyptx_ir.origins import install_command, origin
from pyptx_ir.plugins.homes import HOMES
from pyptx_ir.plugins.rows import Diagnosis

OWN: Final = tuple(home.distribution for home in HOMES)
OLDEST_PYTHON: Final = (3, 11)
SIMULATOR: Final = "pyptx_sim"


def python() -> tuple[Diagnosis, ...]:
    """Report the running Python interpreter."""
    import platform

    found = f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.machine()}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return (Diagnosis("python", "broken", found, f"pyptx needs Python {wanted} or later"),)
    return (Diagnosis("python", "ok", found),)


def distributions() -> tuple[Diagnosis, ...]:
    """Report the pyptx distributions, where each was installed from, and whether their versions match."""
    there = _installed()
    found = {name: there[name] for name in OWN if name in there}
    if not found:
        return (Diagnosis("pyptx", "ok", "no distribution is installed; imported from a source tree"),)
    origins = dict[str, list[str]]()
    for name, row in found.items():
        origins.setdefault(origin(row), []).append(f"{name} {row.version}")
    listed = "\n".join(f"{', '.join(rows)}: from {place}" for place, rows in origins.items())
    releases = {name: _numbers(row.version)[:2] for name, row in found.items()}
    older = [name for name, release in releases.items() if release < max(releases.values())]
    if older:
        extras = ",".join(home.extra for home in HOMES if home.extra and home.distribution in found)
        help = f"upgrade {', '.join(older)}, older than the other packages: {install_command(extras)}"
        return (Diagnosis("pyptx", "broken", listed, help),)
    return (Diagnosis("pyptx", "ok", listed),)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _installed() -> dict[str, Distribution]:
    """Return the distributions by normalized name; of duplicates, the first on the path, which Python imports."""
    found = dict[str, Distribution]()
    for row in installed():
        name = row.metadata["Name"]
        if name:
            found.setdefault(name.lower().replace("_", "-"), row)
    return found


def plugins() -> tuple[Diagnosis, ...]:
    """Report the loaded plugins, and the error of each plugin that did not load."""
    from pyptx_ir.plugins.manager import manager

    broken = [Diagnosis("plugin", "broken", error.message, error.help) for error in manager().broken()]
    return (Diagnosis("plugins", "ok", ", ".join(manager().loaded())), *broken, *_clashes())


def _clashes() -> tuple[Diagnosis, ...]:
    """Report plugins with conflicting names, which the plugin manager detects at its first query."""
    from pyptx_ir.plugins.manager import manager

    if manager().broken():  # if a plugin failed to load, each plugin query below would raise its error
        return ()
    known = manager()
    for ask in (known.targets, known.namespaces, known.launch_attributes, known.runtimes, known.commands):
        try:
            ask()
        except PyptxError as error:
            return (Diagnosis("plugins", "broken", error.message, error.help),)
    return ()


def frameworks() -> tuple[Diagnosis, ...]:
    """Report a missing simulator, and installed frameworks without a runtime for their arrays."""
    missing = [
        Diagnosis(
            home.frameworks[0],
            "missing",
            f"{home.distribution}, which runs kernels on {home.frameworks[0]} arrays, is not installed",
            install_command(home.extra),
        )
        for home in HOMES
        if home.launches and find_spec(home.frameworks[0]) is not None and find_spec(home.module) is None
    ]
    if find_spec(SIMULATOR) is None:
        said = "pyptx-sim is not installed: kernels don't run on the CPU"
        missing.insert(0, Diagnosis("simulator", "missing", said, install_command("sim")))
    return tuple(missing)
