"""What the chapters say, in one row per opcode: `add` has forms in four chapters.

Where the rows of the instruction table tell all but the arithmetic, an instruction is a function. Where they do not
(constants that are looked at, packed types, carries), the chapter's forms bind it.
"""

from __future__ import annotations

from pyptx_sim.semantics import (
    comparison,
    conversion,
    data_movement,
    extended_precision,
    floating_point,
    half_precision,
    integer,
    integer_bits,
    logic,
    matrix_products,
    miscellaneous,
    mixed_precision,
    video,
    warp,
)
from pyptx_sim.semantics.forms import rows

CHAPTERS = (
    integer,
    integer_bits,
    extended_precision,
    floating_point,
    half_precision,
    mixed_precision,
    comparison,
    logic,
    data_movement,
    conversion,
    warp,
    matrix_products,
    video,
    miscellaneous,
)

FORMS = tuple(form for chapter in CHAPTERS for form in chapter.FORMS)

FUNCTIONS = (*integer.FUNCTIONS, *integer_bits.FUNCTIONS, *logic.FUNCTIONS)

ROWS = (*rows(FORMS), *FUNCTIONS)
