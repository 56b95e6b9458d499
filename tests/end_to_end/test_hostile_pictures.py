"""Hostile file names, comments, strings and symbols add no markup to pictures of kernels, layouts and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from pyptx_dsl.kernels.loading import found_in_file
from pyptx_ir.commands import main
from pyptx_ir.drawing import page

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.ptxas

BAD = "<script>alert(1)<!-- ]]> --><img src=x onerror=alert(1)>'\"&amp;"
SOURCE = f"""
from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

TEXT = {BAD + chr(27) + chr(0x202E)!r}


@kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), grid=1, block=32, arch="sm_80")
def k(X, Y, *, title=TEXT):
    '''{BAD.replace("'", "")}'''
    px, py = ptx.global_ptrs(X, Y)  # {BAD}
    value = reg.scalar(f32)
    at = reg.from_(ptx.special.tid.x(), u32) * 4
    with ptx.if_(at < 64):  # "{BAD}"
        ptx.inst.ld.global_.f32(value, ptx.addr(px + at))
        ptx.inst.st.global_.f32(ptx.addr(py), value)
    ptx.ret()
"""
PTX = f"""// {BAD}
.version 8.0
.target sm_80
.address_size 64
.file 1 "{BAD.replace('"', "")}"
.shared .b32 $shared$<2>;
.visible .entry k$(.param .u64 a$)
{{ ret; }}
"""


def checked(html: str) -> ET.Element:
    """Return the parsed picture, which has only harmless elements and attributes."""
    root = ET.fromstring(html.removeprefix("<!DOCTYPE html>"))  # noqa: S314 - our own text
    names = {each.tag.rpartition("}")[2] for each in root.iter()}
    assert not names & {"script", "img", "a", "iframe", "foreignObject", "object", "embed", "link", "use", "image"}
    for each in root.iter():
        assert not [name for name in each.attrib if name.lower().startswith("on") or "href" in name or name == "src"]
    return root


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / f"{BAD}.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def test_a_kernel_is_shown_with_its_comments_as_text(file: Path, tmp_path: Path) -> None:
    kernel = found_in_file(f"{file}:k").kernel
    shown = "\n".join(checked(page("x", kernel._repr_html_())).itertext())
    assert shown.count("<script>alert(1)") >= 5
    assert f"# {BAD}" in shown
    assert "STG" in shown
    listing = kernel.listing()
    assert f"# {BAD}.py" in "".join(checked(listing.to_html()).itertext())
    assert "\x1b" not in str(listing)
    result = kernel.simulate(np.zeros(32, np.float32), trace=tmp_path / "run.svg")
    assert result.findings
    assert "<script>alert(1)" in "".join(checked(result._repr_html_()).itertext())
    checked((tmp_path / "run.svg").read_text(encoding="utf-8"))


@pytest.mark.parametrize("suffix", ["html", "svg"])
def test_layouts_of_hostile_inputs_are_text(suffix: str, file: Path, tmp_path: Path) -> None:
    ptx, output = tmp_path / f"{BAD}.ptx", tmp_path / f"out.{suffix}"
    ptx.write_text(PTX, encoding="utf-8")
    for word in (f"{file}:k", str(ptx)):
        assert main(["layout", word, "-o", str(output)]) == 0
        assert "parameters of k" in "".join(checked(output.read_text(encoding="utf-8")).itertext())
