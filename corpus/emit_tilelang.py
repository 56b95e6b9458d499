"""Compile a TileLang function to CUDA C++, and that to PTX: `emit_tilelang.py SOURCE TARGET CASE OUTPUT`."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

HERE = Path("/proc/self/cwd")  # the same path on every machine
OPTIONS = ("-ptx", "-std=c++20", "-w", "-DENABLE_BF16")


def main(source: str, target: str, case: str, output: str) -> None:
    """Write the PTX of a source's `CASES[case]`, compiled by the nvcc in `packages`."""
    sys.path.insert(0, str(HERE / Path(source).parent))
    import tilelang
    from tvm.target import Target

    with Target({"kind": "cuda", "arch": target}) as device:
        made = tilelang.lower(import_module(Path(source).stem).CASES[case](), target=device)
    packages = HERE / "packages"
    headers = [f"-I{packages / 'tilelang' / folder}" for folder in ("src", "3rdparty/cutlass/include")]
    arch = f"-arch={target.replace('sm_', 'compute_')}"
    nvcc = packages / "nvidia" / "cu13" / "bin" / "nvcc"
    # nvcc derives internal names from a source's real path; standard input has none.
    command = [nvcc, *OPTIONS, arch, *headers, "-x", "cu", "/dev/stdin", "-o", output]
    subprocess.run(command, input=made.kernel_source, encoding="utf-8", check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
