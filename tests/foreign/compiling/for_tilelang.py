"""TileLang: kernels become CUDA C++, then PTX by nvcc; launch arguments are read from the lowered host program."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tilelang
from cases import Described
from modules import Compiled, Parameters
from tvm.target import Target

if TYPE_CHECKING:
    from cases import Array, Case

SWIZZLES = ("none", "32B", "64B", "128B")  # swizzle modes of tensor maps, in the order of the enum CUtensorMapSwizzle
HEADERS = Path(tilelang.__file__).parent
OPTIONS = ("-ptx", "-std=c++20", "-w", "-DENABLE_BF16", f"-I{HEADERS / 'src'}",
           f"-I{HEADERS / '3rdparty' / 'cutlass' / 'include'}")  # fmt: skip


def compiled(case: Case, target: str) -> Compiled:
    """Compile the function that a case's `kernel` returns; the case's arguments are named as its parameters."""
    with Target({"kind": "cuda", "arch": target}) as device:
        made = tilelang.lower(case.kernel(), target=device)
    (host,) = made.host_mod.functions.values()
    (kernel,) = made.device_mod.functions.values()
    entry = str(kernel.attrs["global_symbol"])
    maps = {str(name): list(words) for name, words in host.attrs["tma_descriptor_args"].items()}
    parameters = Parameters()
    for name in _names(made.kernel_source, entry):
        of = name.removesuffix("_desc")
        parameters.add(_described(case.arguments[of], maps[name]) if name in maps else case.arguments[of])
    extent = {str(axis): int(size) for axis, size in kernel.attrs["thread_extent"].items()}
    grid, block = ([extent.get(f"{what}.{axis}", 1) for axis in "xyz"] for what in ("blockIdx", "threadIdx"))
    shared = int(kernel.attrs["dyn_shared_memory_buf"]) if "dyn_shared_memory_buf" in kernel.attrs else 0
    return Compiled(_assembled(made.kernel_source, target), entry, parameters, block, grid, shared_bytes=shared)


def _names(source: str, entry: str) -> list[str]:
    """Return the parameter names of the kernel in the generated CUDA C++."""
    found = re.search(rf"__global__ void (?:__launch_bounds__\([^)]*\) )?{entry}\(([^)]*)\) {{", source)
    assert found is not None
    return [declared.split()[-1].lstrip("*") for declared in found[1].split(",")]


def _described(array: Array, words: list[Any]) -> Described:
    """Return the tensor map for the arguments of its encode call.

    After type, rank and tensor follow sizes, strides, box and steps, the innermost dimension first; then the modes.
    """
    rank = int(words[3])
    numbers = [int(word) for word in words[5:]]
    box, swizzle = numbers[2 * rank : 3 * rank], numbers[4 * rank + 1]
    return Described(array, tuple(reversed(box)), SWIZZLES[swizzle])


def _assembled(source: str, target: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "module.ptx"
        command = ["nvcc", *OPTIONS, f"-arch={target}", "-x", "cu", "/dev/stdin", "-o", str(output)]
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return output.read_text(encoding="utf-8")
