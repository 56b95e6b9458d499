"""Blackwell's plugin satisfies the plugin contract."""

from __future__ import annotations

from pyptx_ir.plugins.testing import check_plugin


def test_the_plugin_keeps_the_contract() -> None:
    check_plugin("pyptx_arch_blackwell.plugin")
