"""Printed Python of long modules is imported in bounded memory and emits the source."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pyptx_transpile import transpile

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_cover

LINES = 30_000
MB = 100
"""Limit. A module of 660 kB takes 65 MB in pieces, and 250 MB if its function is compiled as a whole."""
PROGRAM = """\
import runpy, sys
assert runpy.run_path(sys.argv[1])["module"].ptx() == open(sys.argv[2]).read()
print(open("/proc/self/status").read())
"""  # `ru_maxrss` begins with what the parent had


def long_text(functions: int) -> str:
    """Return a module of `LINES` statements in `functions` kernels."""
    body = "\tadd.s32 %r1, %r2, 3;\n" * (LINES // functions)
    return ".version 8.0\n.target sm_90\n.address_size 64\n\n" + "\n".join(
        f".visible .entry k{at}(\n\t.param .u32 k{at}_param_0,\n\t.param .u32 k{at}_param_1\n)\n{{\n"
        f"\t.reg .b32 %r<9>;\n\tld.param.u32 %r2, [k{at}_param_1];\n{body}\tret;\n}}\n"
        for at in range(functions)
    )


@pytest.mark.parametrize("functions", [1, 2_000])
@pytest.mark.long
def test_what_is_printed_is_imported_in_little_memory_and_writes_the_source(tmp_path: Path, functions: int) -> None:
    source, printed = tmp_path / "source.ptx", tmp_path / "printed.py"
    source.write_text(long_text(functions))
    printed.write_text(transpile(source.read_text(), verify=False).text)
    command = [sys.executable, "-B", "-c", PROGRAM, str(printed), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak = next(line for line in done.stdout.splitlines() if line.startswith("VmHWM:"))
    assert int(peak.split()[1]) / 1024 < MB
