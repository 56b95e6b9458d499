"""Compile NVIDIA Warp kernels to PTX: `emit_warp.py SOURCE TARGET CASE OUTPUT`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

HERE = Path("/proc/self/cwd")  # the same path on every machine


def main(source: str, target: str, case: str, output: str) -> None:
    """Write the PTX of a source's `CASES[case]`: the name of the kernels' module, and the compiler's options.

    Warp appends a NUL to the text, which is removed here: ptxas rejects it in a file.
    """
    import warp
    from warp._src import build

    sys.path.insert(0, str(HERE / Path(source).parent))
    build.warp_home = str(HERE / "packages" / "warp")  # headers; Warp would resolve links, and emit the real path
    warp.config.kernel_cache_dir = str(HERE / "cache")
    warp.config.use_precompiled_headers = False
    warp.config.cuda_arch_suffix = target[-1] if target[-1] in "af" else None
    name, options = import_module(Path(source).stem).CASES[case]
    warp.get_module(name).options.update(options)
    arch = int(target.removeprefix("sm_").rstrip("af"))
    (built,) = warp.compile_aot_module(name, arch=arch, module_dir=HERE / "built", use_ptx=True, strip_hash=True)
    Path(output).write_bytes(Path(built).read_bytes().rstrip(b"\0"))


if __name__ == "__main__":
    main(*sys.argv[1:])
