"""HTML of a kernel's listing: Python, PTX and SASS side by side; lines of one Python line have one color.

Without scripts: rules of CSS outline lines while the pointer is above a line. Above PTX or SASS, these are the lines of
the Python line that emitted it. Above Python, these include the lines of the functions that the line calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.drawing import Markup, element, notebook

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_dsl.inspect.side_by_side import KernelListing, ListedLine
    from pyptx_dsl.inspect.sources import PythonLine

_PYTHON: Final = "Python"
_MOST: Final = 2000  # maximum number of lines of a column
_GOLDEN: Final = 137.5  # degrees: colors of consecutive Python lines differ
_OUTLINE: Final = "{outline:2px solid var(--ink);outline-offset:-2px}"
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
    emitted = (*listing.ptx[:_MOST], *listing.sass[:_MOST])
    keys = {line: key for key, line in enumerate(dict.fromkeys(line for each in emitted for line in each.stack))}
    own = {each.line for each in emitted}
    titles = (_PYTHON, f"PTX for {listing.target}", "SASS")
    panes = [each for each in zip(titles, (listing.python, listing.ptx, listing.sass), strict=True) if each[1]]
    widths = " ".join(f"minmax(0,{_width(lines)}fr)" for _, lines in panes)
    shown = [
        _pane(title, [_line(each, keys, own, title) for each in lines[:_MOST]], len(lines)) for title, lines in panes
    ]
    rules = "".join(_rule(key) for key in keys.values())
    notes = [element("p", listing.reason)] if listing.reason else []
    grid = element("div", *shown, class_="listing", style=f"grid-template-columns:{widths}")
    return notebook(element("p", element("b", listing.name)), grid, *notes, style=f"{_STYLE}{rules}")


def _width(lines: Sequence[ListedLine]) -> int:
    """Return the share of the width that a column gets: the length of its longest line, within bounds."""
    return min(max(30, *(len(line.text) for line in lines)), 45)


def _rule(key: int) -> str:
    """Return the color of a Python line, and the rules that outline its lines and those of the functions it calls."""
    hue = key * _GOLDEN % 360
    above, inside = f".listing:has(.k{key}:hover) .k{key}", f".listing:has(.p{key}:hover) .u{key}"
    return f".k{key}{{--h:{hue:g}}}{above},{inside}{_OUTLINE}\n"


def _pane(title: str, lines: list[Markup], count: int) -> Markup:
    if count > len(lines):
        lines.append(element("span", f"and {count - len(lines)} more lines; print(…) shows all", class_="line"))
    body = element("div", element("div", *lines), class_="lines")
    return element("div", element("h4", title), body, class_="pane")


def _line(line: ListedLine, keys: Mapping[PythonLine, int], own: set[PythonLine | None], title: str) -> Markup:
    """Return a line with the classes k (its Python line), u (outer Python lines), and in the column Python p."""
    known = [keys[each] for each in line.stack if each in keys]
    linked = ["linked"] if line.line in own and known else []
    kinds = "kp" if title == _PYTHON else "k"
    classes = ["line", *linked, *(f"{kind}{key}" for key in known[:1] for kind in kinds)]
    classes += [f"u{key}" for key in known[1:]]
    tip = "\n".join(each.place for each in line.stack) or None
    return element("span", element("i", line.label), line.text or " ", class_=" ".join(classes), title=tip)
