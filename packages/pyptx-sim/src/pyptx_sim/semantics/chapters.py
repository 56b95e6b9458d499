"""The chapters' forms, gathered into one row per opcode: `add` has forms in four chapters."""

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

ROWS = rows(FORMS)
