"""Programs for tests: they launch PTX on the active device, as the doors do, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# `launch(count)` doubles the `count` words at `x` into 32 words at `y`; more than 32 are read past the end of `x`.
LAUNCH = '''
import pyptx_virtual

PTX = """
.version 8.0
.target sm_90
.address_size 64
.file 1 "{source}"
.visible .entry twice(.param .u64 x, .param .u64 y) {{
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  .loc 1 3 0
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
  .loc 1 4 0
  ld.global.u32 %r2, [%rd1];
  add.u32 %r2, %r2, %r2;
  st.global.u32 [%rd2], %r2;
  ret;
}}
"""


def launch(count, initialized=True):
    context = pyptx_virtual.active().context
    x, y = context.memory.allocate(128, "x"), context.memory.allocate(256, "y")
    if initialized:
        context.memory.write(x, bytes(128))
    context.launch(PTX, entry="twice", grid=1, block=count, args=[x, y])
    context.synchronize()
'''


def program(folder: Path, text: str, name: str = "program.py") -> Path:
    """Write a program that can call `launch`; return its path."""
    path = folder / name
    path.write_text(LAUNCH.format(source=folder / "kernel.cu") + text, encoding="utf-8")
    (folder / "kernel.cu").write_text("one\ntwo\nthree\ny[i] = x[i] + x[i];\n", encoding="utf-8")
    return path


def python(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder; return the completed process, with its text output."""
    import os

    return subprocess.run(
        [sys.executable, *words],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )
