"""SVG drawings with a background of their own, light or dark according to the reader's color scheme."""

from __future__ import annotations

from typing import Final, Self

from pyptx_ir.drawing.markup import Markup, element

LETTER: Final = 6.65
"""Width of a letter of the 11-pixel monospace font, in pixels."""

# `hue` is a pale color whose hue, in degrees, an element sets in its style. Notebooks put drawings into one page, so
# every selector is below the class `pyptx`.
STYLE: Final = """\
.pyptx{--paper:#fff;--ink:#1f2933;--faint:#d3d9e0;--soft:#f2f4f7;--alarm:#c62828;--s:62%;--l:84%;
background:var(--paper);color:var(--ink);font:11px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
@media (prefers-color-scheme:dark){.pyptx{--paper:#16191d;--ink:#e4e7eb;--faint:#3a414a;--soft:#20252b;--alarm:#ff8a80;
--s:36%;--l:30%}}
.pyptx text{fill:var(--ink);white-space:pre}.pyptx .paper{fill:var(--paper)}.pyptx .title{font-weight:600}
.pyptx .faint{opacity:.72}.pyptx .alarm{fill:var(--alarm);font-weight:600}
.pyptx .hue{fill:hsl(var(--h),var(--s),var(--l))}.pyptx .blank{fill:var(--soft)}
.pyptx .hue,.pyptx .blank{stroke:var(--paper);stroke-width:1}
"""


def number(value: float) -> str:
    """Return a length in pixels as text, with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


class Drawing(Markup):
    """An SVG with its size in pixels."""

    __slots__ = ("height", "width")

    width: float
    height: float

    def __new__(cls, text: str, width: float, height: float) -> Self:
        """Store the text of an SVG of `width` by `height` pixels."""
        made = super().__new__(cls, text)
        made.width, made.height = width, height
        return made

    def __reduce__(self) -> tuple[type[Drawing], tuple[str, float, float]]:
        """Return the class and the arguments of `__new__`, for copies and pickles."""
        return Drawing, (str(self), self.width, self.height)


def svg(width: float, height: float, *content: str, kind: str = "", style: str = "") -> Drawing:
    """Return a drawing of `width` by `height` pixels; `style` has rules for the contents of the class `kind`."""
    size = {"width": number(width), "height": number(height)}
    text = element(
        "svg",
        element("style", Markup(STYLE + style)),
        element("rect", class_="paper", **size),
        *content,
        xmlns="http://www.w3.org/2000/svg",
        class_=f"pyptx {kind}".strip(),
        viewBox=f"0 0 {size['width']} {size['height']}",
        **size,
    )
    return Drawing(text, width, height)


def stacked(*drawings: Drawing) -> Drawing:
    """Return one drawing with drawings below each other."""
    tops = [sum(each.height for each in drawings[:place]) for place in range(len(drawings))]
    parts = (element("g", each, transform=f"translate(0,{number(y)})") for y, each in zip(tops, drawings, strict=True))
    width = max((each.width for each in drawings), default=0)
    return svg(width, sum(each.height for each in drawings), *parts)


def text_lines(*lines: str) -> Drawing:
    """Return a drawing of lines of text."""
    parts = (label(10, 18 * place, line) for place, line in enumerate(lines, 1))
    return svg(20 + max(map(len, lines), default=0) * LETTER, 18 * len(lines) + 14, *parts)


def label(x: float, y: float, text: str, *, anchor: str | None = None, class_: str | None = None) -> Markup:
    """Return a line of text whose baseline is at `y`; `anchor` is `start`, `middle` or `end`."""
    return element("text", text, x=number(x), y=number(y), text_anchor=anchor, class_=class_)


def cell(
    x: float, y: float, width: float, height: float, text: str = "", *, hue: float | None = None, tip: str = ""
) -> Markup:
    """Return a rectangle with a centered text; `hue` is its color in degrees, `tip` the tooltip. None: gray."""
    color = {"class_": "blank"} if hue is None else {"class_": "hue", "style": f"--h:{number(hue)}"}
    size = {"x": number(x), "y": number(y), "width": number(width), "height": number(height)}
    named = [label(x + width / 2, y + height / 2 + 4, text, anchor="middle")] if text else []
    told = [element("title", tip)] if tip else []
    return element("g", *told, element("rect", **color, **size), *named)
