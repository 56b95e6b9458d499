"""`pyptx_sim.Launch`: the parameters of a launch as one value."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from pyptx_sim import Launch, run
from pyptx_sim.errors import LaunchError
from pyptx_sim.launch import LaunchFields

from .ptx_text import module

IDS = module("st.global.u32 [%rd1], %r0;")


def test_a_launch_and_its_fields_run_alike() -> None:
    by_value, by_fields = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    launch = Launch(grid=1, block=32, args=[by_value])
    assert run(IDS, launch, seed=3) == run(IDS, grid=1, block=32, args=[by_fields], seed=3)
    assert by_value.tolist() == by_fields.tolist() == list(range(32))


def test_a_launch_is_changed_by_replacing_fields() -> None:
    launch = Launch(grid=1, block=32)
    out = np.zeros(16, np.uint32)
    run(IDS, replace(launch, block=16, args=[out]))
    assert (launch.block, launch.args) == (32, ())
    assert out.tolist() == list(range(16))


def test_fields_beside_a_launch_stand_in_place_of_its_own() -> None:
    launch = Launch(grid=1, block=32, args=[np.zeros(1, np.uint32)])
    out = np.zeros(16, np.uint32)
    run(IDS, launch, block=16, args=[out])
    assert out.tolist() == list(range(16))


def test_keywords_are_the_fields_of_a_launch() -> None:
    assert list(LaunchFields.__annotations__) == [field.name for field in fields(Launch)]
    with pytest.raises(TypeError, match="grid"):
        run(IDS, block=1)
    with pytest.raises(TypeError, match="blocks"):
        run(IDS, grid=1, blocks=1)  # type: ignore[call-arg]  # the error under test


def test_an_entry_says_how_many_threads_its_blocks_have() -> None:
    out = np.zeros(8, np.uint32)
    run(IDS.replace("{\n", ".reqntid 8\n{\n", 1), grid=1, args=[out])
    assert out.tolist() == list(range(8))
    with pytest.raises(LaunchError, match=r"k has no CTA size(.|\n)*block="):
        run(IDS, grid=1, args=[out])
