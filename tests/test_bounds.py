"""Version bounds and classifiers state versions that `nox -s compat` runs; each requirement has one bound."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from tools.compat_rows import ROWS

ROOT = Path(__file__).resolve().parents[1]
TABLES = {path.parent.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in ROOT.glob("packages/*/*.toml")}
PACKAGES = sorted(TABLES)
CHECKOUT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REQUIREMENT = re.compile(r"([\w-]+)(?:\[[\w,]+\])?\s*([^;]*)")
ANOTHER_MACHINE = "rehearsal"  # dependency group of a machine with a GPU, which pins its own releases
UNBOUNDED = {
    "flatbuffers": "releases are numbered by year",
}


def words(table: dict[str, Any]) -> list[str]:
    """Return the requirements of a pyproject.toml: for building, for users, and for tests."""
    project, groups = table.get("project", {}), table.get("dependency-groups", {})
    lists = [table.get("build-system", {}).get("requires", []), project.get("dependencies", [])]
    lists += project.get("optional-dependencies", {}).values()
    lists += [group for name, group in groups.items() if name != ANOTHER_MACHINE]
    return [word for listed in lists for word in listed if isinstance(word, str)]


def split(requirement: str) -> tuple[str, str]:
    name, bound = REQUIREMENT.match(requirement).groups()  # type: ignore[union-attr] # always matches
    return name, bound.strip()


def bound_of(package: str, framework: str) -> str:
    (bound,) = (bound for name, bound in map(split, TABLES[package]["project"]["dependencies"]) if name == framework)
    return bound


def release(text: str) -> tuple[int, int]:
    major, minor = map(int, text.split(".")[:2])
    return major, minor


def test_a_requirement_has_one_bound_everywhere() -> None:
    bounds = defaultdict[str, set[str]](set)
    for table in (CHECKOUT, *TABLES.values()):
        for name, bound in map(split, words(table)):
            if not bound.startswith("=="):  # skip exact version pins, which only tests use
                bounds[name].add(bound)
    bounds["pyptx"].discard("")  # requirements of pyptx on its own extras have no bound
    assert {name: found for name, found in bounds.items() if len(found) > 1} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_what_users_install_has_an_upper_bound(package: str) -> None:
    project = TABLES[package]["project"]
    needs = [
        *project["dependencies"],
        *(need for extra in project.get("optional-dependencies", {}).values() for need in extra),
    ]
    unbounded = {name for name, bound in map(split, needs) if "<" not in bound and not name.startswith("pyptx")}
    assert unbounded <= UNBOUNDED.keys()


@pytest.mark.parametrize(("package", "framework"), [("pyptx-torch", "torch"), ("pyptx-jax", "jax")])
def test_the_bounds_of_a_framework_are_the_releases_that_compat_runs(package: str, framework: str) -> None:
    releases = sorted(release(getattr(row, framework)) for row in ROWS)
    (major, minor), (newest, latest) = releases[0], releases[-1]
    assert bound_of(package, framework) == f">={major}.{minor},<{newest}.{latest + 1}"


def test_tests_run_with_frameworks_of_a_row() -> None:
    groups = CHECKOUT["dependency-groups"]
    ((_, pinned),) = map(split, groups["torch"])
    assert pinned in {f"=={row.torch}" for row in ROWS}
    assert groups["jax"] == [f"jax{bound_of('pyptx-jax', 'jax')}"]


@pytest.mark.parametrize("package", PACKAGES)
def test_classifiers_name_the_interpreters_that_compat_runs(package: str) -> None:
    said = [row for row in TABLES[package]["project"]["classifiers"] if "Python ::" in row]
    assert said == [f"Programming Language :: Python :: {version}" for version in sorted({row.python for row in ROWS})]
    assert TABLES[package]["project"]["requires-python"] == f">={said[0].rpartition(' ')[2]}"


def test_the_launcher_takes_the_headers_of_the_oldest_jaxlib_and_only_for_its_handlers() -> None:
    table = TABLES["pyptx-launch"]
    build, (without,) = table["tool"]["scikit-build"]["build"], table["tool"]["scikit-build"]["overrides"]
    assert "jaxlib" not in " ".join(table["build-system"]["requires"])
    assert build["requires"] == [f"jaxlib=={min(ROWS, key=lambda row: release(row.jax)).jax}"]
    assert without["build"]["requires"] == []
    assert without["cmake"]["define"] == {"PYPTX_XLA": False}
