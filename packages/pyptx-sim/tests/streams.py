"""Launches of entries in stream order, on two arrays of words, x and y."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import Launch, run

HEADER = ".version 8.5\n.target sm_90a\n.address_size 64\n"
SEEDS = [{}, {"seed": 1}, {"seed": 2}, {"seed": 3}, {"delay_async": True}]
each_schedule = pytest.mark.parametrize("schedule", SEEDS)


def entry(name: str, body: str) -> str:
    """Return an entry with the addresses of x and y in %rd1 and %rd2, and of the thread's words in %rd3 and %rd4."""
    return (
        f".visible .entry {name}(.param .u64 x, .param .u64 y) {{\n"
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n.shared .u32 s[64];\n"
        "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];\n"
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;\n"
        "mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;\n"
        f"{body}\nret;\n}}\n"
    )


WAIT, RELEASE = "griddepcontrol.wait;\n", "griddepcontrol.launch_dependents;\n"
WRITE = "add.u32 %r4, %r1, 100;\nst.global.u32 [%rd3], %r4;\n"
COPY = "ld.global.u32 %r5, [%rd3];\nst.global.u32 [%rd4], %r5;\n"


def chained(*bodies: str, grid: int = 8, block: int = 64, **options: Any) -> tuple[Any, Any, Any]:
    """Run entries in stream order on words x (0, 1, …) and y; all but the first are dependent grids unless `plain`."""
    names = [f"k{number}" for number in range(len(bodies))]
    text = HEADER + "".join(entry(*each) for each in zip(names, bodies, strict=True))
    x, y = np.arange(grid * block, dtype=np.uint32), np.zeros(grid * block, np.uint32)
    plain = options.pop("plain", False)
    launches = [
        Launch(entry=name, grid=grid, block=block, args=[x, y], programmatic_dependent=bool(number) and not plain)
        for number, name in enumerate(names)
    ]
    return x, y, run(text, launches, **options)


def rules(result: Any) -> list[str]:
    """Return the rules of a result's findings."""
    return [finding.rule for finding in result.findings]
