"""The package pyptx exports definitions of other packages under their public names, and defines nothing itself."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys

import pytest

import pyptx

MODULES = sorted(module.name for module in pkgutil.iter_modules(pyptx.__path__) if not module.name.startswith("_"))
KNOWN = ("emitter", "jax_support", "kernel", "parser", "reg", "smem", "specs", "torch_support", "types", "wgmma_layout")

OF_PLUGINS = {"wgmma_layout": pytest.mark.hopper}


@pytest.mark.parametrize("name", pyptx.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(pyptx, name) is not None


@pytest.mark.parametrize("name", KNOWN)
def test_the_modules_that_users_know_are_there(name: str) -> None:
    assert name in MODULES


@pytest.mark.parametrize("name", [pytest.param(name, marks=OF_PLUGINS.get(name, ())) for name in MODULES])
def test_a_module_of_the_facade_lists_names_and_defines_none(name: str) -> None:
    module = importlib.import_module(f"pyptx.{name}")
    assert module.__doc__
    homes = {getattr(getattr(module, public), "__module__", "pyptx_dsl") for public in module.__all__}
    assert not {home for home in homes if home == "pyptx" or home.startswith("pyptx.")}


def test_without_its_package_a_name_of_a_plugin_says_what_to_install() -> None:
    source = "from pyptx.wgmma_layout import Major, SharedTile\nfrom pyptx.wgmma_layout import layout_for_a"
    environment = {**os.environ, "PYPTX_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True, check=False)
    assert "MissingPackageError: pyptx.wgmma_layout.layout_for_a: ptx.wgmma needs pyptx-arch-hopper" in done.stderr
    assert re.search(r"\nhelp: pip install .*\[hopper\].*\n$", done.stderr)


def test_names_mean_the_same_wherever_they_are_imported_from() -> None:
    from pyptx import specs
    from pyptx_dsl import ptx
    from pyptx_dsl.contract.specs import Tile

    assert pyptx.Tile is specs.Tile is Tile
    assert pyptx.ptx is ptx


def test_parsing_and_emitting_are_the_trees_own() -> None:
    from pyptx.emitter import emit
    from pyptx.parser import parse

    text = ".version 8.0\n.target sm_90a\n.address_size 64\n\n// nothing else\n"
    assert emit(parse(text)) == text
