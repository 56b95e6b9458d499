"""Elements of XML, which are elements of HTML, too. `element` is the only function that escapes."""

from __future__ import annotations

import re
from html import escape
from typing import Final

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EMPTY: Final = frozenset({"line", "meta", "path", "rect"})  # elements without an end tag


class Markup(str):
    """Well-formed XML, which `element` inserts unchanged. Only this package and constant texts make it directly."""

    __slots__ = ()


def clean(text: str) -> Markup:
    """Return text escaped for XML contents and attributes; characters that XML forbids become `?`."""
    return text if isinstance(text, Markup) else Markup(escape(_NOT_XML.sub("?", text)))


def element(name: str, *content: str, **attributes: object) -> Markup:
    """Return an XML element with escaped texts and attribute values; Markup is inserted unchanged.

    `class_` names the attribute `class`, and `stroke_width` the attribute `stroke-width`. An attribute None is omitted.
    """
    given = "".join(
        f' {key.removesuffix("_").replace("_", "-")}="{clean(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(map(clean, content))
    return Markup(f"<{name}{given}/>" if name in _EMPTY and not inside else f"<{name}{given}>{inside}</{name}>")
