"""Modules for tests: a kernel body in an entry `k` with declared registers, and the thread index in %r0."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim import Result, run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_sim import Finding

REGISTERS = """\
.reg .pred %p<10>;
.reg .b16 %h<20>;
.reg .b32 %r<60>;
.reg .b64 %rd<40>;
.reg .f32 %f<20>;
.reg .f64 %fd<10>;
.reg .b128 %q<4>;
"""


def module(body: str, parameters: str = ".param .u64 out", before: str = "", target: str = "sm_90") -> str:
    """Return a module whose entry k has its first parameter in %rd0 and the address of its word `tid` in %rd1."""
    first = parameters.split(",", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    return (
        f".version 8.8\n.target {target}\n.address_size 64\n{dedent(before)}\n"
        f".visible .entry k({parameters})\n{{\n{REGISTERS}"
        f"ld.param.u64 %rd0, [{first}];\nmov.u32 %r0, %tid.x;\nmad.wide.u32 %rd1, %r0, 4, %rd0;\n"
        f"{dedent(body).strip()}\nret;\n}}\n"
    )


# Line number, counted from 1, of the first line of a kernel body in the PTX text of `module`.
BODY_LINE = module("BODY").splitlines().index("BODY") + 1


def execute(body: str, *arguments: Any, grid: int = 1, block: int = 32, **options: Any) -> Result:
    """Run a kernel with this body on `arguments`; return the result."""
    text = {key: options.pop(key) for key in ("parameters", "before") if key in options}
    return run(module(body, **text), grid=grid, block=block, args=arguments, **options)


def rules_found(findings: Iterable[Finding]) -> set[str]:
    """Return the rules of findings, and those of the findings that were merged with them, which a note names."""
    found = list(findings)
    merged = re.findall(r"(\S+) of the same accesses, too", "\n".join(note for each in found for note in each.notes))
    return {*(each.rule for each in found), *merged}


def words(body: str, count: int = 32, **options: Any) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Run a kernel body that stores a word per thread at [%rd1], assert that it has no finding; return the words."""
    out = np.zeros(count, np.uint32)
    result = execute(body, out, **options)
    assert result.findings == ()
    return out
