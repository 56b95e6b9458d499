"""tcgen05: allocations, loads, stores and copies of tensor memory."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"address of tensor memory": "ptxas accepts a variable as an address in tensor memory, which has no variables",
    r"^tcgen05\.(alloc|commit)\S* \[gmem\]": (
        "the manual requires an address in shared memory for tcgen05.alloc and tcgen05.commit"
    ),
    r"^tcgen05\.ld\.red\S* .*operand [23] of": (
        "ptxas checks only the width of the register for the result of tcgen05.ld.red"
    ),
    r"\.(b8x16|b[46]x16_p\d\d|b2) cannot be combined": (
        "ptxas ignores an element format in instructions that do not have one"
    ),
    r"^tcgen05\.(ld|st)\S* .*lacks a modifier: \.aligned": "ptxas 13.0 accepts tcgen05.ld and st without .aligned",
    r"^tcgen05\.(de)?alloc\.exclusive.*immediate-range": (
        "the manual allows 32 to 512 columns for tcgen05.alloc.exclusive, and 576 on sm_107"
    ),
}

LAXER: dict[str, str] = {
    r"^tcgen05\.commit\S* \[\w+\], \d+;": (
        "ptxas 13.0 requires a register for the mask of tcgen05.commit; ptxas 13.5 accepts a number"
    ),
}
