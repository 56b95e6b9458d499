"""Launch attributes: values that `@kernel(launch=…)` accepts, and the bytes passed to the driver."""

from __future__ import annotations

import pytest

from pyptx_dsl.contract.launch_attributes import encode_attributes
from pyptx_dsl.errors import LaunchError
from pyptx_ir.plugins.targets import find_target

SM_90A = find_target("sm_90a")


@pytest.mark.parametrize(
    ("launch", "encoded"),
    [
        (None, ()),
        ({}, ()),
        ({"cooperative": True}, ((2, b"\1\0\0\0"),)),
        ({"priority": -1, "cooperative": False}, ((2, b"\0\0\0\0"), (8, b"\xff\xff\xff\xff"))),
        ({"preferred_shared_memory_carveout": 100}, ((14, b"d\0\0\0"),)),
    ],
)
def test_values_become_the_bytes_that_the_driver_reads(launch: object, encoded: object) -> None:
    assert encode_attributes(launch, SM_90A) == encoded


@pytest.mark.hopper
def test_an_architecture_adds_attributes_of_its_own() -> None:
    launch = {"programmatic_stream_serialization": True, "cluster_scheduling_policy": "load_balancing"}
    assert encode_attributes(launch, SM_90A) == ((5, b"\2\0\0\0"), (6, b"\1\0\0\0"))
    with pytest.raises(LaunchError, match=r"capability 9\.0; the kernel is for sm_80"):
        encode_attributes(launch, find_target("sm_80"))
    size = {"preferred_cluster": (4, 2)}
    assert encode_attributes(size, find_target("sm_100a")) == ((11, b"\4\0\0\0\2\0\0\0\1\0\0\0"),)


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        ("cooperative", "must be a mapping"),
        ({"cooperativ": True}, "did you mean cooperative"),
        ({"cooperative": 1}, "True or False"),
        ({"priority": "high"}, "an integer"),
        ({"priority": True}, "an integer"),
    ],
)
def test_an_attribute_that_makes_no_sense_is_an_error(launch: object, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        encode_attributes(launch, SM_90A)
