"""Launches that the hardware or the driver refuses: each raises an exception with a remedy; the process survives."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_ir.toolchain import assemble
from pyptx_launch import (
    CompileError,
    DriverError,
    LaunchError,
    Module,
    Plan,
    Pointer,
    Scalar,
    TensorMapError,
    driver,
)
from pyptx_launch import TensorMap as Map

from .kernels import COOPERATIVE, SHARED, SMALL, Entry, constant
from .plans import plan_of, scale_plan, tile_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .driver import Device

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).resolve().parents[2]
ON = struct.pack("<i", 1)


@pytest.fixture(autouse=True)
def a_good_launch_works_afterwards(gpu: Device) -> Iterator[None]:
    yield
    place = gpu.upload(np.zeros(1, np.uint32))
    plan_of(constant(5), Pointer(0)).launch((place,), 0, 0)
    gpu.synchronize()
    assert gpu.download(place, np.zeros(1, np.uint32)) == 5


def launched(plan: Plan, *pointers: int) -> None:
    plan.launch(pointers, 0, 0)


def prepared(image: bytes, entry: str) -> Plan:
    """Return a plan for an entry of a code image; the driver may examine the image only at the lookup of the entry."""
    return Plan(Module(image), entry, grid=(1, 1, 1), block=(1, 1, 1), parameters=(Pointer(0),))


# --- images -----------------------------------------------------------------------------------------


@pytest.mark.ptxas
def test_code_for_another_architecture_is_refused_with_what_to_do(gpu: Device) -> None:
    other = "sm_80" if gpu.capability[0] != 8 else "sm_90"
    image = assemble(constant(1).ptx(other), other).cubin
    with pytest.raises(DriverError, match="compile for this device's capability") as caught:
        launched(Plan(Module(image), "constant", grid=(1, 1, 1), block=(1, 1, 1), parameters=(Pointer(0),)), 0)
    assert caught.value.name == "CUDA_ERROR_NO_BINARY_FOR_GPU"


def test_a_mistake_in_ptx_is_shown_with_its_line(gpu: Device) -> None:
    text = Entry("wrong", (), ".reg .b32 a;\nadd.u33 a, a, 1;").ptx(gpu.target)
    (line,) = [number for number, row in enumerate(text.splitlines(), 1) if "u33" in row]
    with pytest.raises(CompileError) as caught:
        prepared(text.encode(), "wrong")
    assert f"line {line}" in caught.value.log
    assert caught.value.log.strip() in str(caught.value)


def test_a_version_that_the_driver_does_not_know_is_named(gpu: Device) -> None:
    version, _, rest = constant(1).ptx(gpu.target).partition("\n")
    assert version.startswith(".version")
    with pytest.raises(DriverError, match="CUDA_ERROR_UNSUPPORTED_PTX_VERSION"):
        prepared((".version 99.9\n" + rest).encode(), "constant")


@pytest.mark.ptxas
def test_a_damaged_cubin_is_refused(gpu: Device) -> None:
    image = assemble(constant(1).ptx(gpu.target), gpu.target).cubin
    with pytest.raises(LaunchError, match="cut short"):
        Module(image[: len(image) // 2])
    with pytest.raises(DriverError):
        prepared(b"no code at all", "constant")


def test_an_entry_that_is_not_there_is_named(gpu: Device) -> None:
    module = Module(constant(1).ptx(gpu.target).encode())
    with pytest.raises(DriverError, match="other") as caught:
        Plan(module, "other", grid=(1, 1, 1), block=(1, 1, 1))
    assert caught.value.name == "CUDA_ERROR_NOT_FOUND"


# --- shapes -----------------------------------------------------------------------------------------


def test_parameters_are_held_against_those_of_the_entry(gpu: Device) -> None:
    module = Module(constant(1).ptx(gpu.target).encode())
    shape = {"grid": (1, 1, 1), "block": (1, 1, 1)}
    with pytest.raises(LaunchError, match="1 parameters, and the plan 2"):
        Plan(module, "constant", **shape, parameters=(Pointer(0), Pointer(1)))
    with pytest.raises(LaunchError, match="parameter 0 has 8 bytes"):
        Plan(module, "constant", **shape, parameters=(Scalar("u32", "n", 1),))


def test_one_byte_of_shared_memory_more_than_a_block_may_have_is_refused(gpu: Device) -> None:  # noqa: ARG001 - opens it
    most = driver.devices()[0].shared_optin
    plan = plan_of(SHARED, Pointer(0), Scalar("u32", "bytes", 1), shared_bytes=most + 1)
    with pytest.raises(LaunchError, match=f"{most + 1} bytes of shared memory.*has {most} for a block"):
        launched(plan, 0)


def test_more_threads_than_the_entry_allows_are_refused(gpu: Device) -> None:  # noqa: ARG001 - opens it
    with pytest.raises(LaunchError, match="256 threads; the limit of this entry is 128"):
        launched(plan_of(SMALL, Pointer(0), threads=256), 0)


def test_a_cooperative_grid_that_cannot_be_resident_is_refused(gpu: Device) -> None:
    counter = gpu.upload(np.zeros(4, np.uint32))
    plan = plan_of(COOPERATIVE, Pointer(0), Pointer(0), blocks=10**6, attributes=((2, ON),))
    with pytest.raises(DriverError, match="every block resident") as caught:
        launched(plan, counter)
    assert caught.value.name == "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"


def test_a_cluster_that_no_device_has_is_refused(gpu: Device) -> None:
    place = gpu.upload(np.zeros(1, np.uint32))
    with pytest.raises(DriverError) as caught:
        launched(plan_of(constant(1), Pointer(0), blocks=64, cluster=64), place)
    assert caught.value.help


def test_a_launch_attribute_that_the_driver_does_not_know_is_refused(gpu: Device) -> None:
    place = gpu.upload(np.zeros(1, np.uint32))
    with pytest.raises(DriverError) as caught:
        launched(plan_of(constant(1), Pointer(0), attributes=((9999, ON),)), place)
    assert caught.value.help


# --- devices and contexts ---------------------------------------------------------------------------


def test_a_device_that_is_not_there_is_named(gpu: Device) -> None:
    place, count = gpu.upload(np.zeros(1, np.uint32)), len(driver.devices())
    for device in (-1, count, 63, 64, 10**6):
        with pytest.raises(LaunchError, match=f"invalid CUDA device {device}"):
            plan_of(constant(1), Pointer(0)).launch((place,), 0, device)


def test_too_few_addresses_and_scalars_are_named() -> None:
    with pytest.raises(LaunchError, match="expected 2 tensor addresses, got 1"):
        launched(scale_plan(100), 0)
    with pytest.raises(LaunchError, match="scalar"):
        launched(plan_of(SHARED, Pointer(0), Scalar("u32", "bytes")), 0)


@pytest.mark.parametrize("slot", ["value", "pointer"])
def test_an_address_off_the_alignment_of_a_tensor_map_is_refused(gpu: Device, slot: str) -> None:
    place = gpu.upload(np.zeros(4096, np.uint8))
    with pytest.raises(TensorMapError, match="16"):
        launched(tile_plan(Map.dense("f32", (8, 8), (8, 8)), slot), place + 4, place + 2048)


# --- errors that destroy the context, each in its own process ---------------------------------------


def outcome(case: str) -> dict[str, Any]:
    """Run a case of crash.py in its own process; return its output."""
    command = [sys.executable, "-m", "tests.gpu.crash", case]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.parametrize(
    ("case", "names"),
    [
        ("trap", {"CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ILLEGAL_INSTRUCTION"}),
        ("stray", {"CUDA_ERROR_ILLEGAL_ADDRESS"}),
        ("crooked", {"CUDA_ERROR_MISALIGNED_ADDRESS"}),
    ],
)
def test_a_kernel_that_faults_is_an_error_of_the_next_call_and_not_a_dead_process(case: str, names: set[str]) -> None:
    found = outcome(case)
    assert found["launch"] is None, "the launch itself is fine: it only starts the kernel"
    assert any(name in str(found["wait"]) for name in names), found
    assert found["next"]["name"] in names
    assert "the context is lost" in found["next"]["help"]


@pytest.mark.parametrize("case", ["local", "map"])
def test_no_memory_for_a_launch_is_an_error_and_the_launch_works_when_there_is_some(case: str) -> None:
    found = outcome(case)
    assert found["launch"] is not None, "device memory was not exhausted"
    assert found["launch"]["name"] == "CUDA_ERROR_OUT_OF_MEMORY", found
    assert "empty_cache" in found["launch"]["help"]
    assert found["next"] is None
    assert found["wait"] is None
