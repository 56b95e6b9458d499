"""Bundles from C: the loader compiles without a warning and passes the driver exactly the exported launch."""

from __future__ import annotations

import os
import struct
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from pyptx.bundles import export

from . import bundle_kernels
from .bundle_programs import WARNINGS, build, compiler, run
from .gallery import load as example

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyptx import Kernel

pytestmark = pytest.mark.ptxas

# C program that calls the bundle's functions for one kernel; prints each result, then the recorded driver calls.
PROGRAM = """\
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "{name}.h"

static void find(void *function, const char *name)
{{
    void *symbol = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    memcpy(function, &symbol, sizeof symbol);
}}

static void say(const char *step, int result)
{{
    printf("%s %d %s\\n", step, result, {name}_error(result));
    fflush(stdout);
}}

int main(int count, char **words)
{{
    int (*retain)(void **, int);
    int (*make_current)(void *);
    void (*fail)(const char *, int, int, int);
    int (*set)(const char *, long);
    char *(*take)(void);
    void *context = NULL;
    {entry}_arguments arguments;
    memset(&arguments, 0, sizeof arguments);
    {fill}
    say("unloaded", {entry}_launch(&arguments, NULL));
    find(&fail, "null_driver_fail");
    find(&set, "null_driver_set");
    if (count == 2) {{
        fail(words[1], 209, 0, 1);
    }} else if (count == 3) {{
        (void)set(words[1], 100);
    }}
    say("load", {name}_load());
    find(&retain, "cuDevicePrimaryCtxRetain");
    find(&make_current, "cuCtxSetCurrent");
    (void)retain(&context, 0);
    (void)make_current(context);
    say("here", {name}_load());
    say("launch", {entry}_launch(&arguments, {stream}));
    say("null", {entry}_launch(NULL, NULL));
    {spoil}
    say("spoilt", {entry}_launch(&arguments, NULL));
    say("unload", {name}_unload());
    say("gone", {entry}_launch(&arguments, NULL));
    find(&take, "null_driver_take");
    printf("%s", take());
    return 0;
}}
"""


def program_for(kernel: Kernel[Any], fill: Mapping[str, str], stream: str = "(struct CUstream_st *)0x5000") -> str:
    """Return a C program that sets argument members, launches, and launches again with a misaligned first pointer.

    `everything` has a tensor map, which requires more than 8-byte alignment.
    """
    members = " ".join(f"arguments.{name} = {value};" for name, value in fill.items())
    pointer = next((name for name, value in fill.items() if value.startswith("0x")), None)
    spoil = f"arguments.{pointer} += {8 if kernel.name == 'everything' else 1};" if pointer else ""
    return PROGRAM.format(name=kernel.name, entry=kernel.name, fill=members, spoil=spoil, stream=stream)


EVERYTHING: dict[str, object] = {"M": 16, "alpha": 0.1, "register": 2**64 - 1, "config": -3}
MEMBERS = {"X": "0x7000", "new_": "0x8000", "Y": "0x9000", "bits": "0xdeadbeefu"}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a C program that launches the kernel `everything`."""
    folder = export(bundle_kernels.everything, [EVERYTHING], tmp_path_factory.mktemp("c") / "bundle")
    return build(folder, program_for(bundle_kernels.everything, MEMBERS), "everything")


def test_everything_that_a_launch_can_have_arrives(everything: Path) -> None:
    seen = run(everything)
    (launch,) = seen.all("cuLaunchKernelEx")
    assert launch["entry"] == "everything"
    assert (launch["grid"], launch["block"], launch["shared"]) == ([4, 3, 2], [32, 4, 1], 100_000)
    assert (launch["stream"], launch["context"]) == (0x5000, 0)
    attributes = {number: bytes.fromhex(value).rstrip(b"\0") for number, value in launch["attributes"]}
    assert attributes == {2: b"\1", 4: b"\2\0\0\0\1\0\0\0\1", 8: b"\xff" * 4}
    parameters = [bytes.fromhex(value) for value in launch["parameters"]]
    assert parameters[:7] == [
        *(struct.pack("<Q", address) for address in (0x7000, 0x8000, 0x9000)),
        struct.pack("<f", 0.1),
        struct.pack("<Q", 2**64 - 1),
        struct.pack("<h", -3),
        struct.pack("<I", 0xDEADBEEF),
    ]
    assert parameters[7].startswith(struct.pack("<Q", 0x7000))
    assert len(parameters[7]) == 128
    (encoded,) = seen.all("cuTensorMapEncodeTiled")
    wanted = {"shape": [64, 16], "strides": [128], "box": [32, 8], "element_strides": [1, 1], "type": 9}
    assert {name: encoded[name] for name in wanted} == wanted
    assert [encoded[name] for name in ("interleave", "swizzle", "promotion", "fill")] == [0, 0, 0, 0]
    allowed = {(each["device"], each["attribute"]): each["value"] for each in seen.all("cuKernelSetAttribute")}
    assert allowed == {(0, 8): 100_000, (1, 8): 100_000}


def test_every_step_says_how_it_went(everything: Path) -> None:
    steps = run(everything).steps
    assert steps["unloaded"].startswith("-3 the kernels are not loaded")
    assert (steps["load"], steps["here"], steps["launch"], steps["unload"]) == ("0 success",) * 4
    assert steps["null"].startswith("-4 the pointer to arguments")
    assert steps["spoilt"] == "-105 X is not aligned to 16 bytes"
    assert steps["gone"].startswith("-3 ")


def test_code_is_loaded_into_the_current_context_and_nothing_is_forbidden_by_a_capture(everything: Path) -> None:
    """The first load runs without a current context, the second with one. A context's first launch may load code."""
    calls = [call for call in run(everything).calls if call["call"] != "cuKernelSetAttribute"]
    names = [call["call"].removeprefix("cu") for call in calls]
    modes = [call["mode"] for call in calls if call["call"] == "cuThreadExchangeStreamCaptureMode"]
    exchange = "ThreadExchangeStreamCaptureMode"
    assert names == [
        *(exchange, "LibraryLoadData", exchange),
        *("DevicePrimaryCtxRetain", "CtxSetCurrent"),
        *(exchange, "KernelGetFunction", exchange),
        *("TensorMapEncodeTiled", exchange, "LaunchKernelEx", exchange),
        "LibraryUnload",
    ]
    assert modes == [2, 0] * 3
    (loaded,) = [call for call in calls if call["call"] == "cuKernelGetFunction"]
    assert (loaded["context"], loaded["capture_mode"]) == (0, 2)


@pytest.mark.parametrize(
    ("call", "step"),
    [
        ("cuLibraryLoadData", "load"),
        ("cuLibraryGetKernel", "load"),
        ("cuKernelGetFunction", "here"),
        ("cuTensorMapEncodeTiled", "launch"),
        ("cuLaunchKernelEx", "launch"),
        ("cuLibraryUnload", "unload"),
    ],
)
def test_what_the_driver_refuses_is_returned_with_its_text(everything: Path, call: str, step: str) -> None:
    seen = run(everything, call)
    assert seen.steps[step].startswith("209 ")
    assert "no text for" not in seen.steps[step]
    assert bool(seen.all("cuLaunchKernelEx")) == (step != "launch")  # the call after a failed load loads again


def test_a_driver_that_does_not_start_is_reported_with_its_reason(everything: Path) -> None:
    seen = run(everything, "init", "100")
    assert seen.steps["load"] == "100 what the driver says of it"


def test_without_a_driver_loading_says_so(everything: Path, tmp_path: Path) -> None:
    """An invalid driver library hides the driver that this machine may have."""
    (tmp_path / "libcuda.so.1").write_bytes(b"no library")
    assert run_alone(everything, tmp_path).startswith("load -1 cannot load the CUDA driver")


def test_a_driver_without_the_functions_of_cuda_12_is_told_apart(everything: Path, tmp_path: Path) -> None:
    (tmp_path / "old.c").write_text("int cuInit(unsigned flags) { return (int)flags; }\n", encoding="utf-8")
    library = str(tmp_path / "libcuda.so.1")
    subprocess.run([compiler("cc"), "-shared", "-fPIC", str(tmp_path / "old.c"), "-o", library], check=True)
    assert run_alone(everything, tmp_path).startswith("load -2 the CUDA driver is older than CUDA 12.0")


def run_alone(program: Path, drivers: Path) -> str:
    """Run a program with the driver library in `drivers`; return the line that it prints about loading a bundle."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(drivers)}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    return next((line for line in done.stdout.splitlines() if line.startswith("load ")), done.stderr)


@pytest.mark.parametrize(
    ("kernel", "choice", "fill", "parameters"),
    [
        (bundle_kernels.nothing, {"label": "*/ #error \u00e9 /* \n #error /*/"}, {}, []),
        (
            bundle_kernels.scale,
            {"N": 1000, "alpha": 1e300},  # alpha exceeds the range of f32: infinity, as in NumPy
            {"X": "0x7000", "Y": "0x8000", "count": "5"},
            [struct.pack("<Q", 0x7000), struct.pack("<Q", 0x8000), struct.pack("<f", float("inf")), b"\5\0\0\0"],
        ),
    ],
    ids=["nothing", "scale"],
)
def test_smaller_kernels_arrive_too(
    kernel: Kernel[Any],
    choice: Mapping[str, object],
    fill: Mapping[str, str],
    parameters: list[bytes],
    tmp_path: Path,
) -> None:
    folder = export(kernel, [choice], tmp_path / "bundle")
    seen = run(build(folder, program_for(kernel, fill), kernel.name))
    launch = seen.all("cuLaunchKernelEx")[0]
    assert [bytes.fromhex(value) for value in launch["parameters"]] == parameters
    assert not seen.all("cuKernelSetAttribute")
    assert launch["attributes"] == []


def test_a_tensor_map_of_columns_is_encoded_too(tmp_path: Path) -> None:
    kernel = bundle_kernels.columns
    folder = export(kernel, [{"N": 8, "W": 16}], tmp_path / "bundle")
    seen = run(build(folder, program_for(kernel, {"X": "0x7000", "Y": "0x9000"}), "columns"))
    (encoded,) = seen.all("cuTensorMapEncodeIm2col")
    wanted = {"address": 0x7000, "type": 9, "shape": [64, 16, 32, 8], "strides": [128, 2048, 65536], "channels": 64}
    wanted |= {"pixels": 128, "lower": [-2, -1], "upper": [-2, -1], "element_strides": [1, 2, 1, 1], "swizzle": 3}
    assert {name: encoded[name] for name in wanted} == wanted
    (launch,) = seen.all("cuLaunchKernelEx")
    assert bytes.fromhex(launch["parameters"][2])[:8] == struct.pack("<Q", 0x7000)
    assert launch["alignments"][2] >= 128


def test_a_kernel_of_many_scalars_gets_each(tmp_path: Path) -> None:
    values = {f"p{number}": number + 0.5 if number % 4 == 2 else number for number in range(20)}
    fixed = {name: value for name, value in values.items() if name not in {"p3", "p16"}}
    folder = export(bundle_kernels.many, [{"N": 8, **fixed}], tmp_path / "bundle")
    fill = {"X": "0x7000", "Y": "0x8000", "p16": "16", "p3": "3"}
    seen = run(build(folder, program_for(bundle_kernels.many, fill), "many"))
    (launch,) = seen.all("cuLaunchKernelEx")
    scalars = [struct.pack("<" + "IqfH"[number % 4], values[f"p{number}"]) for number in range(20)]
    assert [bytes.fromhex(value) for value in launch["parameters"]] == [
        *(struct.pack("<Q", address) for address in (0x7000, 0x8000)),
        *scalars,
    ]


@pytest.mark.parametrize(("size", "blocks"), [(197, 394), (198, 396), (1000, 396)])
def test_a_persistent_kernel_has_the_blocks_that_the_device_has_room_for(
    size: int, blocks: int, tmp_path: Path
) -> None:
    """The null driver's devices have 132 SMs, or the number that it is set to (100)."""
    folder = export(bundle_kernels.lasting, [{"N": size}], tmp_path / "bundle")
    program = build(folder, program_for(bundle_kernels.lasting, {"X": "0x7000"}, "NULL"), "lasting")
    assert run(program).all("cuLaunchKernelEx")[0]["grid"] == [blocks, 1, 1]
    fewer = run(program, "multiprocessors", "100")
    assert fewer.all("cuLaunchKernelEx")[0]["grid"] == [min(blocks, 300), 1, 1]
    assert run(program, "cuCtxGetDevice").steps["launch"].startswith("209 ")


def test_several_specializations_live_in_one_loader_and_the_header_is_c_plus_plus_too(tmp_path: Path) -> None:
    kernel = example("hopper/rms_norm").rms_norm
    folder = export(kernel, [{"B": 4, "N": 512}, {"B": 8, "N": 1024}], tmp_path / "bundle", name="norms")
    header = (folder / "norms.h").read_text(encoding="ascii")
    assert "int norms_B4_N512_launch(" in header
    assert "int norms_B8_N1024_launch(" in header
    (tmp_path / "main.cpp").write_text(
        '#include "norms.h"\n#include "norms.h"\nint main() { norms_B4_N512_arguments a{}; return norms_load() || '
        "norms_B4_N512_launch(&a, nullptr); }\n",
        encoding="utf-8",
    )
    object_file = str(tmp_path / "norms.o")
    subprocess.run(
        [compiler("cc"), "-std=c99", *WARNINGS, "-c", str(folder / "norms.c"), "-o", object_file], check=True
    )
    flags = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic")
    command = [compiler("cxx"), *flags, f"-I{folder}", str(tmp_path / "main.cpp"), object_file, "-ldl"]
    subprocess.run([*command, "-o", str(tmp_path / "main")], check=True)
