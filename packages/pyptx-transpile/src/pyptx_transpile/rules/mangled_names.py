"""Rule that demangles C++ names: Python functions get the C++ name, their docstrings the whole C++ declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.planning.plan import Rewrite, RewritePlan
    from pyptx_transpile.reading.rows import Body

__all__ = ["NAMES"]


def find(_body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield no rewrite: function names are printed outside function bodies."""
    return iter(())


NAMES = SugarRule(
    name="names",
    summary="demangled C++ names instead of mangled symbols",
    before=".visible .entry _Z5scalePfi()",
    after='def scale() -> None:\n    """C++: scale(float*, int)."""',
    find=find,
)
