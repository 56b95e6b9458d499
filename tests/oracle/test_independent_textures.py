"""Texture instructions with separate samplers (`.texmode_independent`): `pyptx` accepts them where ptxas does."""

from __future__ import annotations

import re

import pytest

from pyptx_ir.isa.kinds.textures import GEOMETRIES
from pyptx_ir.toolchain.finder import find_tool

from .by_hand import FOLDER, read
from .ptxas import Assembler
from .report import opinion

pytestmark = [pytest.mark.no_cover, pytest.mark.ptxas]

# First operand of a texture instruction: the texture (or a register), to which a separate sampler operand is added.
TEXTURES = re.compile(r"\[(?:tex0|%u64_1), ")
QUERIES = (
    *(f"txq.{query}.b32 %b32_1, [smp0];" for query in ("filter_mode", "addr_mode_0", "force_unnormalized_coords")),
    "txq.filter_mode.b32 %b32_1, [gmem];",
    "txq.width.b32 %b32_1, [smp0];",
    "txq.width.b32 %b32_1, [tex0];",
)


def sampled() -> list[str]:
    """Return the handwritten texture fetches and gathers, with a separate sampler operand."""
    texts = [form.text for form in read(FOLDER / "textures.tsv") if form.text.startswith(("tex.", "tld4."))]
    return [TEXTURES.sub("[tex0, smp0, ", text) for text in texts]


def test_the_table_takes_a_sampler_beside_the_texture_where_ptxas_does() -> None:
    ptxas = find_tool("ptxas")
    assembler = Assembler(ptxas, "sm_90", ptxas.newest_ptx, independent=True)
    forms = [*dict.fromkeys(sampled()), *QUERIES]
    theirs = assembler.verdicts(forms)
    assert sum(said is None for said in theirs.values()) > 30 * len(GEOMETRIES)
    wrong = {
        form: (mine, theirs[form])
        for form in forms
        if ((mine := opinion(form, assembler.target, assembler.version)) is None) != (theirs[form] is None)
    }
    assert wrong == {}
