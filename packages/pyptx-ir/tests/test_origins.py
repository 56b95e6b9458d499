"""The command that installs further packages of pyptx, and the origins of pyptx's distributions."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import distribution
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_ir import origins
from pyptx_ir.origins import CHECKOUT, install_command, origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Install = Callable[..., None]

GIT = "https://git.example/pyptx.git"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = {"url": GIT, "vcs_info": {"vcs": "git", "commit_id": COMMIT}}
ANYWHERE = 'pip install ".[sim]" in a checkout of pyptx'


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return a function that adds a distribution with a record of its origin (PEP 610) to the front of sys.path."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    def install(name: str, record: dict[str, Any] | str | None, *needs: str) -> None:
        folder = tmp_path / "site" / f"{name.replace('-', '_')}-0.2.0.dist-info"
        folder.mkdir(parents=True)
        lines = [
            "Metadata-Version: 2.1",
            f"Name: {name}",
            "Version: 0.2.0",
            *(f"Requires-Dist: {one}" for one in needs),
        ]
        (folder / "METADATA").write_text("\n".join(lines), encoding="utf-8")
        if record is not None:
            text = record if isinstance(record, str) else json.dumps(record)
            (folder / "direct_url.json").write_text(text, encoding="utf-8")
        origins._source.cache_clear()

    install("pyptx-ir", None)
    yield install
    origins._source.cache_clear()


def checkout(folder: Path) -> Path:
    """Create a folder that looks like a checkout."""
    (folder / "packages" / "pyptx").mkdir(parents=True)
    (folder / "packages" / "pyptx" / "pyproject.toml").touch()
    return folder


def directory(folder: Path, **more: bool) -> dict[str, Any]:
    return {"url": folder.as_uri(), "dir_info": more}


def recorded(tmp_path: Path, record: dict[str, Any] | str) -> None:
    """Change the record of origin (PEP 610) of pyptx-ir."""
    path = tmp_path / "site" / "pyptx_ir-0.2.0.dist-info" / "direct_url.json"
    path.write_text(record if isinstance(record, str) else json.dumps(record), encoding="utf-8")
    origins._source.cache_clear()


@pytest.mark.parametrize("name", ["checkout", "a check out", "50% ünder"])
def test_the_command_names_the_checkout_that_the_installation_came_from(
    install: Install, tmp_path: Path, name: str
) -> None:
    folder = checkout(tmp_path / name)
    install(CHECKOUT, directory(folder))
    assert install_command("sim") == f'pip install "{folder}[sim]"'
    assert install_command("torch", "jax") == f'pip install "{folder}[torch]" or "{folder}[jax]"'
    assert install_command("hopper,sim") == f'pip install "{folder}[hopper,sim]"'
    assert install_command("") == f'pip install "{folder}"'


def test_a_path_with_characters_of_the_shell_is_quoted(install: Install, tmp_path: Path) -> None:
    folder = checkout(tmp_path / "it's $HOME")
    install(CHECKOUT, directory(folder))
    assert shlex.split(install_command("sim")) == ["pip", "install", f"{folder}[sim]"]


@pytest.mark.usefixtures("install")
def test_a_package_installed_by_itself_leads_to_its_checkout(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "checkout")
    for end in ("", "/."):
        url = f"{(folder / 'packages' / 'pyptx-ir').as_uri()}{end}"
        recorded(tmp_path, {"url": url, "dir_info": {"editable": True}})
        assert install_command("sim") == f'pip install "{folder}[sim]"'
        assert origin(distribution("pyptx-ir")) == f"{folder}, editable"


def test_the_command_names_the_repository_and_the_revision_that_was_asked_for(install: Install) -> None:
    install(CHECKOUT, REPOSITORY)
    assert install_command("sim") == f'pip install "pyptx-checkout[sim] @ git+{GIT}"'


def test_the_command_keeps_the_revision_that_was_asked_for(install: Install, tmp_path: Path) -> None:
    asked = {**REPOSITORY, "vcs_info": {"vcs": "git", "commit_id": COMMIT, "requested_revision": "v1"}}
    recorded(tmp_path, {**asked, "subdirectory": "packages/pyptx-ir"})  # uv records the key `subdirectory`
    assert install_command("sim") == f'pip install "pyptx-checkout[sim] @ git+{GIT}@v1"'
    install(CHECKOUT, REPOSITORY)
    assert install_command("sim") == f'pip install "pyptx-checkout[sim] @ git+{GIT}"'


def test_the_command_names_an_archive_of_the_checkout(install: Install) -> None:
    install(CHECKOUT, {"url": "https://git.example/main.zip", "archive_info": {}})
    assert install_command("sim") == 'pip install "pyptx-checkout[sim] @ https://git.example/main.zip"'


@pytest.mark.usefixtures("install")
@pytest.mark.parametrize(
    "record",
    [
        "{damaged",
        "[]",
        {"url": "file:///gone/packages/pyptx-ir", "dir_info": {}},
        {"url": "file:///wheels/pyptx_ir-0.2.0-py3-none-any.whl", "archive_info": {}},
    ],
    ids=["damaged", "list", "gone", "wheel"],
)
def test_without_a_place_to_install_from_the_command_is_for_any_checkout(
    tmp_path: Path, record: dict[str, Any] | str
) -> None:
    assert install_command("sim") == ANYWHERE
    recorded(tmp_path, record)
    assert install_command("sim") == ANYWHERE


def test_a_package_that_was_unpacked_for_the_installation_came_from_the_repository(
    install: Install, tmp_path: Path
) -> None:
    unpacked = (tmp_path / "pip-install" / "packages" / "pyptx-ir").as_uri()
    install(CHECKOUT, REPOSITORY, f"pyptx-ir @ {unpacked}/. ; extra == 'sim'")
    for url in (unpacked, f"{unpacked}/."):
        recorded(tmp_path, {"url": url, "dir_info": {}})
        assert origin(distribution("pyptx-ir")) == f"git+{GIT} at {COMMIT[:12]}"
    assert install_command("sim") == f'pip install "pyptx-checkout[sim] @ git+{GIT}"'
    recorded(tmp_path, directory(tmp_path / "other"))  # then pyptx-ir is installed from another folder
    assert origin(distribution("pyptx-ir")) == str(tmp_path / "other")


def test_an_index_and_a_wheel_are_told_apart(install: Install, tmp_path: Path) -> None:
    install("pyptx-sim", None)
    assert origin(distribution("pyptx-sim")) == "a package index or a folder of wheels"
    recorded(tmp_path, {"url": "file:///wheels/pyptx_ir-0.2.0-py3-none-any.whl", "archive_info": {}})
    assert origin(distribution("pyptx-ir")) == "file:///wheels/pyptx_ir-0.2.0-py3-none-any.whl"
