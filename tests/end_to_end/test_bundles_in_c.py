"""Bundles from C: the loader compiles without a warning and hands the driver exactly what was exported."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyptx.bundles import export

from . import bundle_kernels
from .gallery import load as example

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx import Kernel

pytestmark = pytest.mark.ptxas

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow", "-Wstrict-prototypes")
NULL_DRIVER = Path(__file__).resolve().parents[2] / "packages" / "pyptx-launch" / "tests" / "null_driver.py"

# Calls the functions of one kernel, and prints what each returns, then what the null driver was asked for.
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
    say("launch", {entry}_launch(&arguments, (struct CUstream_st *)0x5000));
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


def null_driver() -> Any:
    """Load the null driver's module from the tests of pyptx-launch, by its path."""
    spec = importlib.util.spec_from_file_location("null_driver", NULL_DRIVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder where the null driver lies under the name of NVIDIA's."""
    folder: Path = tmp_path_factory.mktemp("drivers")
    shutil.copy(null_driver().build(), folder / "libcuda.so.1")
    return folder


def compiler(name: str) -> str:
    found = os.environ.get(name.upper()) or shutil.which({"cc": "cc", "cxx": "c++"}[name])
    assert found is not None, "the tests of bundles need the system's compiler of C and of C++"
    return found


def build(folder: Path, program: str, name: str) -> Path:
    """Compile a program and the loader of the bundle in `folder`, as C99 with every warning an error."""
    (folder.parent / "main.c").write_text(program, encoding="utf-8")
    command = [compiler("cc"), "-std=c99", *WARNINGS, f"-I{folder}", str(folder.parent / "main.c")]
    subprocess.run([*command, str(folder / f"{name}.c"), "-o", str(folder.parent / "main"), "-ldl"], check=True)
    return folder.parent / "main"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run printed: each step with its result, and the driver's calls."""

    steps: Mapping[str, str]
    calls: Sequence[Mapping[str, Any]]

    def all(self, call: str) -> list[Mapping[str, Any]]:
        return [each for each in self.calls if each["call"] == call]


def run(program: Path, drivers: Path, *words: str) -> Seen:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(drivers)}
    said = subprocess.run([program, *words], env=environment, capture_output=True, text=True, check=True).stdout
    lines = said.splitlines()
    steps = dict(line.split(" ", 1) for line in lines if not line.startswith("{"))
    return Seen(steps, [json.loads(line) for line in lines if line.startswith("{")])


def program_for(kernel: Kernel[Any], fill: Mapping[str, str]) -> str:
    """Return the program that sets these members, and afterwards spoils the alignment of the first address.

    That of `everything` has a tensor map, for which 8 bytes are not enough.
    """
    members = " ".join(f"arguments.{name} = {value};" for name, value in fill.items())
    pointer = next((name for name, value in fill.items() if value.startswith("0x")), None)
    spoil = f"arguments.{pointer} += {8 if kernel.name == 'everything' else 1};" if pointer else ""
    return PROGRAM.format(name=kernel.name, entry=kernel.name, fill=members, spoil=spoil)


EVERYTHING: dict[str, object] = {"M": 16, "alpha": 0.1, "register": 2**64 - 1, "config": -3}
MEMBERS = {"X": "0x7000", "new_": "0x8000", "Y": "0x9000", "bits": "0xdeadbeefu"}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program that launches `everything`."""
    folder = export(bundle_kernels.everything, [EVERYTHING], tmp_path_factory.mktemp("c") / "bundle")
    return build(folder, program_for(bundle_kernels.everything, MEMBERS), "everything")


def test_everything_that_a_launch_can_have_arrives(everything: Path, drivers: Path) -> None:
    seen = run(everything, drivers)
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


def test_every_step_says_how_it_went(everything: Path, drivers: Path) -> None:
    steps = run(everything, drivers).steps
    assert steps["unloaded"].startswith("-3 the kernels are not loaded")
    assert (steps["load"], steps["launch"], steps["unload"]) == ("0 success",) * 3
    assert steps["null"].startswith("-4 an argument is a null pointer")
    assert steps["spoilt"].startswith("-4 ")
    assert steps["gone"].startswith("-3 ")


@pytest.mark.parametrize(
    ("call", "step"),
    [
        ("cuLibraryLoadData", "load"),
        ("cuLibraryGetKernel", "load"),
        ("cuKernelGetFunction", "launch"),
        ("cuTensorMapEncodeTiled", "launch"),
        ("cuLaunchKernelEx", "launch"),
        ("cuLibraryUnload", "unload"),
    ],
)
def test_what_the_driver_refuses_is_returned_with_its_text(
    everything: Path, drivers: Path, call: str, step: str
) -> None:
    seen = run(everything, drivers, call)
    assert seen.steps[step].startswith("209 ")
    assert "no text for" not in seen.steps[step]
    assert bool(seen.all("cuLaunchKernelEx")) == (step == "unload")


def test_a_driver_that_does_not_start_is_reported_with_its_reason(everything: Path, drivers: Path) -> None:
    seen = run(everything, drivers, "init", "100")
    assert seen.steps["load"] == "100 what the driver says of it"


def test_without_a_driver_loading_says_so(everything: Path, tmp_path: Path) -> None:
    """The folder of drivers is empty, and this machine may have a driver: a library that is none stands for it."""
    (tmp_path / "libcuda.so.1").write_bytes(b"no library")
    assert run_alone(everything, tmp_path).startswith("load -1 the CUDA driver cannot be opened")


def test_a_driver_without_the_functions_of_cuda_12_is_told_apart(everything: Path, tmp_path: Path) -> None:
    (tmp_path / "old.c").write_text("int cuInit(unsigned flags) { return (int)flags; }\n", encoding="utf-8")
    library = str(tmp_path / "libcuda.so.1")
    subprocess.run([compiler("cc"), "-shared", "-fPIC", str(tmp_path / "old.c"), "-o", library], check=True)
    assert run_alone(everything, tmp_path).startswith("load -2 the CUDA driver is older than CUDA 12.0")


def run_alone(program: Path, drivers: Path) -> str:
    """Return the line about loading, of a program that the lack of a null driver then ends."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(drivers)}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    return next((line for line in done.stdout.splitlines() if line.startswith("load ")), done.stderr)


@pytest.mark.parametrize(
    ("kernel", "choice", "fill", "parameters"),
    [
        (bundle_kernels.nothing, {"label": "*/ #error \u00e9 /* \n #error /*/"}, {}, []),
        (
            bundle_kernels.scale,
            {"N": 1000, "alpha": 1e300},  # beyond f32: infinity, as NumPy has it
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
    drivers: Path,
) -> None:
    folder = export(kernel, [choice], tmp_path / "bundle")
    seen = run(build(folder, program_for(kernel, fill), kernel.name), drivers)
    launch = seen.all("cuLaunchKernelEx")[0]
    assert [bytes.fromhex(value) for value in launch["parameters"]] == parameters
    assert not seen.all("cuKernelSetAttribute")
    assert launch["attributes"] == []


def test_several_specialisations_live_in_one_loader_and_the_header_is_c_plus_plus_too(tmp_path: Path) -> None:
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
