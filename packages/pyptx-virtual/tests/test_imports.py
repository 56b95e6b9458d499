"""Doors are attached when a program imports the framework that they are for."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from typing import TYPE_CHECKING

import pytest

from pyptx_virtual.imports import when_imported

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the name of a package that can be imported, and forget it afterwards."""
    package = tmp_path / "framework_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("state = 'imported'\n")
    (package / "data.txt").write_text("data")
    (package / "inner.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)
    yield package.name
    sys.meta_path[:] = finders
    for name in [name for name in sys.modules if name.startswith(package.name)]:
        del sys.modules[name]


def test_a_door_is_attached_once_the_framework_is_imported(framework: str) -> None:
    attached: list[str] = []
    when_imported([framework], lambda name: attached.append(sys.modules[name].state))
    assert importlib.util.find_spec(framework) is not None  # a program asks whether the framework is installed
    assert attached == []
    importlib.import_module(f"{framework}.inner")
    importlib.import_module(framework)
    assert attached == ["imported"]


def test_a_framework_keeps_its_loader(framework: str) -> None:
    when_imported([framework], lambda _: None)
    module = importlib.import_module(framework)
    assert module.__spec__ is not None
    assert module.__spec__.loader is module.__loader__
    assert type(module.__loader__).__module__ != "pyptx_virtual.imports"
    assert pkgutil.get_data(framework, "data.txt") == b"data"


def test_a_door_of_an_imported_framework_is_attached_at_once(framework: str) -> None:
    attached: list[str] = []
    importlib.import_module(framework)
    when_imported([framework, "framework_that_is_missing"], attached.append)
    assert attached == [framework]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("framework_that_is_missing")


def test_an_error_of_a_door_is_that_of_the_import_and_the_import_can_be_repeated(framework: str) -> None:
    attached: list[str] = []

    def attach(name: str) -> None:
        attached.append(name)
        if len(attached) == 1:
            raise RuntimeError("not supported")

    when_imported([framework], attach)
    with pytest.raises(RuntimeError, match="not supported"):
        importlib.import_module(framework)
    importlib.import_module(framework)
    assert attached == [framework, framework]
