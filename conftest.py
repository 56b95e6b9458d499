"""What every test of the repository shares: the option that admits GPU tests, and the long profile of `nox -s fuzz`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

settings.register_profile("long", max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--gpu`."""
    parser.addoption("--gpu", action="store_true", help="collect tests/gpu, which needs an NVIDIA GPU and its driver")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave tests/gpu out, without `--gpu`."""
    if config.getoption("--gpu") or collection_path != config.rootpath / "tests" / "gpu":
        return None
    return True
