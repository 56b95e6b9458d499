"""Modules, and driver errors: each error has its name, its meaning and a help text."""

from __future__ import annotations

import gc
import os
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from pyptx_launch import (
    Attributes,
    CompileError,
    DriverError,
    DriverMissingError,
    LaunchError,
    Module,
    Plan,
    driver,
    libcuda,
)
from pyptx_launch.hints import HINTS

from .images import MAP, POINTER, image, ptxas, scalar
from .null_driver import compiled

ONE = (1, 1, 1)
ELF = b"\x7fELF" + bytes(28) + struct.pack("<QQIHHHHHH", 64, 200, 0, 64, 56, 1, 64, 2, 1)


def test_devices_and_version_are_the_drivers(null):
    null.set(capability=103, devices=1, version=12080)
    (device,) = driver.devices()
    assert (device.ordinal, device.name, device.capability, device.target) == (0, "null device 0", (10, 3), "sm_103")
    assert (device.multiprocessors, device.shared_optin) == (132, 232448)
    assert driver.version() == (12, 8)
    assert driver.available()
    assert driver.reason() is None
    null.set(devices=0)
    assert driver.reason() == "the CUDA driver sees no device"


def test_an_entry_says_what_it_takes_and_uses(null):
    module = Module(image(POINTER, MAP, scalar("u8"), scalar("f64")))
    assert module.parameters("k") == ((0, 8), (64, 128), (192, 1), (200, 8))
    null.set(static_shared=2048, registers=40)
    assert module.attributes("k", 1) == Attributes(1024, 2048, 0, 0, 40, 90, 90)
    with pytest.raises(
        DriverError, match=r"looking for entry absent: .*ERROR_NOT_FOUND.*\nhelp: pass the name of an .entry"
    ):
        module.attributes("absent")


@pytest.mark.ptxas
def test_cubins_are_modules_too(tmp_path):
    source, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_bytes(image(POINTER, MAP, scalar("f32")))
    subprocess.run([ptxas(), "-arch=sm_90", source, "-o", cubin], check=True)
    data = cubin.read_bytes()
    assert [size for _, size in Module(data).parameters("k") or ()] == [8, 128, 4]
    for count in (64, len(data) // 2, len(data) - 1):
        with pytest.raises(LaunchError, match=f"truncated: it has {count} bytes, its header states {len(data)}"):
            Module(data[:count])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the image is empty"),
        (b"\x7fELF", "truncated: it has 4 bytes, its header states 64"),
        (ELF, f"truncated: it has {len(ELF)} bytes, its header states 328"),
        (struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1000), "truncated: it has 16 bytes, its header states 1016"),
    ],
)
def test_images_that_are_cut_short_never_reach_the_driver(null, data, message):
    with pytest.raises(LaunchError, match=message):
        Module(data)
    assert null.take() == []


def test_the_drivers_compiler_says_what_is_wrong():
    with pytest.raises(CompileError, match="CUDA_ERROR_INVALID_PTX") as raised:
        Module(b"hello")
    assert raised.value.log == "ptxas application ptx input, line 1; fatal   : Missing .version directive"
    assert raised.value.log in str(raised.value)
    assert str(raised.value).endswith(HINTS["CUDA_ERROR_INVALID_PTX"])


def test_a_module_is_unloaded_once_its_last_plan_is_gone(null):
    before = null.live()["libraries"]
    module = Module(image())
    plans = [Plan(module, "k", grid=ONE, block=ONE) for _ in range(2)]
    del module
    for plan in plans:
        plan.launch((), 0, 0)
    del plan, plans
    gc.collect()
    assert null.live()["libraries"] == before


CODES = {
    "CUDA_ERROR_INVALID_VALUE": 1, "CUDA_ERROR_OUT_OF_MEMORY": 2, "CUDA_ERROR_NOT_INITIALIZED": 3,
    "CUDA_ERROR_NO_BINARY_FOR_GPU": 209, "CUDA_ERROR_INVALID_PTX": 218, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": 222,
    "CUDA_ERROR_ILLEGAL_ADDRESS": 700, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": 701, "CUDA_ERROR_MISALIGNED_ADDRESS": 716,
    "CUDA_ERROR_LAUNCH_FAILED": 719, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": 720,
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": 900, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": 906,
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": 912,
}  # fmt: skip


@pytest.mark.parametrize("name", CODES)
def test_an_error_of_the_driver_has_name_meaning_and_hint_and_the_next_launch_works(null, name):
    plan = Plan(Module(image()), "k", grid=ONE, block=ONE)
    null.fail("cuLaunchKernelEx", CODES[name])
    with pytest.raises(DriverError) as raised:
        plan.launch((), 0, 0)
    error = raised.value
    assert (error.name, error.code, error.help) == (name, CODES[name], HINTS[name])
    first = f"launching k: cuLaunchKernelEx failed with {name} ({error.code}): what the driver says of it"
    assert str(error) == f"{first}\nhelp: {error.help}"
    plan.launch((), 0, 0)
    assert len(null.launches()) == 1


def test_an_error_that_nobody_knows_is_told_all_the_same(null):
    plan = Plan(Module(image()), "k", grid=ONE, block=ONE)
    null.fail("cuLaunchKernelEx", 12345)
    with pytest.raises(DriverError, match=r"CUDA_ERROR_UNKNOWN \(12345\): unknown to this driver$"):
        plan.launch((), 0, 0)


CALLS = (
    "cuDevicePrimaryCtxRetain",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuKernelGetFunction",
    "cuKernelGetAttribute",
)


@pytest.mark.parametrize("call", [*CALLS[1:], "cuKernelSetAttribute"])
def test_a_failure_on_the_way_to_a_launch_is_raised_and_leaves_the_plan_usable(null, call):
    plan = Plan(Module(image()), "k", grid=ONE, block=ONE, shared_bytes=100_000)
    null.fail(call, 2)
    with pytest.raises(DriverError, match=f"{call} failed with CUDA_ERROR_OUT_OF_MEMORY"):
        plan.launch((), 0, 0)
    assert null.current() is None
    plan.launch((), 0, 0)
    assert len(null.launches()) == 1


def test_a_result_that_is_younger_than_the_bindings_is_told_all_the_same(null):
    null.fail("cuLibraryLoadData", 12345)
    what = r"loading an image of \d+ bytes: cuLibraryLoadData failed with CUDA_ERROR_UNKNOWN \(12345\): unknown to"
    with pytest.raises(DriverError, match=what):
        Module(image())
    Module(image())


def test_devices_are_asked_what_they_are_once(null):
    first = driver.devices()
    assert all(again is before for again, before in zip(driver.devices(), first, strict=True))
    null.set(devices=1)
    assert len(driver.devices()) == 1


NO_DRIVER = """
import sys, pyptx_launch as p
# before
print([name for name in ("numpy", "torch", "jax", "cuda.bindings.driver") if name in sys.modules], p.driver.available())
print(p.driver.reason())
for call in (p.driver.version, p.driver.devices, lambda: p.Module(b".version 8.0")):
    try:
        call()
    except p.DriverMissingError as error:
        print(type(error).__name__)
"""


def run_with(path: str, before: str = "") -> list[str]:
    """Return the output of the program NO_DRIVER in a subprocess with `path` as driver; `before` runs first."""
    environment = os.environ | {"PYPTX_LIBCUDA": path}
    done = subprocess.run(
        [sys.executable, "-c", NO_DRIVER.replace("# before", before)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()


def test_without_a_driver_everything_imports_and_says_why_nothing_launches():
    first, reason, help, *errors = run_with("nowhere/libcuda.so")
    assert first == "[] False"
    assert "nowhere/libcuda.so: cannot open shared object file" in reason
    assert help.startswith("help: install NVIDIA's driver")
    assert errors == [DriverMissingError.__name__] * 3


def test_a_library_that_is_no_driver_is_told_from_one():
    _, reason, *_ = run_with("libm.so.6")
    assert reason == "libm.so.6 has no cuInit: it predates CUDA 12.0"


@pytest.mark.long
def test_cuda_python_never_talks_to_another_driver(null, tmp_path):
    nameless = compiled(tmp_path / "nameless")
    _, reason, help, *errors = run_with(nameless)
    assert reason.startswith(f"{nameless} is a driver whose soname is not libcuda.so.1")
    assert help == (
        "help: set PYPTX_LIBCUDA to a library whose soname is libcuda.so.1, before the process loads a driver"
    )
    assert errors == [DriverMissingError.__name__] * 3
    other = compiled(tmp_path / "other", "-Wl,-soname,libcuda.so.1")
    _, reason, *_ = run_with(other, before=f"import ctypes; ctypes.CDLL({str(null.path)!r})")
    assert reason.startswith(f"{other} is not the libcuda.so.1 that this process has loaded")


def test_the_bindings_are_imported_when_a_driver_is_asked_for_something_and_see_the_same_one(null):
    script = (
        "import sys, ctypes, pyptx_launch as p; assert 'cuda.bindings.driver' not in sys.modules; p.driver.devices();"
        "from cuda.bindings import driver; print(driver.cuDeviceGetName(64, 1)[1].split(bytes(1))[0].decode())"
    )
    environment = os.environ | {"PYPTX_LIBCUDA": str(null.path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "null device 1\n"


def test_a_driver_that_sees_no_device_says_where_to_look(null):
    script = (
        "import ctypes, pyptx_launch as p; ctypes.CDLL({!r}).null_driver_set(b'init', 100); print(p.driver.reason())"
    )
    environment = os.environ | {"PYPTX_LIBCUDA": str(null.path)}
    command = [sys.executable, "-c", script.format(str(null.path))]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    reason, help = done.stdout.splitlines()
    assert reason == "cuInit failed with CUDA_ERROR_NO_DEVICE (100): what the driver says of it"
    assert help == f"help: {HINTS['CUDA_ERROR_NO_DEVICE']}"


@pytest.mark.long
def test_a_driver_too_old_to_tell_of_parameters_launches_all_the_same(null, tmp_path):
    old = compiled(tmp_path, "-Wl,-soname,libcuda.so.1", without="cuKernelGetParamInfo")
    script = (
        "import pyptx_launch as p; m = p.Module(b'.version 8.0 .entry k(.param .u64 x) { ret; }');"
        "p.Plan(m, 'k', grid=(1, 1, 1), block=(1, 1, 1), parameters=[p.Pointer(0)]).launch([64], 0, 0);"
        "print(m.parameters('k'))"
    )
    environment = os.environ | {"PYPTX_LIBCUDA": old}
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "None\n"
    assert null.take() == []


@pytest.mark.usefixtures("null")
def test_parameters_are_told_in_a_thread_without_a_context_and_it_has_none_afterwards():
    def told():
        found = Module(image(POINTER, scalar("u32"))).parameters("k")
        return found, libcuda.number("cuCtxGetCurrent")

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(told).result() == (((0, 8), (8, 4)), 0)
