"""Every PTX line records the Python line that emitted it, and every error names the line in the user's code."""

from __future__ import annotations

import inspect
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import reg
from pyptx_dsl.errors import RegisterTypeError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.kernels.intrinsic import intrinsic
from pyptx_dsl.kernels.specialize import trace_kernel
from pyptx_dsl.tracing.trace import active
from pyptx_dsl.types import f32, u32

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def helper(register: reg.Reg) -> reg.Reg:
    return register + 1  # an addition


@kernel
def example() -> None:
    first = reg.scalar(u32, init=1)  # the first register
    offset = first * 4  # a multiplication
    helper(offset)  # a helper call
    with active().scope():
        active().emit(("bar", "sync"), (0,))  # emitted without a `ptx` function
    active().emit(("ret",))  # the last statement


def origins(build: object) -> Iterator[tuple[str, list[str]]]:
    """Yield each line of PTX that has an origin, with the source line of each frame of the origin."""
    source = inspect.getsource(inspect.getmodule(helper) or helper).splitlines()
    traced = trace_kernel(build._declaration, {}, {})  # type: ignore[attr-defined]  # a mistake on purpose
    for number, line in enumerate(traced.text.split("\n"), 1):
        frames = traced.origins.get(number)
        if frames:
            yield line.strip(), [source[frame.line - 1].strip() for frame in frames]


def test_each_line_maps_to_the_python_that_wrote_it() -> None:
    found = dict(origins(example))
    assert found["mov.u32 %r0, 1;"] == ["first = reg.scalar(u32, init=1)  # the first register"]
    assert found["mul.lo.u32 %r1, %r0, 4;"] == ["offset = first * 4  # a multiplication"]
    assert found["add.u32 %r2, %r1, 1;"] == ["return register + 1  # an addition", "helper(offset)  # a helper call"]
    assert found["bar.sync 0;"] == ['active().emit(("bar", "sync"), (0,))  # emitted without a `ptx` function']
    assert found["ret;"] == ['active().emit(("ret",))  # the last statement']


def test_lines_without_an_origin_are_the_declarations_and_the_header() -> None:
    traced = trace_kernel(example._declaration, {}, {})
    bare = [line.strip() for number, line in enumerate(traced.text.split("\n"), 1) if number not in traced.origins]
    assert [line for line in bare if line] == [
        *(
            ".version 8.5",
            ".target sm_90a",
            ".address_size 64",
            ".visible .entry example()",
            "{",
            ".reg .b32 %r<3>;",
            "}",
        ),
    ]
    assert len(traced.origins) == len(list(traced.origins))


def test_explain_shows_the_python_in_front_of_its_ptx() -> None:
    text = example.explain()
    assert "helper(offset)  # a helper call\n\t//   test_origin.py" in text
    assert text.index("# a multiplication") < text.index("mul.lo.u32") < text.index("# a helper call")


def test_lineinfo_adds_loc_lines_with_inlined_helpers() -> None:
    build = kernel(lineinfo=True)(example._declaration.function)
    lines = [line.strip() for line in build.ptx().splitlines()]
    call, _ = next((number, line) for number, line in enumerate(lines) if "function_name" in line)
    assert lines[call - 1].startswith(".loc 1 ")
    assert f"inlined_at {lines[call - 1].removeprefix('.loc ')}" in lines[call]
    assert lines[call + 1] == "add.u32 %r2, %r1, 1;"
    assert any(line.startswith('.file 1 "') and line.endswith('test_origin.py"') for line in lines)
    assert ".section .debug_str" in build.ptx()
    stripped = [line for line in lines if not line.startswith((".loc", ".file"))]
    plain = [line.strip() for line in example.ptx().splitlines()]
    assert [line for line in stripped if line][: len([line for line in plain if line]) - 1] == [
        line for line in plain if line
    ][:-1]


def test_an_error_shows_the_users_line_with_a_caret(tmp_path: Path) -> None:
    path = tmp_path / "user.py"
    path.write_text(
        dedent("""
        def outer():
            x = reg.scalar(f32, init=1.0)
            y = (x + 1.0) + (x << 2)
        """)
    )
    names: dict[str, object] = {"reg": reg, "f32": f32}
    exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102  the text is above
    with pytest.raises(RegisterTypeError) as caught:
        kernel(names["outer"]).ptx()  # type: ignore[call-overload]  # a mistake on purpose
    message, where, source, caret, help = str(caught.value).splitlines()
    assert message == "<< is not defined for f32 and 2"
    assert where.endswith("user.py:4: in outer")
    assert source[caret.index("^") :].startswith("x << 2")
    assert help.startswith("help: ")


def test_an_intrinsic_is_marked_by_comments_and_adds_nothing() -> None:
    @intrinsic
    def twice(register: reg.Reg, *, times: int = 2) -> reg.Reg:
        return register + times

    @kernel
    def k() -> None:
        twice(reg.scalar(u32, init=3), times=5)

    assert "\t// BEGIN twice(%r0, times=5)\n\tadd.u32 %r1, %r0, 5;\n\t// END twice\n" in k.ptx()
    assert intrinsic(lambda value: value * 2)(21) == 42
