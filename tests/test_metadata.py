"""The metadata of the packages: complete, and equal where the packages do not differ."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tools import check_release
from trove_classifiers import classifiers

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {path.parent.name: path.parent for path in sorted(ROOT.glob("packages/*/pyproject.toml"))}
COMMON_KEYWORDS = {"cuda", "gpu", "nvidia", "ptx"}
# Groups of classifiers in which the packages differ: the launcher is a library, runtimes need Linux.
DIFFERENT = ("Operating System :: ", "Programming Language :: C++", "Topic :: ")
EQUAL = ("readme", "license", "license-files", "authors", "requires-python")


def project(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


TABLES = {name: project(folder) for name, folder in PACKAGES.items()}
CHECKOUT = project(ROOT)
REPOSITORY: str = CHECKOUT.get("urls", {}).get("Source", "")


def urls(package: str) -> dict[str, str]:
    """Return the addresses of a package in the repository whose address the root package states."""
    return {
        "Homepage": REPOSITORY,
        "Documentation": f"{REPOSITORY}/blob/main/docs/index.md",
        "Source": REPOSITORY,
        "Changelog": f"{REPOSITORY}/blob/main/packages/{package}/CHANGELOG.md",
        "Issues": f"{REPOSITORY}/issues",
    }


def test_the_root_package_has_the_addresses_and_keywords_of_the_facade() -> None:
    assert re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", REPOSITORY)
    for field in ("urls", "keywords", "license", "license-files", "authors", "requires-python"):
        assert CHECKOUT[field] == TABLES["pyptx"][field], field


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_states_its_addresses(package: str) -> None:
    assert TABLES[package]["urls"] == urls(package)
    paths = [url.partition("/blob/main/")[2] for url in TABLES[package]["urls"].values()]
    assert all((ROOT / path).is_file() for path in paths if path)


@pytest.mark.parametrize("package", PACKAGES)
def test_fields_that_do_not_depend_on_the_package_are_equal(package: str) -> None:
    assert {field: TABLES[package][field] for field in EQUAL} == {field: TABLES["pyptx"][field] for field in EQUAL}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_a_description_and_keywords(package: str) -> None:
    description, keywords = TABLES[package]["description"], TABLES[package]["keywords"]
    assert description.endswith(".")
    assert len(description) <= 120
    assert set(keywords) > COMMON_KEYWORDS
    assert keywords == sorted(set(keywords))


@pytest.mark.parametrize("package", PACKAGES)
def test_classifiers_exist_and_differ_only_by_system_language_and_topic(package: str) -> None:
    listed = TABLES[package]["classifiers"]
    assert listed == sorted(set(listed))
    assert set(listed) <= classifiers
    shared, expected = (
        [row for row in rows if not row.startswith(DIFFERENT)] for rows in (listed, TABLES["pyptx"]["classifiers"])
    )
    assert shared == expected
    assert any(row.startswith("Topic :: ") for row in listed)


def release(folder: Path, version: str, dated: str) -> Path:
    """Write the metadata and the changelog of a fictitious package, and return its folder."""
    lines = ["[project]", 'name = "pyptx-new"', f'version = "{version}"', "[project.urls]"]
    lines += ['Source = "https://forge.example/us/it"', 'Issues = "https://forge.example/us/it/issues"']
    (folder / "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## {version} ({dated})\n\n- Added: it.\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("tag", "repository", "dated", "words"),
    [
        ("pyptx-new-v1.2.0", "https://forge.example/us/it", "2030-01-02", []),
        ("pyptx-new-v1.2.1", "https://forge.example/us/it", "2030-01-02", ["tag"]),
        ("main", "https://forge.example/us/it", "unreleased", ["tag", "CHANGELOG"]),
        ("pyptx-new-v1.2.0", "https://forge.example/us/i", "2030-01-02", ["Source", "Issues"]),
    ],
)
def test_a_release_needs_its_tag_its_addresses_and_a_dated_changelog(
    tmp_path: Path, tag: str, repository: str, dated: str, words: list[str]
) -> None:
    found = check_release.faults(release(tmp_path, "1.2.0", dated), tag, repository)
    assert len(found) == len(words)
    assert all(word in line for word, line in zip(words, found, strict=True))
