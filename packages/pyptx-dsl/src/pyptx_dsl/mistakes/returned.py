"""Location of the last `return` of a kernel or body function, which must not return a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.origin import show

if TYPE_CHECKING:
    from types import CodeType

__all__ = ["last_return"]


def last_return(code: CodeType) -> str:
    """Return the location of the last `return` of a function."""
    import dis

    returns = [each.positions for each in dis.get_instructions(code) if each.opname.startswith("RETURN")]
    lines = [place.lineno for place in returns if place is not None and place.lineno is not None]
    return show(code.co_filename, max(lines, default=code.co_firstlineno), code.co_qualname)
