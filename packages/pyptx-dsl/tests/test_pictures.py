"""Notebooks show kernels, Tiles and shared tiles; the lines of a listing are linked as the trace recorded them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.contract.scalars import Scalar
from pyptx_dsl.contract.specs import Layout, Tile
from pyptx_dsl.errors import SpecError
from pyptx_dsl.inspect.side_by_side import KernelListing, ListedLine
from pyptx_dsl.inspect.sources import PythonLine
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import bf16, e4m3, f32, u32
from pyptx_ir.banks import bank_conflicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

HOSTILE = "</pre><script>alert('x')</script>]]>\"&\x00\x1b"


def parsed(html: str) -> ET.Element:
    return ET.fromstring(html)  # noqa: S314 - our own text


def text_of(html: str) -> str:
    return "\n".join(parsed(html).itertext())


@kernel(in_specs=(Tile(64, f32), Scalar(f32)), out_specs=(Tile(64, f32),), grid=2, block=32, arch="sm_80")
def scaled(X, by, Y, *, times=2):
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.tid.x(), u32) * 4
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(px + at))
    for _ in range(times):
        ptx.inst.mul.f32(value, value, by)
    ptx.inst.st.global_.f32(ptx.addr(py + at), value)
    ptx.ret()


@kernel(in_specs=(Tile("B", "N", f32),), out_specs=(Tile("B", f32),), grid=lambda B: B, arch="sm_80")
def symbolic(X, Y, *, width):  # noqa: ARG001 - only the contract matters
    ptx.ret()


# --- kernels ----------------------------------------------------------------------------------------


def first_words(lines: Sequence[ListedLine], found: KernelListing) -> dict[str, str]:
    """Return the Python line of each line, by the first word of the line without modifiers of SASS."""
    source = {line.line: line.text.strip() for line in found.python}
    return {line.text.split()[0]: source[line.line] for line in lines if line.line and line.label}


def test_each_line_of_ptx_has_the_python_line_that_emitted_it() -> None:
    found = scaled.listing()
    named = first_words(found.ptx, found)
    assert named["mul.f32"] == "ptx.inst.mul.f32(value, value, by)"
    assert named["ld.global.f32"] == "ptx.inst.ld.global_.f32(value, ptx.addr(px + at))"
    assert named["ret;"] == "ptx.ret()"
    assert "\n".join(line.text for line in found.ptx) == scaled.ptx().rstrip("\n")
    assert sum("mul.f32" in line.text for line in scaled.listing(times=5).ptx) == 5
    assert re.search(r"\n\t// test_pictures.py:\d+: ptx.ret\(\)\n\tret;\n", str(found))


def doubled(value: Reg) -> None:
    ptx.inst.add.f32(value, value, value)


def test_functions_that_a_kernel_calls_are_listed_once_and_linked_with_the_call() -> None:
    @kernel(arch="sm_80")
    def calls() -> None:
        value = reg.scalar(f32)
        doubled(value)
        doubled(value)
        ptx.ret()

    found = calls.listing()
    texts = [line.text.strip() for line in found.python]
    assert texts.count("# test_pictures.py") == 2
    assert texts.index("def calls() -> None:") < texts.index("def doubled(value: Reg) -> None:")
    assert texts.count("def doubled(value: Reg) -> None:") == 1
    source = {line.line: line.text.strip() for line in found.python}
    added = [[source[each] for each in line.stack] for line in found.ptx if "add.f32" in line.text]
    assert added == [["ptx.inst.add.f32(value, value, value)", "doubled(value)"]] * 2
    calls_of = {line.stack[1] for line in found.ptx if "add.f32" in line.text}
    assert len(calls_of) == 2


@pytest.mark.ptxas
def test_each_line_of_sass_has_the_python_line_of_its_instruction() -> None:
    found = scaled.listing()
    named = {word.partition(".")[0]: line for word, line in first_words(found.sass, found).items()}
    assert "ld.global_" in named["LDG"]
    assert "st.global_" in named["STG"]
    assert "mul.f32" in named["FMUL"]
    assert named["EXIT"] == "ptx.ret()"
    assert found.sass[-1].text != "\tNOP"
    assert "STG" in str(found)


def test_without_tools_a_listing_has_no_sass_and_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyptx_ir import toolchain

    def missing(*_: object, **__: object) -> object:
        raise toolchain.MissingToolError("nvdisasm not found", help="install pyptx-ir[toolchain]")

    monkeypatch.setattr(toolchain, "assemble", missing)
    found = scaled.listing()
    assert found.sass == ()
    assert found.reason == "no SASS: nvdisasm not found (install pyptx-ir[toolchain])"
    html = found._repr_html_()
    assert found.reason in text_of(html)
    assert [each.text for each in parsed(html).iter("h4")] == ["Python", "PTX for sm_80"]


def test_lines_of_one_python_line_share_a_class_and_a_rule() -> None:
    root = parsed(scaled.listing()._repr_html_())
    spans = {"".join(each.itertext()): (each.get("class") or "").split() for each in root.iter("span")}
    (python,) = (classes for text, classes in spans.items() if "ld.global_" in text)
    (emitted,) = (classes for text, classes in spans.items() if "\tld.global" in text)
    key = emitted[-1]
    assert python == ["line", "linked", key, key.replace("k", "p")]
    styles = "".join(each.text or "" for each in root.iter("style"))
    assert f".listing:has(.{key}:hover) .{key}," in styles


def test_a_notebook_shows_parameters_and_how_to_show_a_kernel_with_symbolic_sizes() -> None:
    text = text_of(symbolic._repr_html_())
    assert "symbolic.listing(B=…, N=…, width=…) shows Python, PTX and SASS" in text
    assert "4 B N" in text
    cells = [each.text for each in parsed(scaled._repr_html_()).iter("td")]
    assert cells[:8] == ["X", "input", "64", "f32", "256", "ROW", None, "1"]
    assert cells[16:20] == ["by", "number", None, "f32"]


def test_an_error_of_a_kernel_is_shown_and_not_raised() -> None:
    @kernel(arch="sm_80")
    def broken() -> None:
        raise RuntimeError(HOSTILE)

    assert "RuntimeError: </pre><script>alert('x')" in text_of(broken._repr_html_())

    class Unprintable:
        def __repr__(self) -> str:
            raise ValueError(HOSTILE)

    @kernel(arch="sm_80")
    def unprintable(*, value: object = Unprintable()) -> None:  # noqa: ARG001 - a default that cannot be shown
        ptx.ret()

    assert "ValueError: </pre><script>" in text_of(unprintable._repr_html_())


def test_hostile_source_and_file_names_are_shown_as_text() -> None:
    line = ListedLine(HOSTILE, HOSTILE, (PythonLine(f"/a/{HOSTILE}", 3),))
    hostile = KernelListing(HOSTILE, HOSTILE, (line,), (line,), (), HOSTILE)
    for html in (hostile._repr_html_(), hostile.to_html().partition("\n")[2]):
        root = parsed(html)
        assert not list(root.iter("script"))
        assert "".join(root.itertext()).count("<script>") >= 4
    assert "\x1b" not in str(hostile)


# --- Tiles and shared tiles -------------------------------------------------------------------------


def test_a_tile_is_a_table() -> None:
    cells = [
        each.text for each in parsed(Tile("M", 64, bf16, Layout.TMA_128B, tma_box=(64, 64))._repr_html_()).iter("td")
    ]
    assert cells == ["M x 64", "bf16", "128 M", "TMA_128B (swizzle 128B)", "64 x 64", "1"]


@pytest.mark.parametrize("swizzle", ["128B", "64B", "32B", None])
@pytest.mark.parametrize("dtype", [bf16, f32, e4m3], ids=str)
def test_byte_offsets_are_those_of_element_accesses(swizzle: str | None, dtype: PtxType) -> None:
    tile = SharedTile(dtype, (24, (256 if swizzle else 32) * 8 // dtype.bits), swizzle=swizzle)
    elements = [(row, column) for row in range(0, 24, 5) for column in range(0, tile.shape[1], 7)]
    found = []

    @kernel(arch="sm_90a")
    def k() -> None:
        held = smem.tile(tile)
        for row, column in elements:
            box, inside = divmod(column, tile.box_columns)
            found.append(held.address(*([box] if tile.boxes > 1 else []), row, inside).byte_offset)
        ptx.ret()

    k.ptx()
    assert [tile.byte_offset(row, column) for row, column in elements] == found


def test_elements_outside_a_tile_are_errors() -> None:
    with pytest.raises(SpecError, match=r"element \(8, 0\) is outside SharedTile"):
        SharedTile(bf16, (8, 64)).byte_offset(8, 0)


@pytest.mark.parametrize("swizzle", ["128B", "64B", "32B"])
def test_a_swizzle_removes_the_conflicts_of_a_column_and_the_drawing_says_so(swizzle: str) -> None:
    width = int(swizzle[:-1])
    tile = SharedTile(e4m3, (64, width), swizzle=swizzle)
    column = [tile.byte_offset(row, 0) for row in range(8)]
    assert bank_conflicts(column, 16).wavefronts == 1
    assert bank_conflicts([row * width for row in range(8)], 16).wavefronts == width // 16
    root = parsed(tile.to_svg())
    texts = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any(text.endswith(f"(ldmatrix): 1; row-major without a swizzle: {width // 16}") for text in texts)
    first = next(text for text in texts if text.startswith("r"))
    assert first == "r0 0-15"
    assert sum(text.startswith("r") and text[1].isdigit() and ":" not in text for text in texts) == width // 2
