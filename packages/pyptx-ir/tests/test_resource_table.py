"""Notebooks show the resources of an entry with the limits of its target."""

from __future__ import annotations

from xml.etree import ElementTree as ET

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
    assert shown["threads that these registers allow"] == ["384", "1024", "a CTA"]  # 65536 // 168 = 390, whole warps
    assert shown["shared memory, bytes"] == ["1024", str(target.shared_optin), "a CTA"]
    assert shown["barriers"] == ["3", "16", "a CTA"]
    assert shown["spill loads, bytes"] == ["8", None, "a thread"]
    assert shown["constant bank 0, bytes"] == ["400", None, "the entry"]
    assert "stack, bytes" not in shown


def test_an_unknown_target_has_no_limits_and_names_are_escaped() -> None:
    used = Resources(HOSTILE, HOSTILE, registers=10)
    assert rows(used)["registers"] == ["10", None, "a thread"]
    root = ET.fromstring(used._repr_html_())  # noqa: S314 - our own text
    assert not list(root.iter("script"))
    assert "".join(root.itertext()).count("<script>alert(1)</script>?") == 2
