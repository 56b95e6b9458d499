"""Activate the virtual GPU for all tests of this folder."""

from __future__ import annotations

import os
import warnings

import pytest

import pyptx_virtual

MEMORY_BYTES = 1 << 32

if os.environ.get("PYPTX_TEST_ON_DEVICE"):
    warnings.filterwarnings("error")
    pyptx_virtual.activate("sm_90a", memory_bytes=MEMORY_BYTES)


def pytest_configure(config: pytest.Config) -> None:
    """Ignore torch's warnings about its own use of torch.jit, in modules that tests import first."""
    config.addinivalue_line("filterwarnings", "ignore:.torch.jit.*is deprecated:DeprecationWarning")


@pytest.fixture
def device() -> pyptx_virtual.VirtualDevice:
    return pyptx_virtual.active()
