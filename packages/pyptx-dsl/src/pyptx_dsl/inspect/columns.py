"""HTML of a kernel's listing: Python, PTX and SASS side by side; lines of one Python line have one color.

Without scripts: a rule of CSS for each Python line outlines its lines while the pointer is above one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.drawing import Markup, element, notebook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.inspect.side_by_side import KernelListing, ListedLine

_MOST: Final = 2000  # maximum number of lines of a column
_GOLDEN: Final = 137.5  # degrees: colors of consecutive Python lines differ
_STYLE: Final = """\
.listing{display:grid;gap:8px;min-width:760px}.listing .pane{min-width:0}
.listing h4{margin:0 0 4px;font:inherit;font-weight:600}
.listing .lines{overflow:auto;max-height:60em;border:1px solid var(--faint);padding:4px 0;tab-size:2}
.listing .lines>div{width:max-content;min-width:100%}
.listing .line{white-space:pre;padding:0 6px;line-height:1.45;display:block}
.listing .linked{background:hsl(var(--h),var(--s),var(--l))}
.listing i{font-style:normal;opacity:.6;display:inline-block;min-width:4ch;margin-right:1ch;text-align:right}
"""


def columns(listing: KernelListing) -> Markup:
    """Return the HTML of a listing, for notebooks; a column shows at most 2000 lines."""
    linked = dict.fromkeys(line.python for line in (*listing.ptx, *listing.sass) if line.python is not None)
    panes = [(f"Python ({listing.file})", listing.python), (f"PTX for {listing.target}", listing.ptx)]
    panes += [("SASS", listing.sass)] if listing.sass else []
    shown = [_pane(title, lines, linked) for title, lines in panes if lines]
    widths = " ".join(f"minmax(0,{_width(lines)}fr)" for _, lines in panes if lines)
    rules = "".join(_rule(line, number * _GOLDEN % 360) for number, line in enumerate(linked))
    notes = [element("p", listing.reason)] if listing.reason else []
    grid = element("div", *shown, class_="listing", style=f"grid-template-columns:{widths}")
    return notebook(element("p", element("b", listing.name)), grid, *notes, style=f"{_STYLE}{rules}")


def _width(lines: Sequence[ListedLine]) -> int:
    """Return the share of the width that a column gets: the length of its longest line, within bounds."""
    return min(max(30, *(len(line.text) for line in lines)), 45)


def _rule(line: int, hue: float) -> str:
    """Return the color of a Python line, and the rule that outlines its lines."""
    key = f".k{line}"
    return f"{key}{{--h:{hue:g}}}.listing:has({key}:hover) {key}{{outline:2px solid var(--ink);outline-offset:-2px}}\n"


def _pane(title: str, lines: Sequence[ListedLine], linked: dict[int, None]) -> Markup:
    shown = [_line(line, linked) for line in lines[:_MOST]]
    if len(lines) > _MOST:
        shown.append(element("span", f"and {len(lines) - _MOST} more lines; print(…) shows all", class_="line"))
    body = element("div", element("div", *shown), class_="lines")
    return element("div", element("h4", title), body, class_="pane")


def _line(line: ListedLine, linked: dict[int, None]) -> Markup:
    key = f"line linked k{line.python}" if line.python in linked else "line"
    return element("span", element("i", line.label), line.text or " ", class_=key, title=line.origin or None)
