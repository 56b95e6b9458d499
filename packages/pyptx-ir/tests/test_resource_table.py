"""Notebooks show the resources of an entry with the limits of its target."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from pyptx_ir.plugins.targets import find_target
from pyptx_ir.toolchain import Resources

HOSTILE = "<script>alert(1)</script>\x1b"


def rows(used: Resources) -> dict[str, list[str | None]]:
    lines = ET.fromstring(used._repr_html_()).iter("tr")  # noqa: S314 - our own text
    return {cells[0]: cells[1:] for line in lines if (cells := [each.text for each in line.iter("td")])}


def test_figures_are_next_to_the_limits_of_the_target() -> None:
    target = find_target("sm_90a")
    shown = rows(Resources("k", "sm_90a", registers=168, barriers=3, shared=1024, spill_loads=8, constant=((0, 400),)))
    assert shown["registers"] == ["168", "255", "a thread"]
    assert shown["threads that these registers allow"] == ["384", "1024", "a CTA"]
    assert shown["shared memory, bytes"] == ["1024", str(target.shared_optin), "a CTA"]
    assert shown["barriers"] == ["3", "16", "a CTA"]
    assert shown["spill loads, bytes"] == ["8", None, "a thread"]
    assert shown["constant bank 0, bytes"] == ["400", None, "the entry"]
    assert "stack, bytes" not in shown


@pytest.mark.parametrize(
    ("registers", "threads"),
    # Warps by registers per thread in the CUDA occupancy calculator, for 65536 registers: 64: 32, 72: 28, 80: 24, …
    [(0, 1024), (64, 1024), (65, 896), (72, 896), (80, 768), (96, 640), (100, 512), (128, 512), (168, 384), (255, 256)],
)
def test_registers_limit_the_threads_as_the_occupancy_calculator_says(registers: int, threads: int) -> None:
    for name in ("sm_80", "sm_90a", "sm_100a", "sm_120"):
        shown = rows(Resources("k", name, registers=registers))
        assert shown["threads that these registers allow"][0] == str(threads)
    assert "threads that these registers allow" not in rows(Resources("k", "sm_13", registers=registers))


def test_an_unknown_target_has_no_limits_and_names_are_escaped() -> None:
    used = Resources(HOSTILE, HOSTILE, registers=10)
    assert rows(used)["registers"] == ["10", None, "a thread"]
    root = ET.fromstring(used._repr_html_())  # noqa: S314 - our own text
    assert not list(root.iter("script"))
    assert "".join(root.itertext()).count("<script>alert(1)</script>?") == 2
