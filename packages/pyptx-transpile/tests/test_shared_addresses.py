"""Named shared memory addresses: which addresses get a name, its uses, and rejection of deliberately wrong names."""

from __future__ import annotations

import pytest

from pyptx_transpile import transpile
from pyptx_transpile.rules.shared_addresses import PLACE
from pyptx_transpile.rules.table import RULES

from .test_proof import rebuilt
from .wrong_rules import wrong_first

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n\n"
TILE = ".shared .align 16 .b8 tile[64];"
REGISTERS = ".reg .pred %p<4>;\n\t.reg .b32 %r<20>;"


def module(*statements: str, variables: str = TILE) -> str:
    body = "\n\t".join([REGISTERS, *[f"{each};" for each in statements], "ret;"])
    return f"{HEAD}{variables}\n\n.visible .entry k()\n{{\n\t{body}\n}}\n"


def uses(register: int) -> tuple[str, ...]:
    return f"st.shared.b32 [%r{register}], %r9", f"atom.shared.add.u32 %r10, [%r{register}+4], %r9"


def printed(*statements: str, variables: str = TILE) -> list[str]:
    """Return the lines of the printed kernel body after the register groups."""
    source = module(*statements, variables=variables)
    done = transpile(source, RULES)
    assert not done.rejected
    assert rebuilt(done.text) == source
    lines = [line.strip() for line in done.text.splitlines()]
    return lines[next(at for at, line in enumerate(lines) if line.startswith("r = ")) + 1 :]


def test_addresses_of_variables_and_places_behind_them_have_names() -> None:
    lines = printed("mov.u32 %r1, tile", "bar.sync 0", *uses(1), "add.s32 %r2, %r1, 32", "bar.sync 1", *uses(2))
    assert lines[0] == "tile_base = ptx.inst.mov.u32(r[1], tile)"
    assert lines[2] == "ptx.inst.st.shared.b32(ptx.addr(tile_base), r[9])"
    assert lines[4] == "tile_32 = ptx.inst.add.s32(r[2], tile_base, 32)"
    assert lines[7] == "ptx.inst.atom.shared.add.u32(r[10], ptx.addr(tile_32, 4), r[9])"


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        (".extern .shared .align 16 .b8 global_smem[];", "smem"),
        (".extern .shared .align 16 .b8 buf_dyn_shmem[];\n.shared .b8 other[4];", "buf"),
        (".extern .shared .align 16 .b8 everything_dynamic[];\n.shared .b8 other[4];", "smem"),
    ],
)
def test_long_names_are_cut_so_that_lines_stay_short(variables: str, name: str) -> None:
    symbol = variables.partition("[")[0].split()[-1]
    lines = printed(f"mov.b32 %r1, {symbol}", "bar.sync 0", *uses(1), variables=variables)
    assert lines[0] == f"{name} = ptx.inst.mov.b32(r[1], {symbol})"


def test_what_an_expression_says_has_no_name() -> None:
    lines = printed("mov.u32 %r1, tile", "add.s32 %r2, %r1, %r8", *uses(2), "st.shared.b32 [%r1], %r9")
    assert lines[0] == "ptx.inst.add.s32(r[2], ptx.inst.mov.u32(r[1], tile), r[8])"


UNNAMED = {
    "written twice": ("mov.u32 %r1, tile", "bar.sync 0", *uses(1), "mov.u32 %r1, 3"),
    "read before": ("bar.sync %r1", "mov.u32 %r1, tile", "bar.sync 0", *uses(1)),
    "read once": ("mov.u32 %r1, tile", "bar.sync 0", uses(1)[0]),
    "under a guard": ("@%p1 mov.u32 %r1, tile", "bar.sync 0", *uses(1)),
    "a variable in .const": ("mov.u32 %r1, table", "bar.sync 0", *uses(1)),
    "a computed address": ("add.s32 %r1, %r2, 8", "bar.sync 0", *uses(1)),
}


@pytest.mark.parametrize("what", UNNAMED)
def test_others_stay_elements_of_their_banks(what: str) -> None:
    source = module(*UNNAMED[what], variables=f"{TILE}\n.const .b8 table[64];")
    done = transpile(source, RULES)
    assert done.applied["place"] == 0, done.text
    assert not done.rejected


@pytest.mark.parametrize("register", ["r[3]", "p[1]", "r[100]"])
def test_a_wrong_name_is_rejected_alone(register: str) -> None:
    second = ("mov.u32 %r5, tile", "bar.sync 1", "st.shared.b32 [%r5+8], %r9", "st.shared.b32 [%r5+20], %r11")
    source = module("mov.u32 %r1, tile", "bar.sync 0", *uses(1), *second)
    done = transpile(source, wrong_first(PLACE, lambda line: line.replace("r[1]", register)))
    assert [(one.rule, one.statement) for one in done.rejected] == [("place", "mov.u32 %r1, tile;")]
    assert rebuilt(done.text) == source
    assert "tile_base = ptx.inst.mov.u32(r[5], tile)" in done.text
