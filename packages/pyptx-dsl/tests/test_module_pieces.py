"""A function that returns Python text acts as if the text were its body; lines in errors are those of its file."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import CallError, OperandError
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.modules.pieces import text_body
from pyptx_dsl.modules.statement_locations import places_of
from pyptx_dsl.types import b32, u64
from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GROUP = """\
    x = [
        a,
    ]
    if not x:
        a()
    else:
        done.append(x)
"""
HEAD = 'def f(a, b):\n    """What it is."""\n    return r"""\n'


def made(source: str, **names: object) -> dict[str, Any]:
    """Execute source that defines a function `f`; return its globals."""
    found: dict[str, Any] = {**names}
    exec(compile(source, "<f>", "exec"), found)  # noqa: S102 - written here
    return found


def test_a_piece_ends_where_no_block_is_open() -> None:
    times = 3_000
    names = made(f'{HEAD}{GROUP * times}"""', done=[])
    text_body(names["f"])("b", "c")
    assert names["done"] == [["b"]] * times


def test_what_a_text_binds_is_its_own() -> None:
    names = made(f'{HEAD}    outer = a\n    seen.append(outer + b)\n"""', outer="file", seen=[])
    text_body(names["f"])("b", "c")
    assert (names["outer"], names["seen"]) == ("file", ["bc"])
    assert "a" not in names


@pytest.mark.parametrize(
    ("parameters", "seen"),
    [("*params", [("b", "c")]), ("a, *params", [("c",)]), ("a, b, c=1, *params", [()]), ("a, *, params=3", [3])],
)
def test_a_text_sees_every_parameter(parameters: str, seen: list[object]) -> None:
    names = made(f'def f({parameters}):\n    return r"""\n    seen.append(params)\n"""', seen=[])
    text_body(names["f"])("b", "c")
    assert names["seen"] == seen


@pytest.mark.parametrize("times", [1, 5_000])
def test_an_error_is_told_at_its_line(times: int) -> None:
    lines = "    a\n" * times
    with pytest.raises(ZeroDivisionError) as caught:
        text_body(made(f'{HEAD}{lines}    1 / 0\n"""')["f"])("b", "c")
    assert (caught.traceback[-1].lineno, str(caught.traceback[-1].path)) == (3 + times, "<f>")  # pytest counts from 0
    with pytest.raises(SyntaxError) as wrong:
        text_body(made(f'{HEAD}{lines}    add r1\n"""')["f"])("b", "c")
    assert (wrong.value.lineno, wrong.value.filename) == (4 + times, "<f>")


def body(p: str) -> str:  # noqa: ARG001 - the text names it
    """Return the Python text of a body that loads from offset 4, or fails to trace if `wrong` is true."""
    return r"""
    rd = reg.bank("%rd", u64, 2)
    (r,) = reg.declare(b32, "%r1")
    ptx.inst.ld.param.u64(rd[0], ptx.addr(p))
    ptx.inst.ld.global_.b32(r, ptx.addr(rd[0], "wrong" if wrong else 4))
    """


wrong = False


def test_a_text_is_the_body_of_a_function_and_its_statements_have_its_lines() -> None:
    written = module(version=(8, 7), target="sm_90a")
    written.entry("k", [written.param("p", u64)])(text_body(body))
    text = written.ptx()
    assert [line.strip() for line in text.splitlines() if "ld." in line] == [
        "ld.param.u64 %rd0, [p];",
        "ld.global.b32 %r1, [%rd0+4];",
    ]
    begin = body.__code__.co_firstlineno + 3
    lines = [place[1] for place in places_of(written)[0] if place is not None and place[0] == __file__]
    assert lines[:4] == [begin, begin + 1, begin + 2, begin + 3]


def test_a_mistake_in_a_text_points_at_its_line(tmp_path: Path) -> None:
    source = tmp_path / "kernel.py"
    source.write_text(f'{HEAD}    (r,) = reg.declare(b32, "%r1")\n    ptx.inst.add.s32(r, r)\n"""\n')
    found: dict[str, Any] = {"ptx": ptx, "reg": reg, "b32": b32}
    exec(compile(source.read_text(), str(source), "exec"), found)  # noqa: S102 - written here
    linecache.checkcache(str(source))
    written = module(version=(8, 7), target="sm_90a")
    with pytest.raises(PyptxError, match=r"kernel\.py:5"):
        written.entry("k", [written.param("a", u64), written.param("b", u64)])(text_body(found["f"]))


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda: None, OperandError),
        (lambda: 'ptx.inst.ret()\n"""', OperandError),
        (lambda: "\nptx.inst.ret()", OperandError),
        ("text", CallError),
    ],
)
def test_what_is_no_text_of_a_body_is_refused(function: Callable[..., str], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        text_body(function)()
