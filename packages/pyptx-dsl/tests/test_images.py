"""A kernel is compiled again for the device that runs it if its own target's machine code does not run there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.kernels.images import image_of
from pyptx_ir.toolchain import assemble

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Specialization

pytestmark = pytest.mark.ptxas


def special(arch: str) -> Specialization:
    @kernel(grid=1, block=32, arch=arch)
    def nothing():
        ptx.ret()

    return nothing.specialize([], {})


@pytest.mark.parametrize(
    ("arch", "device", "compiled"),
    [
        ("sm_80", None, "sm_80"),
        ("sm_80", "sm_80", "sm_80"),
        ("sm_80", "sm_86", "sm_80"),  # machine code runs on later devices of the same major version
        ("sm_80", "sm_90", "sm_90"),
        ("sm_80", "sm_100", "sm_100"),
        ("sm_90", "sm_80", "sm_90"),  # the device (sm_80) is older than the target (sm_90): no cubin runs on it
        ("sm_90a", "sm_90", "sm_90a"),
        ("sm_90a", "sm_100", "sm_90a"),  # machine code of an arch-specific target runs on that architecture only
    ],
)
def test_the_image_is_for_the_device_where_it_is_of_a_later_generation(
    arch: str, device: str | None, compiled: str
) -> None:
    traced = special(arch)
    assert image_of(traced, device) == assemble(traced.text, compiled).cubin


def test_machine_code_made_ahead_of_time_serves_its_own_generation() -> None:
    traced = replace(special("sm_80"), image=b"a cubin")
    assert image_of(traced, "sm_89") == b"a cubin"
    assert image_of(traced, "sm_90") == assemble(traced.text, "sm_90").cubin
