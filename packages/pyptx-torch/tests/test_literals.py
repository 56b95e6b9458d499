"""The text of a call's fixed keywords preserves each value and its type."""

from __future__ import annotations

import math

import pytest

from pyptx_dsl.errors import KeywordError
from pyptx_dsl.types import bf16, f32
from pyptx_torch import literals

pytestmark = pytest.mark.torch


class Named(tuple):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [
        *(
            0,
            -1,
            2**70,
            True,
            False,
            None,
            1.5,
            -0.0,
            1e300,
            math.inf,
            -math.inf,
            "",
            "it's",
            'a "b" = (c, d)\n',
            b"\0x",
        ),
        *((), (1,), (1, (2.0, [True, None])), [], [[1], []], f32, (bf16, f32)),
        *({"a": 1}, {1, 2}, Named((1, 2)), object(), len),
    ],
    ids=lambda value: type(value).__name__ if type(value) is object else repr(value),
)
def test_what_is_read_is_what_was_spelt(value):
    kept = literals.Literals("kernel")
    read = kept.read(kept.spell({"x": value, "y": 1}))
    assert read == {"x": value, "y": 1}
    assert type(read["x"]) is type(value)
    assert repr(read["x"]) == repr(value)


def test_nan_is_nan():
    kept = literals.Literals("kernel")
    assert math.isnan(kept.read(kept.spell({"x": math.nan}))["x"])


def test_equal_keywords_have_equal_texts_and_readable_ones():
    kept, thing = literals.Literals("kernel"), object()
    assert kept.spell({"BM": 128, "dtype": bf16, "shape": (1, 2)}) == "BM=128, dtype=bf16, shape=(1, 2, )"
    assert kept.spell({"f": thing}) == kept.spell({"f": thing}) != kept.spell({"f": object()})
    assert kept.read("") == {}


def test_a_value_of_another_process_is_an_error():
    with pytest.raises(KeywordError, match="another process"):
        literals.Literals("kernel").read("f=kept(0)")  # keyword text of an operator call, as earlier releases wrote it
    kept = literals.Literals("kernel")
    kept.spell({"f": object()})
    with pytest.raises(KeywordError, match="another process"):
        kept.read(literals.Literals("kernel").spell({"f": object()}))
