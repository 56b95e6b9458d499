"""Only names, messages and documentation may differ between the trees that `tools/same_code.py` compares."""

from __future__ import annotations

import pytest
from tools.rename import renamed
from tools.same_code import Comparison

NAMES = {("old", "new"), ("old-rule", "new-rule"), ("products", "mma")}

SAME = {
    "docstring": ('def f():\n    """One."""\n    return 1', 'def f():\n    """Two."""\n    return 1'),
    "name": ("x.old = old(old=1)", "x.new = new(new=1)"),
    "names in a string": ('f("a.products:old", "old-rule")', 'f("a.mma:new", "new-rule")'),
    "names in an f-string": ('f(f"{x}.old")', 'f(f"{x}.new")'),
    "imports": ("from a import old, c\nfrom b import d", "from b import d\nfrom a import c, new"),
    "import for a message": ('f("a block of 1")', 'from a import counted\nf(f"a CTA of {counted(1)}")'),
    "exports": ('__all__ = ["old", "q"]', '__all__ = ["q", "new"]'),
    "message": ('f("the first text")', 'f(f"invalid {x}")'),
    "error": ('raise TheError(f"{x}", hint="x", where=y)', 'raise TheError(f"no {x!r}", where=y)'),
}
DIFFERENT = {
    "number": ("f(1)", "f(2)"),
    "operator": ("a < b", "a <= b"),
    "argument": ("f(a)", "f(a, b)"),
    "word": ('f("read")', 'f("write")'),
    "instruction": ('f("mov.b32 %r1, %r2;")', 'f("mov.b32 %r2, %r1;")'),
    "field of an f-string": ('f(f"{a} of")', 'f(f"{b.c} of")'),
    "type": ("x: int", "x: str"),
    "import for code": ("f()", "from a import f\nf()"),
    "argument `where` of an error": ("raise TheError(a, where=b)", "raise TheError(a, where=b + 1)"),
    "block": ("if a:\n    f()\n    g()", "if a:\n    f()\ng()"),
    "other branch": ("if a:\n    f()\n    g()", "if a:\n    f()\nelse:\n    g()"),
    "order": ("f(1)\ng(a)", "g(a)\nf(1)"),
    "two variables with one new name": (
        "def f(new):\n    old = 1\n    return new",
        "def f(new):\n    new = 1\n    return new",
    ),
}


@pytest.mark.parametrize("change", SAME)
def test_allowed(change: str) -> None:
    compared = Comparison(*SAME[change])
    assert {pair for pair, _ in compared.names} <= NAMES
    assert list(compared.differences(NAMES)) == []


@pytest.mark.parametrize("change", DIFFERENT)
def test_different(change: str) -> None:
    assert list(Comparison(*DIFFERENT[change]).differences(NAMES)) != []


def test_changed_names_have_their_lines() -> None:
    assert Comparison("a\n\nb.c", "a\n\nd.c").names == [(("b", "d"), 3)]


def test_internal_names_are_not_replaced_in_callers() -> None:
    assert renamed("old(fresh=late)", [("old", "new", "internal"), ("fresh", "blank", "keyword")]) == "old(blank=late)"
