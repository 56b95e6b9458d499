"""Check that a package is ready to be published from a tag; the workflow wheels.yml runs this before it publishes.

    python tools/check_release.py PACKAGE TAG REPOSITORY

REPOSITORY is the address of the repository that publishes. Prints one line for each fault, and exits with 1 if any.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def faults(folder: Path, tag: str, repository: str) -> list[str]:
    """Return a line for each fault of the metadata and the changelog of the package in `folder`."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = project["name"], project["version"]
    changelog = (folder / "CHANGELOG.md").read_text(encoding="utf-8")
    found = [] if tag == f"{name}-v{version}" else [f"expected the tag {name}-v{version}, got {tag!r}"]
    found += [
        f"expected the address {repository}, got {label} = {url!r}"
        for label, url in project["urls"].items()
        if url != repository and not url.startswith(f"{repository}/")
    ]
    if f"\n## {version} (" not in changelog or f"\n## {version} (unreleased)" in changelog:
        found.append(f"CHANGELOG.md has no dated section for {version}")
    return found


def main(package: str, tag: str, repository: str) -> None:
    """Print the faults of a package of this repository; exit with 1 if there are any."""
    found = faults(ROOT / "packages" / package, tag, repository)
    for line in found:
        print(f"{package}: {line}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
