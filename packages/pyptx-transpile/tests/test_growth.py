"""Transpiling time grows linearly with a module's size; memory does not grow with the registers it declares."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from pyptx_transpile import transpile
from pyptx_transpile.rules.table import RULES

HEAD = ".version 8.5\n.target sm_90a\n.address_size 64\n.entry k()\n{\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<32>;\n"
LINES = (
    "\tmul.wide.u32 %rd{a}, %r{b}, 4;\n\tld.global.b32 %r{b}, [%rd{a}+{n}];\n\tadd.s32 %r{c}, %r{b}, {n};\n"
    "\txor.b32 %r{a}, %r{b}, %r{c};\n"
)


def seconds(count: int) -> float:
    """Return the CPU seconds to transpile `count` groups of lines that differ in numbers without a common step."""
    body = "".join([LINES.format(a=n % 31, b=n * n % 29, c=n % 23, n=n * n % 1024) for n in range(count)])
    times: list[float] = []
    for _ in range(2):
        start = time.process_time()
        transpile(f"{HEAD}{body}\tret;\n}}\n", RULES, verify=False)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.long
def test_a_function_of_four_times_the_length_takes_about_four_times_as_long() -> None:
    assert seconds(3200) <= 7 * seconds(800)


MOST_BYTES = 1 << 24


@pytest.mark.parametrize("vector", ["", ".v2 "])
def test_declared_registers_take_no_memory(vector: str) -> None:
    used = "%q7.x" if vector else "%q7"
    text = (
        f"{HEAD}\t.reg {vector}.b32 %q<1000000000>;\n\t{{\n\t.reg .b32 %q7, %p<99000000>;\n\tmov.b32 %q7, %p5;\n\t}}\n"
    )
    text += f"\tmov.b32 %r1, {used};\n\tret;\n}}\n"
    transpile(text.replace("000000", ""), RULES)  # the first transpilation fills caches, which are not measured
    tracemalloc.start()
    try:
        assert transpile(text, RULES).text
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST_BYTES
