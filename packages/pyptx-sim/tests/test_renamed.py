"""Former names raise errors with the present ones, and are the rows of `tools/renamed.tsv`."""

from __future__ import annotations

import csv
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx_sim
from pyptx_ir.renamed import ATTRIBUTES, KEYWORDS, NAMES
from pyptx_ir.syntax.nodes import Version
from pyptx_sim.findings import Finding

TABLE = Path(__file__).parents[3] / "tools" / "renamed.tsv"


@pytest.mark.parametrize(
    ("module", "old"), [("pyptx_sim", "Mapped"), ("pyptx_sim", "Uninitialised"), ("pyptx_sim.extension", "Turn")]
)
def test_a_former_name_is_an_error_with_the_present_one(module: str, old: str) -> None:
    with pytest.raises(AttributeError, match=rf"has no attribute {old!r}; {old} is now {NAMES[old]}$"):
        getattr(import_module(module), old)
    with pytest.raises(AttributeError, match=r"has no attribute 'Layout'; Layout is now AccessLayout$"):
        _ = import_module("pyptx_sim.extension").Layout
    with pytest.raises(AttributeError, match=r"has no attribute 'Layout'$"):
        _ = import_module("pyptx_sim").Layout
    with pytest.raises(AttributeError, match=r"has no attribute 'Absent'$"):
        _ = import_module(module).Absent


@pytest.mark.parametrize("call", [pyptx_sim.run, pyptx_sim.explore])
@pytest.mark.parametrize("old", ["late", "dry", "any_form"])
def test_a_former_keyword_is_an_error_with_the_present_one(call: Any, old: str) -> None:
    with pytest.raises(TypeError, match=rf"{old}= is now {KEYWORDS[old]}=$"):
        call("", grid=1, block=1, args=[np.zeros(1)], **{old: True})


@pytest.mark.parametrize(
    ("value", "old", "now"), [(Version(8, 0), "lead", "leading_trivia"), (Finding("", ""), "hint", "help")]
)
def test_a_former_attribute_is_an_error_with_the_present_one(value: object, old: str, now: str) -> None:
    with pytest.raises(AttributeError, match=rf"object has no attribute {old!r}; {old} is now {now}$"):
        getattr(value, old)
    with pytest.raises(AttributeError, match=r"object has no attribute 'met'$"):
        _ = value.met  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]  of other classes


@pytest.mark.skipif(not TABLE.exists(), reason="tools of the repository are not in the distribution")
def test_the_rows_are_those_of_the_script_that_renames_in_callers() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [(row["old"], row["new"], row["kind"]) for row in csv.DictReader(file, delimiter="\t")]
    assert {(old, new) for old, new, kind in rows if kind in {"name", "member"}} >= NAMES.items() - {
        ("Examination", "DoctorCheck")
    }
    assert {(old, new) for old, new, kind in rows if kind == "keyword"} == set(KEYWORDS.items())
    assert {(old, new) for old, new, kind in rows if kind == "attribute"} == set(ATTRIBUTES.items())
