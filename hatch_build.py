"""The metadata of the root package `pyptx-checkout`, which holds no code: it installs the packages of this checkout.

A requirement on a package of this repository becomes a reference to its folder. One installer call then takes all of
them from the checkout, and never asks an index for their names: there, `pyptx` is an unrelated project.
"""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

if TYPE_CHECKING:
    from collections.abc import Mapping

FRONT: Final = "pyptx"  # the package whose version, dependencies and extras the checkout has
# pip (26.3) takes a folder with a dash in its name for a released version: it caches the wheel, and installs that one
# again after the sources have changed. At the end of the URL, this hides the name.
UNCACHED: Final = "/."


class CheckoutMetadata(MetadataHookInterface):
    """The hook that hatchling calls for the fields in `project.dynamic`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the version, the dependencies and the extras."""
        packages = Path(self.root) / "packages"
        projects = {path.parent.name: project(path) for path in sorted(packages.glob("*/pyproject.toml"))}
        extras = projects[FRONT]["optional-dependencies"]
        metadata["version"] = projects[FRONT]["version"] + commit(self.root)
        metadata["dependencies"] = references(packages, projects, FRONT)
        metadata["optional-dependencies"] = {
            extra: references(packages, projects, f"{FRONT}[{extra}]") for extra in extras
        }


def commit(root: str) -> str:
    """Return the commit of a clone, as a local version; else nothing.

    pip replaces an installation from a git URL only if the version differs (26.3).
    """
    if not (Path(root) / ".git").exists():
        return ""
    command = ["git", "-C", root, "rev-parse", "--short=12", "HEAD"]
    try:
        return "+g" + subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # git is missing, or refuses another user's clone
        return ""


def project(path: Path) -> dict[str, Any]:
    """Return the table `project` of a pyproject.toml."""
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return table


def references(packages: Path, projects: Mapping[str, Mapping[str, Any]], wanted: str) -> list[str]:
    """Return references to the folders of `wanted` and of all local packages that it needs, at any depth.

    Requirements on other projects' packages are left to the packages that declare them.
    """
    found: dict[str, None] = {}
    waiting = [Requirement(wanted)]
    for need in waiting:
        if need.name not in projects:
            continue
        table = projects[need.name]
        extras = [low for extra in sorted(need.extras) for low in table["optional-dependencies"][extra]]
        need.specifier, need.url = SpecifierSet(), f"{(packages / need.name).as_uri()}{UNCACHED}"
        if str(need) not in found:
            found[str(need)] = None
            waiting += map(Requirement, [*table["dependencies"], *extras])
    return list(found)
