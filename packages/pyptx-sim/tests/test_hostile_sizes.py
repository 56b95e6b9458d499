"""A declaration that is too large for memory is an error at its line, in bounded time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx_sim
from pyptx_sim.errors import ProgramError

from . import hostile_sizes

CASES = hostile_sizes.cases()
SECONDS = 2.0
OF_THE_LAUNCH = ("required block", "required cluster")


@cache
def outcomes() -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-m", "hostile_sizes"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_size_is_an_error_at_its_line(name):
    kind, message = outcomes()[name]["error"]
    if name.startswith(OF_THE_LAUNCH):
        assert kind == "LaunchError", message
    else:
        assert kind == "ProgramError", message
        assert f"PTX line {CASES[name][1]}" in message


def test_hostile_sizes_take_neither_time_nor_memory():
    slow = {name: each["seconds"] for name, each in outcomes().items() if each["seconds"] > SECONDS}
    assert slow == {}
    assert max(each["peak"] for each in outcomes().values()) < hostile_sizes.BYTES


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (".global .b32 v[08];", 4),
        (".global .b32 v = 99999999999999999999;", 4),
        (".global .b32 v[1.5];", 4),
        (".global .b32 v[1] = {1, 2};", 4),
        (".global .align 3 .b32 v;", 4),
        (".local .align 0 .b8 v[4];", 7),
        ("mov.u32 r, 0b2;", 7),
        ("mov.u32 r, 08;", 7),
        ("st.global.u32 [d+0x10000000000000000], r;", 7),
    ],
)
def test_a_number_without_a_value_is_an_error_at_its_line(words, line):
    from pyptx_ir.syntax import PtxSyntaxError

    with pytest.raises((ProgramError, PtxSyntaxError), match=rf"line {line}\b|:{line}:"):
        pyptx_sim.run(hostile_sizes.module(line, words), grid=1, block=32, args=[np.zeros(32, np.uint32)])


def test_numbered_variables_are_variables_of_their_own():
    """Manual: "Parameterized Variable Names"."""
    text = hostile_sizes.module(4, ".global .b32 v<3>; .shared .b32 s<2>;").replace(
        "st.global.u32 [d], r;",
        ".local .b32 l<2>; .reg .b64 e; .reg .b32 q;\n"
        "st.global.u32 [v0], 1; st.global.u32 [v2], 2; st.shared.u32 [s0], 4; st.shared.u32 [s1], 8;\n"
        "st.local.u32 [l0], 16; st.local.u32 [l1], 32;\n"
        "ld.global.u32 r, [v0]; ld.global.u32 q, [v2]; add.u32 r, r, q; ld.shared.u32 q, [s0]; add.u32 r, r, q;\n"
        "ld.shared.u32 q, [s1]; add.u32 r, r, q; ld.local.u32 q, [l0]; add.u32 r, r, q;\n"
        "ld.local.u32 q, [l1]; add.u32 r, r, q; st.global.u32 [d], r;",
    )
    out = np.zeros(1, np.uint32)
    pyptx_sim.run(text, grid=1, block=1, args=[out])
    assert out[0] == 63


@pytest.mark.parametrize("lane", range(3))
def test_a_family_of_labels_lists_each_of_them(lane):
    """Manual: ".branchtargets"."""
    text = hostile_sizes.module(7, "").replace(
        "st.global.u32 [d], r;",
        f"list: .branchtargets L<3>;\nmov.u32 r, {lane}; brx.idx r, list;\n"
        "L0: mov.u32 r, 10; bra end;\nL1: mov.u32 r, 11; bra end;\nL2: mov.u32 r, 12;\nend: st.global.u32 [d], r;",
    )
    out = np.zeros(1, np.uint32)
    pyptx_sim.run(text, grid=1, block=1, args=[out])
    assert out[0] == 10 + lane


@pytest.mark.parametrize(
    "operand",
    [
        *("~r", "+r", "(r)", "(.s64)r", "r+1", "r*2", "variable==variable", "~variable", "1+variable", "variable-1"),
        *("(variable)", "generic(variable)", "1.5&1", "~1.5", "1.5?1:2", "1?1.5:2", "1/0", "!0f3F800000"),
    ],
)
def test_an_operator_that_no_constant_expression_has_is_an_error(operand):
    """Manual: "Constant Expressions". ptxas rejects all of them except `r+1`, which the manual does not define."""
    text = hostile_sizes.module(4, ".global .b32 variable;").replace("mov.u32 r, %tid.x;", f"mov.u32 r, {operand};")
    with pytest.raises(ProgramError, match="PTX line 9"):
        pyptx_sim.run(text, grid=1, block=1, args=[np.zeros(1, np.uint32)])
