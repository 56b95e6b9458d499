"""The words of PTX as Python attributes, and back: decided here and nowhere else.

| PTX word | attribute | rule |
|---|---|---|
| `add` | `add` | the word itself |
| `global`, `and`, `async` | `global_`, `and_`, `async_` | Python's keywords get an underscore behind |
| `2d`, `128x256b` | `_2d`, `_128x256b` | a digit gets an underscore in front |
| `shared::cta` | `shared__cta` | `::` is written `__` |
| `sp::2:4` | `sp__2___4` | `:` alone is written `___` |

Any word may carry the underscore behind (`xor_` is `xor`), so a name never depends on the version of Python.
"""

from __future__ import annotations

import keyword
from functools import lru_cache

__all__ = ["is_attribute", "to_ptx", "to_python"]


@lru_cache(maxsize=4096)
def to_ptx(attribute: str) -> str:
    """Return the PTX word that a Python attribute spells."""
    word = attribute
    if len(word) > 1 and word[0] == "_" and word[1].isdecimal():
        word = word[1:]
    if word.endswith("_") and not word.endswith("__"):
        word = word[:-1]
    return word.replace("___", ":").replace("__", "::")


@lru_cache(maxsize=4096)
def to_python(word: str) -> str:
    """Return the Python attribute for a PTX word; `to_ptx` is its inverse."""
    attribute = word.replace("::", "__").replace(":", "___")
    if attribute[:1].isdecimal():
        return f"_{attribute}"
    return f"{attribute}_" if keyword.iskeyword(attribute) else attribute


@lru_cache(maxsize=4096)
def is_attribute(word: str) -> bool:
    """Tell whether a PTX word can be written as an attribute; names with an underscore in front are Python's own."""
    attribute = to_python(word)
    private = attribute[:1] == "_" and not attribute[1:2].isdecimal()
    return attribute.isidentifier() and not private and to_ptx(attribute) == word
