"""A build without jaxlib has no handlers for jax, and reports that when jax is used."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import pyptx_launch

SOURCE = Path(pyptx_launch.__file__).with_name("xla.py")


def test_a_launcher_built_without_jaxlib_raises_where_jax_asks_for_its_handlers(monkeypatch):
    monkeypatch.setattr(pyptx_launch, "_shim", ModuleType("_shim"))
    spec = importlib.util.spec_from_file_location("xla_without_handlers", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(ImportError, match="built without the XLA handlers") as caught:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert "help: " in str(caught.value)
    assert "PYPTX_XLA" in str(caught.value)
