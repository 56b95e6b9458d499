"""HTML around pictures: the output of a notebook cell, tables, and whole pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.drawing.markup import Markup, element
from pyptx_ir.drawing.vector import STYLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_STYLE: Final = """\
.pyptx table{border-collapse:collapse;font:inherit;margin:0 0 10px}
.pyptx caption{text-align:left;font-weight:600;padding:4px}
.pyptx th,.pyptx td{padding:2px 10px;border:1px solid var(--faint);text-align:left;background:var(--paper)}
.pyptx td.number{text-align:right}.pyptx p{margin:6px 0}.pyptx pre{font:inherit;margin:0;white-space:pre-wrap}
"""


def notebook(*content: str, style: str = "") -> Markup:
    """Return the HTML of a notebook cell: contents on a background of their own, scrolled sideways if necessary."""
    rules = element("style", Markup(STYLE + _STYLE + style))
    return element("div", rules, *content, class_="pyptx", style="overflow-x:auto;padding:6px")


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    """Return a table; integers are right-aligned."""
    lines = [element("tr", *(element("th", name) for name in head))]
    lines += [element("tr", *map(_cell, row)) for row in rows]
    return element("table", element("caption", title), *lines)


def _cell(value: object) -> Markup:
    text = value if isinstance(value, str) else str(value)
    return element("td", text, class_="number" if isinstance(value, int) else None)


def page(title: str, *content: str) -> str:
    """Return a whole HTML page with the contents below each other."""
    parts = (element("div", each, style="margin:14px 0") for each in content)
    head = element("head", element("meta", charset="utf-8"), element("title", title))
    return f"<!DOCTYPE html>\n{element('html', head, element('body', *parts))}\n"
