"""The root package installs the packages of the checkout and requires none of them from an index."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from pyptx_ir.origins import CHECKOUT

ROOT = Path(__file__).parents[1]
FOLDERS = {path.parent.name: path.parent for path in ROOT.glob("packages/*/pyproject.toml")}


def hook() -> Any:
    """Import the build hook, which is not on `sys.path`."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def derived(root: Path) -> dict[str, Any]:
    """Return the metadata that the build hook derives for a checkout."""
    metadata: dict[str, Any] = {}
    hook().CheckoutMetadata(str(root), {}).update(metadata)
    return metadata


def package(root: Path, name: str, body: str) -> None:
    """Add a package to a fictitious checkout."""
    folder = root / "packages" / name
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(f'[project]\nname = "{name}"\nversion = "1.2.3"\n{body}', encoding="utf-8")


METADATA = derived(ROOT)
LISTS = {"": METADATA["dependencies"], **METADATA["optional-dependencies"]}


@pytest.mark.parametrize("extra", LISTS)
def test_what_an_extra_needs_of_ours_is_a_folder_of_this_checkout(extra: str) -> None:
    listed = [Requirement(need) for need in LISTS[extra]]
    assert listed
    for need in listed:
        assert need.url == f"{FOLDERS[need.name].as_uri()}/."
    named = {need.name for need in listed}
    for need in listed:
        project = hook().project(FOLDERS[need.name] / "pyproject.toml")
        optional = (low for asked in need.extras for low in project["optional-dependencies"][asked])
        assert {Requirement(low).name for low in (*project["dependencies"], *optional)} & FOLDERS.keys() <= named


def test_the_extras_are_those_of_the_facade_and_all_brings_every_package() -> None:
    project = hook().project(FOLDERS["pyptx"] / "pyproject.toml")
    assert LISTS.keys() - {""} == project["optional-dependencies"].keys()
    assert {Requirement(need).name for need in LISTS["all"]} == FOLDERS.keys()


def test_the_compiled_package_comes_with_the_frameworks_only() -> None:
    compiled = {extra for extra, needs in LISTS.items() if any(need.startswith("pyptx-launch ") for need in needs)}
    assert compiled == {"torch", "jax", "all"}


def test_uv_builds_a_wheel_anew_when_one_of_its_files_changes() -> None:
    for folder in (ROOT, *FOLDERS.values()):
        keys = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]["cache-keys"]
        found = {path for key in keys if "file" in key for path in folder.glob(key["file"])}
        wanted = FOLDERS.values() if folder == ROOT else [folder]
        assert found >= {folder / "pyproject.toml", *(each / "pyproject.toml" for each in wanted)}
        assert found >= {path for path in folder.glob("src/*/**/*") if path.is_file()}
        assert found >= {
            path for path in folder.iterdir() if path.name in {"CMakeLists.txt", "hatch_build.py", "hatch.toml"}
        }


def test_references_follow_extras_and_keep_markers(tmp_path: Path) -> None:
    root = tmp_path / "a check out"
    package(root, "pyptx", 'dependencies = ["low>=1,<2", "numpy"]\n[project.optional-dependencies]\nx = ["pyptx[y]"]\n'
            "y = [\"high[z]>=1,<2; sys_platform == 'linux'\", \"scipy\"]\n")  # fmt: skip
    package(root, "low", "dependencies = []\n")
    package(root, "high", 'dependencies = ["pyptx"]\n[project.optional-dependencies]\nz = ["lowest", "jax"]\n')
    package(root, "lowest", 'dependencies = ["low"]\n')
    metadata = derived(root)
    assert metadata["version"] == "1.2.3"
    place = f"{tmp_path.as_uri()}/a%20check%20out/packages"
    assert metadata["dependencies"] == [f"pyptx @ {place}/pyptx/.", f"low @ {place}/low/."]
    assert metadata["optional-dependencies"]["x"] == [
        f"pyptx[x] @ {place}/pyptx/.",
        f"low @ {place}/low/.",
        f"pyptx[y] @ {place}/pyptx/.",
        f'high[z] @ {place}/high/. ; sys_platform == "linux"',
        f"pyptx @ {place}/pyptx/.",
        f"lowest @ {place}/lowest/.",
    ]


def test_the_version_of_a_clone_names_its_commit(tmp_path: Path) -> None:
    package(tmp_path, "pyptx", "dependencies = []\noptional-dependencies = {}\n")
    assert derived(tmp_path)["version"] == "1.2.3"
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.example")
    subprocess.run([*git, "init", "--quiet"], check=True)
    assert derived(tmp_path)["version"] == "1.2.3"  # a checkout without a commit gets no local version label
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=first"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert derived(tmp_path)["version"] == f"1.2.3+g{head[:12]}"


def test_the_wheel_holds_no_code_and_cannot_be_uploaded(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target=wheel", f"--directory={tmp_path}"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        (top,) = {name.partition("/")[0] for name in wheel.namelist()}
        metadata = Parser().parsestr(wheel.read(f"{top}/METADATA").decode())
    assert re.fullmatch(r"pyptx_checkout-[\w.+]+\.dist-info", top)
    assert metadata["Name"] == CHECKOUT
    assert metadata.get_all("Classifier") == ["Private :: Do Not Upload"]
    assert set(metadata.get_all("Provides-Extra") or ()) == LISTS.keys() - {""}
