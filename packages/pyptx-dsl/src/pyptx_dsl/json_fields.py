"""Validated access to untrusted JSON values; errors name the path of the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import BundleError

if TYPE_CHECKING:
    import re
    from collections.abc import Collection

_SHOWN = 60
MOST_BYTES = 1 << 49
"""Bytes of the largest address range: virtual addresses have 49 bits. CUDA programming guide, "Unified Memory"."""


@dataclass(frozen=True, slots=True)
class Field:
    """A JSON value and its path, such as `entries[0].grid[1]`. Accessors validate the value or raise BundleError."""

    path: str
    value: object

    def wrong(self, problem: str) -> BundleError:
        """Return the error for this invalid JSON value, with its path."""
        nested = isinstance(self.value, list | dict) and not problem.startswith("expected a")
        shown = "" if nested else f" is {self._shown()}"
        return BundleError(f"{self.path}{shown}: {problem}", help="the bundle is damaged; export the kernel again")

    def _shown(self) -> str:
        """Return this JSON value for an error message: a shortened string, `a list`, `an object`, or a number."""
        match self.value:
            case str(text) if len(text) > _SHOWN:
                return f"{text[:_SHOWN]!r}…"
            case int(number) if abs(number) >> 64:
                return "an integer of more than 64 bits"
            case str() | int() | float() | None:
                return repr(self.value)
            case list():
                return "a list"
            case _:
                return "an object"

    def members(self, names: Collection[str]) -> dict[str, Field]:
        """Return the members of a JSON object, which must have exactly these `names`."""
        value = self.value
        if not isinstance(value, dict):
            raise self.wrong("expected an object")
        found = cast("dict[str, object]", value)
        missing = [name for name in names if name not in found]
        if missing:
            raise self.wrong(f"missing members: {', '.join(missing)}")
        unknown = sorted(name for name in found if name not in names)
        if unknown:
            raise self.wrong(f"unknown member {unknown[0][:_SHOWN]!r}")
        return {name: Field(f"{self.path}.{name}".lstrip("."), found[name]) for name in names}

    def pairs(self, most: int) -> list[tuple[str, Field]]:
        """Return the members of a JSON object with any names, at most `most` members."""
        value = self.value
        if not isinstance(value, dict):
            raise self.wrong("expected an object")
        found = cast("dict[str, object]", value)
        if len(found) > most:
            raise self.wrong(f"the object has {len(found)} members, the maximum is {most}")
        return [(name, Field(f"{self.path}.{name}", member)) for name, member in found.items()]

    def items(self, most: int, least: int = 0) -> list[Field]:
        """Return the items of a JSON list, which must have `least` to `most` items."""
        value = self.value
        if not isinstance(value, list):
            raise self.wrong("expected a list")
        found = cast("list[object]", value)
        if not least <= len(found) <= most:
            raise self.wrong(f"the list has {len(found)} items, expected {least} to {most}")
        return [Field(f"{self.path}[{index}]", item) for index, item in enumerate(found)]

    def integer(self, low: int, high: int) -> int:
        """Return this JSON value, which must be an integer from `low` to `high` (inclusive)."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong("expected an integer")
        if not low <= value <= high:
            raise self.wrong(f"expected {low} to {high}")
        return value

    def text(self, most: int, pattern: re.Pattern[str] | None = None) -> str:
        """Return this JSON value, which must be a string of at most `most` characters that fully matches `pattern`."""
        if not isinstance(self.value, str):
            raise self.wrong("expected a string")
        if len(self.value) > most:
            raise self.wrong(f"the string has {len(self.value)} characters, the maximum is {most}")
        if pattern is not None and not pattern.fullmatch(self.value):
            raise self.wrong("the string is empty or has invalid characters")
        return self.value

    def choice(self, words: Collection[str]) -> str:
        """Return this JSON value, which must be one of the strings `words`."""
        if not isinstance(self.value, str) or self.value not in words:
            raise self.wrong(f"expected one of {', '.join(words)}")
        return self.value
