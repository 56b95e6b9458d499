"""Bit positions of tensor map fields, compared with the masks and stores that ptxas emits for `tensormap.replace`."""

from __future__ import annotations

import re
from functools import cache

import pytest

from pyptx_arch_hopper.sim.tma.map_fields import ELEMENT_CODES, FIELDS
from pyptx_ir.toolchain import assemble, disassemble

WORD = 32
PACKED = 13  # elemtype number of the first packed element type in tensormap.replace
# Tensor map fields whose new value may be a register; others need a constant.
OF_REGISTERS = ("global_address", "rank", "global_dim", "global_stride", "box_dim", "element_stride")
WIDE = ("global_address", "global_stride")
MODES = {"elemtype": 16, "interleave_layout": 3, "swizzle_mode": 4, "fill_mode": 2, "swizzle_atomicity": 4}


REGISTER_EDITS = [key for key in FIELDS if key[0] in OF_REGISTERS]
MODE_EDITS = [(field, value) for field, count in MODES.items() for value in range(count)]


@cache
def sass(target: str) -> dict[tuple[str, int], str]:
    """Return the SASS of each tensormap.replace in global memory, by field, and ordinal or value."""
    edits = [edit for edit in (*REGISTER_EDITS, *MODE_EDITS) if target_of(*edit) == target]
    entries = "".join(entry(f"k{number}_", *edit) for number, edit in enumerate(edits))
    text = f".version 8.8\n.target {target}\n.address_size 64\n{entries}"
    code = disassemble(assemble(text, target).cubin)
    return {edit: code.partition(f".text.k{number}_:")[2].partition(".section")[0] for number, edit in enumerate(edits)}


def target_of(field: str, value: int) -> str:
    packed = field == "elemtype" and value >= PACKED
    return "sm_100a" if field == "swizzle_atomicity" or packed else "sm_90a"


def entry(name: str, field: str, number: int) -> str:
    wide, listed = field in WIDE, field in OF_REGISTERS and field not in {"global_address", "rank"}
    value = str(number) if field in MODES else "%wide" if wide else "%r"
    return (
        f".visible .entry {name}(.param .u64 p, .param .u64 v)\n{{\n.reg .b32 %r;\n.reg .b64 %map, %wide;\n"
        "ld.param.u64 %map, [p];\nld.param.u64 %wide, [v];\ncvt.u32.u64 %r, %wide;\n"
        f"tensormap.replace.tile.{field}.global.b1024.{'b64' if wide else 'b32'} [%map]"
        f"{f', {number}' if listed else ''}, {value};\nret;\n}}\n"
    )


def stored(code: str) -> set[tuple[int, int]]:
    """Return the bits that SASS stores: the byte offset of each word, and the mask of its changed bits."""
    masks = re.findall(r"LOP3\.LUT R\d+, R\d+, (0x[0-9a-f]+), R\w+, 0xb8", code)
    places = re.findall(r"STG\.E(\.64)? desc\[UR\d+\]\[R\d+\.64(?:\+(0x[0-9a-f]+))?\]", code)
    offsets = [int(offset or "0", 16) + 4 * half for wide, offset in places for half in range(2 if wide else 1)]
    loads = re.findall(r"LDG\.E R\d+, desc\[UR\d+\]\[R\d+\.64\+(0x[0-9a-f]+)\]", code)
    masked = {int(offset, 16): int(mask, 16) for offset, mask in zip(loads, masks, strict=True)}
    return {(offset, masked.get(offset, 0xFFFFFFFF)) for offset in offsets}


def expected(field: str, ordinal: int) -> set[tuple[int, int]]:
    """Return, in the format of `stored`, the bits of a field in `map_fields.FIELDS`."""
    words = dict[int, int]()
    for first, count in FIELDS[field, ordinal].pieces:
        for bit in range(first, first + count):
            offset = bit // WORD * 4
            words[offset] = words.get(offset, 0) | 1 << bit % WORD
    return set(words.items())


@pytest.mark.ptxas
@pytest.mark.parametrize(("field", "ordinal"), REGISTER_EDITS)
def test_a_field_lies_where_ptxas_stores_it(field: str, ordinal: int) -> None:
    code = sass("sm_90a")[field, ordinal]
    assert stored(code) == expected(field, ordinal)
    assert bool(re.search(r"0xffffffff|-0x1\b", re.sub(r"LOP3.*", "", code))) == bool(FIELDS[field, ordinal].less)


@pytest.mark.ptxas
@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, count in MODES.items() for value in range(count)]
)
def test_a_mode_has_the_bits_that_ptxas_stores(field: str, value: int) -> None:
    """For a constant, ptxas emits code that sets the constant's one bits in the field, or clears its zero bits."""
    code = sass(target_of(field, value))[field, value]
    place = FIELDS[field, 0]
    ones = place.write(0, ELEMENT_CODES[value] if field == "elemtype" else value) >> 64
    set_bits = [int(mask, 16) for mask in re.findall(r"LOP3\.LUT R\d+, R\d+, (0x[0-9a-f]+), R\d+, 0xd8", code)]
    cleared = [int(mask, 16) for mask in re.findall(r"LOP3\.LUT R\d+, R\d+, (0x[0-9a-f]+), RZ, 0xb8", code)]
    assert sum(set_bits) == ones
    assert "+0x8]" in code
    assert all(ones & mask == 0 and mask & ~field_bits(field) == 0 for mask in cleared)
    assert set_bits or cleared


def field_bits(field: str) -> int:
    return sum(((1 << count) - 1) << first for first, count in FIELDS[field, 0].pieces) >> 64


def test_no_two_fields_share_a_bit() -> None:
    bits = [bit for field in FIELDS.values() for first, count in field.pieces for bit in range(first, first + count)]
    assert len(bits) == len(set(bits))
    assert max(bits) < 512
