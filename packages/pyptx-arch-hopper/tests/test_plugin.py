"""Hopper's plugin keeps the contract of plugins."""

from __future__ import annotations

from pyptx_arch_hopper.ptx.fences import FENCES, ProvidedFences
from pyptx_ir.plugins.testing import check_plugin


def test_the_plugin_keeps_the_contract() -> None:
    check_plugin("pyptx_arch_hopper.plugin")


def test_type_checkers_are_told_of_the_fences_that_there_are() -> None:
    assert set(ProvidedFences.__annotations__) == set(FENCES)
