"""Each class name is unique in its distribution, and no former name in `tools/renamed.tsv` is in use."""

from __future__ import annotations

import ast
import csv
import importlib
import inspect
import pkgutil
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pyptx_ir.renamed import KEYWORDS, NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
DISTRIBUTIONS: Final = sorted(path.name for path in (ROOT / "packages").iterdir())
SAME_CONCEPT: Final = {
    "Scalar": "a scalar parameter of a kernel: declared in the DSL, passed by the launcher",
    "TensorMap": "CUtensorMap: encoded by the launcher, decoded by the simulator",
}
"""Names of public classes in two distributions, and the concept that both classes represent."""


@cache
def former(*kinds: str) -> frozenset[str]:
    """Return the former names of objects of these kinds in `renamed.tsv`."""
    with (ROOT / "tools/renamed.tsv").open(encoding="utf-8", newline="") as file:
        return frozenset(row["old"] for row in csv.DictReader(file, delimiter="\t") if row["kind"] in kinds)


def classes(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name of each class below a folder, with its file."""
    for file in sorted(folder.rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "class " in source else ():
            if isinstance(node, ast.ClassDef):
                yield node.name, file.relative_to(ROOT)


def public() -> Iterator[tuple[str, str, Any]]:
    """Yield each name that a package or subpackage exports: its distribution, the name, the object."""
    for distribution in DISTRIBUTIONS:
        root = importlib.import_module(distribution.replace("-", "_"))
        parts = pkgutil.walk_packages(root.__path__, f"{root.__name__}.")
        for package in (root, *(importlib.import_module(part.name) for part in parts if part.ispkg)):
            for name in getattr(package, "__all__", ()):
                yield distribution, name, getattr(package, name)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_no_class_name_occurs_twice_in_a_distribution(distribution: str) -> None:
    files = defaultdict(list)
    for name, file in classes(ROOT / "packages" / distribution / "src"):
        files[name].append(str(file))
    assert not {name: each for name, each in files.items() if len(each) > 1}


def test_public_classes_of_one_name_are_one_concept() -> None:
    homes = defaultdict(set)
    for _, name, value in public():
        if inspect.isclass(value) and value.__module__.startswith("pyptx"):
            homes[name].add(value.__module__.partition(".")[0])
    assert {name for name, each in homes.items() if len(each) > 1} == SAME_CONCEPT.keys()


def test_no_public_name_or_keyword_is_a_former_one() -> None:
    assert former("name", "member") >= NAMES.keys()
    assert former("keyword") == KEYWORDS.keys()
    for distribution, name, value in public():
        assert name not in NAMES, distribution
        if inspect.isfunction(value):
            assert not KEYWORDS.keys() & inspect.signature(value).parameters.keys(), (distribution, name)


def test_no_class_or_file_has_a_former_name() -> None:
    found = [(name, file) for part in ("packages", "tests") for name, file in classes(ROOT / part)]
    assert not [(name, str(file)) for name, file in found if name in former("name", "class")]
    files = (file for part in ("packages", "tests") for file in (ROOT / part).rglob("*.py"))
    assert not [str(file) for file in files if file.name in former("file")]
