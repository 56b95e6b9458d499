"""Bundles in TVM-FFI's calling convention, called through TVM-FFI's own loader."""

from __future__ import annotations

import ctypes
import struct
import sys
from pathlib import Path

import pytest

from pyptx.bundles import export

from . import bundle_kernels
from .bundle_programs import Seen, build, compile_shared, run

pytestmark = [pytest.mark.ptxas, pytest.mark.torch]

PROGRAM = Path(__file__).with_name("bundle_in_tvm_ffi.py")
CHOICES: tuple[dict[str, object], ...] = (
    {"N": 1000, "rounding": "fast", "steps": 1},
    {"N": 1000, "rounding": "to nearest even", "steps": 0.5},
)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Run `bundle_in_tvm_ffi.py` and return its output."""
    folder = export(bundle_kernels.rounded, CHOICES, tmp_path_factory.mktemp("tvm") / "bundle")
    library = compile_shared(folder, "rounded", "-DROUNDED_TVM_FFI")
    return run(Path(sys.executable), str(PROGRAM), str(library), "libcuda.so.1")


@pytest.mark.long
def test_a_packed_call_launches_on_the_stream_that_tvm_ffi_calls_current(seen: Seen) -> None:
    assert [seen.steps[step] for step in ("launched", "again", "other")] == ["None"] * 3
    launches = seen.all("cuLaunchKernelEx")
    assert [launch["stream"] for launch in launches] == [0x5000, 0, 0]
    addresses = [struct.pack("<Q", 0x7000), struct.pack("<Q", 0x8000)]
    scalars = [(1.5, 3), (2.0, 2**32 - 1), (2.0, 1)]
    for launch, (alpha, count) in zip(launches, scalars, strict=True):
        wanted = [*addresses, struct.pack("<f", alpha), struct.pack("<I", count)]
        assert [bytes.fromhex(value) for value in launch["parameters"]] == wanted
    assert [launch["grid"][1] for launch in launches] == [4, 4, 15]
    assert len(seen.all("cuLibraryLoadData")) == 1  # the first call loads the code, which both specializations share


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("misaligned", "ValueError: Y is not aligned to 4 bytes"),
        ("short", "ValueError: Y must have shape [N], with one size for each name"),
        ("uncompiled", "ValueError: rounded was not compiled for these sizes; available: (N=1000, "),
        ("unknown", "ValueError: rounded was not compiled for these sizes"),
        ("few", "TypeError: rounded takes 6 arguments: X, Y, rounding, steps, alpha, count"),
        ("number", "TypeError: alpha must be a number"),
        ("negative", "TypeError: count must be an integer that fits u32"),
        ("large", "TypeError: count must be an integer that fits u32"),
        ("huge", "TypeError: count must be an integer that fits u32"),
        ("text", "TypeError: rounding must be a string"),
        ("array", "TypeError: X must be a tensor"),
        ("torch", "ValueError: X is not in CUDA device memory"),
    ],
)
def test_what_does_not_fit_is_raised_with_its_words(seen: Seen, step: str, error: str) -> None:
    assert seen.steps[step].startswith(error)


LAYOUT = """\
#include <stddef.h>
#include <stdio.h>

#include "rounded.h"

#define TELL(type, member) printf("%s.%s %lu %lu\\n", #type, #member, (unsigned long)offsetof(type, member), \\
                                  (unsigned long)sizeof(((type *)0)->member))

int main(void)
{
    rounded_tensors tensors;
    const DLTensor tensor = {0};
    tensors.X = tensors.Y = &tensor;
    TELL(DLTensor, data);
    TELL(DLTensor, device);
    TELL(DLTensor, ndim);
    TELL(DLTensor, dtype);
    TELL(DLTensor, shape);
    TELL(DLTensor, strides);
    TELL(DLTensor, byte_offset);
    TELL(DLDevice, device_type);
    TELL(DLDevice, device_id);
    TELL(DLDataType, code);
    TELL(DLDataType, bits);
    TELL(DLDataType, lanes);
    printf("tensors %d\\n", tensors.X == tensors.Y);
    return 0;
}
"""


def test_tensors_lie_as_the_header_of_dlpack_says_and_both_headers_may_be_included(tmp_path: Path) -> None:
    from tvm_ffi.libinfo import find_dlpack_include_path

    folder = export(bundle_kernels.rounded, CHOICES, tmp_path / "bundle")
    theirs = ("-isystem", find_dlpack_include_path(), "-include", "dlpack/dlpack.h")
    own = run(build(folder, LAYOUT, "rounded")).steps
    assert len(own) == 13
    assert own == run(build(folder, LAYOUT, "rounded", *theirs)).steps


def test_without_the_switch_nothing_of_tvm_ffi_is_in_the_object(tmp_path: Path) -> None:
    folder = export(bundle_kernels.rounded, CHOICES, tmp_path / "bundle")
    library = compile_shared(folder, "rounded")
    assert hasattr(ctypes.CDLL(str(library)), "rounded_launch_tensors")
    assert b"tvm" not in library.read_bytes().lower()
