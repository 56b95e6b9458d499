"""Any module round-trips byte-identically, with and without rules: everything between and around its functions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptx.codegen import transpile
from pyptx_ir.plugins.manager import manager

from .test_codegen import module_of

pytestmark = pytest.mark.no_cover

HEAD = ".version 8.3\n.target sm_90{}\n.address_size 64\n"
WIDTHS = {"b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "b32": 32, "s32": 32, "u32": 32, "b64": 64, "u64": 64}

lines = st.lists(
    st.sampled_from(("", " ", "\t", "\n", "\n\n", "// said\n", "/* said */ ", '\n# 1 "k.cu"\n')), max_size=3
)
gaps = lines.map(lambda drawn: "\n" + "".join(drawn))
linkings = st.sampled_from(("", "", ".visible ", ".weak "))
spaces = st.sampled_from((".global", ".const"))
texts = st.text(st.characters(exclude_characters='"\n\\', exclude_categories=("Cs", "Cc")), max_size=9)


@st.composite
def variable(draw: st.DrawFn, name: str) -> str:
    """Return a variable of any type, with or without alignment, dimensions and an initializer that fits."""
    kind = draw(st.sampled_from((*WIDTHS, "f32", "f64")))
    align = draw(st.sampled_from(("", ".align 8 ", ".align 16 ")))
    sizes = draw(st.lists(st.integers(1, 5), max_size=2))
    dimensions = "".join([f"[{size}]" for size in sizes])
    value = draw(st.none() | initializer(kind, sizes))
    linking, space, gap = draw(linkings), draw(spaces), draw(gaps)
    return f"{gap}{linking}{space} {align}.{kind} {name}{dimensions}{'' if value is None else f' = {value}'};"


@st.composite
def initializer(draw: st.DrawFn, kind: str, sizes: list[int]) -> str:
    """Return a number, or nested lists with at most as many numbers as the array has elements."""
    if not sizes:
        return draw(number(kind))
    elements = draw(st.lists(initializer(kind, sizes[1:]), min_size=1, max_size=sizes[0]))
    return f"{{{draw(st.sampled_from((', ', ','))).join(elements)}}}"


def number(kind: str) -> st.SearchStrategy[str]:
    """Return numbers of a type, in all notations of PTX."""
    if kind == "f32":
        return st.integers(0, 2**32 - 1).map("0f{:08X}".format)
    if kind == "f64":
        return st.integers(0, 2**64 - 1).map("0d{:016X}".format)
    most = 2 ** WIDTHS[kind] - 1
    spelt = st.sampled_from(("{}", "{:#x}", "{:#X}", "0{:o}", "0b{:b}")).map(lambda way: way.replace("#X", "#x"))
    return st.tuples(spelt, st.integers(0, most)).map(lambda drawn: drawn[0].format(drawn[1]))


@st.composite
def function(draw: st.DrawFn, name: str, symbols: tuple[str, ...]) -> str:
    """Return a device function that may take addresses, branch by a table and declare a call prototype."""
    symbol = draw(st.sampled_from(symbols)) if symbols else "%laneid"
    width = "u64" if symbols else "u32"
    body = [f"mov.{width} %{'rd' if symbols else 'r'}1, {symbol};"]
    if draw(st.booleans()):
        body += ["proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]);"]
    if draw(st.booleans()):
        body += ["table: .branchtargets one, two;", "@%p1 brx.idx %r1, table;", "one:", "mov.b32 %r1, 1;", "two:"]
    if draw(st.booleans()):
        body += [
            f".loc {draw(st.integers(1, 2))} {draw(st.integers(1, 99))} 3",
            "{",
            ".reg .b32 %t;",
            "mov.b32 %t, 1;",
            "}",
        ]
    if draw(st.booleans()):
        body += [f'.pragma "{draw(texts)}";']
    margin = draw(st.sampled_from(("\n", "\n\t", "\n    ", " ")))
    text = margin.join(["", ".reg .pred %p<2>;", ".reg .b32 %r<2>;", ".reg .b64 %rd<2>;", *body, "ret;"])
    if margin == " ":
        text = text.replace(" 3 {", " 3\n{")  # a .loc has no terminator
    header = draw(st.sampled_from(("()", "(.param .b64 a)", "(.param .b64 a, .param .align 8 .b8 b[16])")))
    returned = draw(st.sampled_from(("", "(.param .b32 out) ")))
    return f"{draw(gaps)}{draw(linkings)}.func {returned}{name}{header}{draw(gaps)}{{{text}\n}}"


@st.composite
def section(draw: st.DrawFn, name: str) -> str:
    """Return a debug section, with labels."""
    data = st.tuples(
        st.sampled_from((".b8", ".b16", ".b32", ".b64", ".byte", ".4byte", ".quad")),
        st.lists(st.integers(0, 255), min_size=1, max_size=4),
    )
    rows = draw(st.lists(data | st.just(("label", [0])), max_size=6))
    written = [
        f"\n$S{at}:" if kind == "label" else f"\n\t{kind} {', '.join(map(str, values))}"
        for at, (kind, values) in enumerate(rows)
    ]
    return f"{draw(gaps)}.section {name}\n{{{''.join(written)}\n}}"


@st.composite
def modules(draw: st.DrawFn) -> str:
    """Return a module of files, variables, functions, aliases and sections, with arbitrary trivia between them."""
    variables = [f"v{at}" for at in range(draw(st.integers(0, 4)))]
    functions = [f"f{at}" for at in range(draw(st.integers(0, 3)))]
    debug = draw(st.booleans())
    parts = [HEAD.format(", debug" if debug else "")]
    parts += [f'\n.file {at} "{draw(texts)}"{draw(st.sampled_from(("", ", 7", ", 7, 9")))}' for at in (1, 2)]
    parts += [draw(variable(name)) for name in variables]
    parts += [draw(function(name, tuple(variables))) for name in functions]
    has_alias = draw(st.booleans())
    if functions and has_alias:
        parts.append(f"{draw(gaps)}.alias {functions[0]}_too, {functions[0]};")
    sections = draw(st.sampled_from(((), (".debug_str",), (".debug_str", ".debug_info")))) if debug else ()
    parts += [draw(section(name)) for name in sections]
    return "".join(parts) + draw(gaps)


@settings(deadline=None)
@given(modules(), st.booleans())
@pytest.mark.long
def test_any_module_comes_back(source: str, sugar: bool) -> None:  # noqa: FBT001  drawn
    done = transpile(source, manager().sugar_rules() if sugar else ())
    assert module_of(done.text).ptx() == source
    assert not done.rejected
