"""Hopper's plugin satisfies the plugin contract."""

from __future__ import annotations

from pyptx_arch_hopper import namespaces
from pyptx_arch_hopper.ptx.fences import FENCES, ProvidedFences
from pyptx_ir.plugins.testing import check_plugin


def test_the_plugin_keeps_the_contract() -> None:
    check_plugin("pyptx_arch_hopper.plugin")


def test_type_checkers_are_told_of_the_fences_that_there_are() -> None:
    assert set(ProvidedFences.__annotations__) == set(FENCES)


def test_type_checkers_take_the_names_that_are_there_at_run_time() -> None:
    assert namespaces.__all__ == sorted(name for name in namespaces.NAMESPACES if "." not in name)
    assert all(getattr(namespaces, name) is namespaces.NAMESPACES[name] for name in namespaces.__all__)
