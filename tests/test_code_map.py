"""ARCHITECTURE.md agrees with the dependencies, the contracts of import-linter, and the folders."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {path.name: path for path in ROOT.glob("packages/*/src/*") if (path / "__init__.py").exists()}
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PICTURES = dict(re.findall(r"^```text\n(pyptx_\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


def read(path: Path) -> dict[str, Any]:
    """Return the parsed contents of a TOML file."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def contracts() -> dict[str, list[str]]:
    """Return the layers of each package, highest first, from import-linter contracts about its direct modules."""
    rows = read(ROOT / "pyproject.toml")["tool"]["importlinter"]["contracts"]
    found: dict[str, list[str]] = {}
    for layers in (row["layers"] for row in rows if row["type"] == "layers"):
        owners = {module.rpartition(".")[0] for layer in layers for module in names(layer)}
        if owners <= PACKAGES.keys():
            (owner,) = owners
            assert owner not in found
            found[owner] = [layer.replace(f"{owner}.", "") for layer in layers]
    return found


def names(layer: str) -> list[str]:
    """Return the module names in a layer of an import-linter contract."""
    return re.split(r" [|:] ", layer)


def test_every_package_is_in_the_table_with_its_dependencies() -> None:
    rows = re.findall(r"^\| `(pyptx\w*)` \| ([`\w, ]*?) ?\| .+\|$", PAGE, re.MULTILINE)
    shown = {package: set(re.findall(r"\w+", needs)) for package, needs in rows}
    declared = {
        name: read(path.parents[1] / "pyproject.toml")["project"]["dependencies"] for name, path in PACKAGES.items()
    }
    ours = {
        name: {module for need in needs if (module := re.split(r"[^\w-]", need)[0].replace("-", "_")) in PACKAGES}
        for name, needs in declared.items()
    }
    assert shown == ours


def test_the_pictures_of_layers_are_the_contracts() -> None:
    pictures = {package: [line.strip() for line in text.splitlines()] for package, text in PICTURES.items()}
    assert pictures == {package: layers[::-1] for package, layers in contracts().items()}


@pytest.mark.parametrize("package", sorted(contracts()))
def test_every_folder_has_a_layer_and_every_layer_exists(package: str) -> None:
    shown = {name for layer in contracts()[package] for name in names(layer)}
    modules = {path.stem for path in PACKAGES[package].glob("*.py")}
    folders = {path.parent.name for path in PACKAGES[package].glob("*/*.py")}
    assert folders <= shown <= folders | modules


def test_every_named_path_exists() -> None:
    text = re.sub(r"(?ms)^```.*?^```", "", PAGE)
    paths = {"".join(found) for found in re.findall(r"`([\w./-]+)`|\]\(([\w./-]+)[#)]", text)}
    paths = {path for path in paths if path.endswith(("/", ".py", ".md", ".toml"))}
    sources = PACKAGES.values()
    roots = [
        ROOT,
        *(path.parent for path in sources),
        *sources,
        *(folder for path in sources for folder in path.iterdir()),
    ]
    assert len(paths) > 20
    assert not [path for path in paths if not any((root / path).exists() for root in roots)]
