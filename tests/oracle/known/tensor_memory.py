"""tcgen05: allocations, loads, stores and copies of tensor memory."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"address of tensor memory": "ptxas takes a variable for an address in tensor memory, where no variable lies",
    r"^tcgen05\.(alloc|commit)\S* \[gmem\]": "the manual: the address must lie in shared memory",
    r"^tcgen05\.ld\.red\S* .*operand [23] of": "ptxas looks only at the width of what takes the result of a reduction",
    r"\.(b8x16|b[46]x16_p\d\d|b2) cannot be combined": (
        "ptxas ignores an element format where the instruction has none"
    ),
    r"^tcgen05\.(ld|st)\S* .*lacks a modifier: \.aligned": "ptxas 13.0 takes tcgen05.ld and st without .aligned",
    r"^tcgen05\.(de)?alloc\.exclusive.*immediate-range": "the manual: 32 to 512 columns, 576 on sm_107",
}

LAXER: dict[str, str] = {
    r"^tcgen05\.commit\S* \[\w+\], \d+;": "ptxas 13.0 wants the mask in a register; 13.5 takes a number",
}
