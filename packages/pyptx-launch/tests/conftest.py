"""The null driver (a stand-in for libcuda), reset for each test, and its streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .null_driver import NullDriver, install
from .streams import Streams

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def the_null_driver() -> NullDriver:
    return install()


@pytest.fixture(autouse=True)
def null(the_null_driver: NullDriver) -> Iterator[NullDriver]:
    the_null_driver.reset()
    yield the_null_driver
    the_null_driver.reset()


@pytest.fixture
def streams(null: NullDriver) -> Iterator[Streams]:
    made = Streams(null)
    yield made
    made.close()
