"""`Semantics` rows of all manual chapters; an opcode with forms in several chapters (`add`) has one row per section."""

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
    miscellaneous,
    mixed_precision,
    mma,
    video,
    warp,
)

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
    mma,
    video,
    miscellaneous,
)

ROWS = tuple(row for chapter in CHAPTERS for row in chapter.ROWS)
