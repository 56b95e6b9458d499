"""Compile a Triton or Gluon kernel to PTX: `emit_triton.py SOURCE TARGET CASE OUTPUT`."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

PTX_VERSION = 90  # newest version that ptxas 13.0 reads


def without_assembly(_: object = None, stages: dict[str, Any] | None = None, *_others: object) -> tuple[str, str]:
    """Replace the cubin stage with an empty one: a Triton stages hook, which also returns a cache key."""
    if stages is not None:
        stages["cubin"] = lambda _ptx, _metadata: b""
    return "ptx", "ptx"


def compiled(case: Any, capability: int) -> Any:  # noqa: ANN401 - a value from the source
    """Return Triton's compilation result of `case` for a target."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.experimental.gluon._runtime import GluonASTSource, GluonJITFunction

    triton.knobs.runtime.add_stages_inspection_hook = without_assembly

    names = case.kernel.arg_names
    signature = {name: case.signature.get(name, "constexpr") for name in names}
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in case.divisible}
    make = GluonASTSource if isinstance(case.kernel, GluonJITFunction) else ASTSource
    source = make(case.kernel, signature, case.constants, attributes)
    options = {"ptx_version": PTX_VERSION, **case.options}
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


def main(source: str, target: str, case: str, output: str) -> None:
    """Write the PTX of a source's `CASES[case]` to `output`."""
    folder = Path("/proc/self/cwd") / Path(source).parent  # the same path on every machine
    sys.path.insert(0, str(folder))
    capability = int("".join(filter(str.isdigit, target)))
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"  # the present default, about to change
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        done = compiled(import_module(Path(source).stem).CASES[case], capability)
        Path(output).write_text(done.asm["ptx"], encoding="utf-8", newline="")


if __name__ == "__main__":
    main(*sys.argv[1:])
