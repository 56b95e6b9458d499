"""The code map of ARCHITECTURE.md, against the folders that there are and the order that import-linter holds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path for path in ROOT.glob("packages/*/src/*") if (path / "__init__.py").exists())
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("\n## Code map\n")[1].split("\n## ")[0]
CONTRACT = "Inside {}, rooms stand on rooms"


def section(package: str) -> str:
    """Return what the map says of a package: from its name in bold to the next one that a paragraph starts with."""
    start = re.search(rf"^\*\*`{package}`\*\*", MAP, re.MULTILINE) or re.search(rf"\*\*`{package}`\*\*", MAP)
    assert start, f"the map lacks {package}"
    return re.split(r"^\*\*`", MAP[start.end() :], maxsplit=1, flags=re.MULTILINE)[0]


def rooms(package: str) -> list[str]:
    """Return the folders and files that the map has a line for."""
    return re.findall(r"^- `([\w/.]+)`: ", section(package), re.MULTILINE)


def ordered(package: str) -> list[str]:
    """Return the lines of the map's picture of the order, lowest first."""
    (picture,) = re.findall(rf"^```text\n{package}\n(.*?)^```", section(package), re.MULTILINE | re.DOTALL)
    return [line.strip() for line in str(picture).splitlines()]


def contracts() -> dict[str, list[str]]:
    """Return the layers of import-linter's contracts by name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {row["name"]: row.get("layers", []) for row in settings["tool"]["importlinter"]["contracts"]}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_folder_has_a_line_and_every_line_a_folder(package: Path) -> None:
    lines = rooms(package.name)
    folders = {
        f"{path.relative_to(package)}/"
        for path in package.rglob("*")
        if path.is_dir() and not any(part == "__pycache__" for part in path.parts) and any(path.glob("*.*"))
    }
    shown = {line for line in lines if line.endswith("/") and not line.startswith("src/")}
    assert shown == folders
    assert len(lines) == len(set(lines))
    gone = [line for line in lines if not (package / line).exists() and not (package.parents[1] / line).exists()]
    assert not gone


@pytest.mark.parametrize("package", [path.name for path in PACKAGES if CONTRACT.format(path.name) in contracts()])
def test_the_order_of_rooms_is_the_one_that_is_checked(package: str) -> None:
    layers = contracts()[CONTRACT.format(package)]
    assert ordered(package) == [layer.replace(f"{package}.", "") for layer in reversed(layers)]


def test_every_import_package_stands_in_the_map() -> None:
    assert {path.name for path in PACKAGES} <= set(re.findall(r"\*\*`(pyptx\w*)`\*\*", MAP))
