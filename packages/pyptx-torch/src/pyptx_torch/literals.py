"""A call's fixed keywords as the text that an operator carries in a graph: `BM=128, dtype=f16`.

Template values become Python literals, so that a graph can be read, compared, and saved. PTX types are spelt by their
names, `inf` and `nan` too. What has no literal (a function, an array) stands as `kept(3)`: a number in the table of
the kernel's operator, which lives as long as that, and in this process only.
"""

from __future__ import annotations

import ast
import math
import threading
from typing import TYPE_CHECKING, TypeGuard

from pyptx_dsl.errors import KeywordError
from pyptx_dsl.types import TYPES, PtxType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TYPES = {dtype.name: dtype for dtype in TYPES}
_NUMBERS = {"inf": math.inf, "nan": math.nan}
_KEPT = "kept"


class Literals:
    """Spells the fixed keywords of one kernel's calls, and reads them again."""

    def __init__(self, kernel: str) -> None:
        """Start with an empty table; `kernel` is named in errors."""
        self._kernel = kernel
        self._kept: list[object] = []
        self._lock = threading.Lock()

    def spell(self, keywords: Mapping[str, object]) -> str:
        """Return the text of keywords, in their order."""
        return ", ".join(f"{name}={self._value(value)}" for name, value in keywords.items())

    def read(self, text: str) -> dict[str, object]:
        """Return the keywords of a text; raise KeywordError for a value that another process kept."""
        if not text:
            return {}
        call = ast.parse(f"keywords({text})", mode="eval").body
        assert isinstance(call, ast.Call)  # noqa: S101  what was parsed is spelt as one
        return {keyword.arg: self._read(keyword.value) for keyword in call.keywords if keyword.arg is not None}

    def _value(self, value: object) -> str:
        if isinstance(value, PtxType):
            return value.name
        if type(value) in {bool, int, float, str, bytes, type(None)}:
            return repr(value)
        if _is_plain(value, list):
            return f"[{', '.join(map(self._value, value))}]"
        if _is_plain(value, tuple):
            return f"({''.join(f'{self._value(item)}, ' for item in value)})"
        return f"{_KEPT}({self._keep(value)})"

    def _keep(self, value: object) -> int:
        with self._lock:
            for number, known in enumerate(self._kept):
                if known is value:
                    return number
            self._kept.append(value)
            return len(self._kept) - 1

    def _read(self, node: ast.expr) -> object:
        match node:
            case ast.Name(id=name):
                return _TYPES.get(name, _NUMBERS.get(name))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id="inf")):
                return -math.inf
            case ast.List(elts=items):
                return [self._read(item) for item in items]
            case ast.Tuple(elts=items):
                return tuple(self._read(item) for item in items)
            case ast.Call(args=[ast.Constant(value=int(number))]):
                return self._recall(number)
            case _:
                return ast.literal_eval(node)

    def _recall(self, number: int) -> object:
        if number < len(self._kept):
            return self._kept[number]
        raise KeywordError(
            f"{self._kernel}: this graph was made with a template value that another process kept",
            hint="pass numbers, strings, types, and tuples of them to what is saved",
        )


def _is_plain(value: object, kind: type[list[object] | tuple[object, ...]]) -> TypeGuard[Sequence[object]]:
    """Tell a list or tuple from what merely inherits from it, such as a named tuple."""
    return type(value) is kind
