"""Text of a call's fixed keywords, an argument of the kernel's operator in a graph: `BM=128, dtype=f16`.

Template values become Python literals, so that a graph can be read, compared, and saved. PTX types are written by name,
as are `inf` and `nan`. A value without a literal (a function, an array) is written as `kept('5d0c…')`: a random key in
a table of values that the kernel's operator stores. The key is valid in this process only, while the operator lives.

In a program that may be saved, the text begins with the kernel's fingerprint: `'3.11 9f86…', BM=128`. The fingerprint
is compared when the program runs.
"""

from __future__ import annotations

import ast
import math
import secrets
import sys
import threading
from typing import TYPE_CHECKING, TypeGuard

from pyptx_dsl.errors import KeywordError
from pyptx_dsl.types import TYPES, PtxType
from pyptx_torch.errors import KernelMismatchError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TYPES = {dtype.name: dtype for dtype in TYPES}
_NUMBERS = {"inf": math.inf, "nan": math.nan}
_LITERALS = frozenset({bool, int, float, str, bytes, type(None)})
_KEPT = "kept"


class Literals:
    """Writes the fixed keywords of one kernel's calls as text, and parses them."""

    def __init__(self, kernel: str, digest: str = "", *, whole: bool = True) -> None:
        """Create an empty table of values; errors name `kernel`, and `digest` is its fingerprint's digest.

        A digest that does not cover the `whole` kernel is valid in this process only.
        """
        self._kernel = kernel
        self._python = "{}.{}".format(*sys.version_info)
        self._digest = digest
        self._fingerprint = repr(f"{self._python} {digest}{'' if whole else f' {secrets.token_hex(8)}'}")
        self._own = {self._fingerprint}
        self._chosen = False
        self._kept: dict[str, object] = {}
        self._lock = threading.Lock()

    def name_is_chosen(self) -> None:
        """Accept programs saved with this registered kernel name, even if the digests cannot be compared.

        Digests do not cover some values, and differ between minor versions of Python, whose bytecode differs.
        """
        self._chosen = True
        self._fingerprint = repr(f"{self._python} {self._digest}")
        self._own.add(self._fingerprint)

    def spell(self, keywords: Mapping[str, object], *, signed: bool = False) -> str:
        """Return keywords as text, in their order; `signed` text begins with the kernel's fingerprint."""
        texts = [f"{name}={self._value(value)}" for name, value in keywords.items()]
        return ", ".join([self._fingerprint, *texts] if signed else texts)

    def check(self, keywords: Mapping[str, object]) -> None:
        """Raise KeywordError for a keyword value that cannot be written as a literal, for use in another process."""
        for name, value in keywords.items():
            if not _is_literal(value):
                raise KeywordError(
                    f"{self._kernel}: {name} of an exported program must be a literal, got {type(value).__name__}",
                    help="pass numbers, strings, types, and tuples of them; or define a kernel that captures the value",
                )

    def read(self, text: str) -> dict[str, object]:
        """Return the keywords parsed from text.

        Raises KeywordError for a key of another process's table, KernelMismatchError for another fingerprint.
        """
        if not text or text == self._fingerprint:
            return {}
        call = ast.parse(f"keywords({text})", mode="eval").body
        assert isinstance(call, ast.Call)  # noqa: S101  the text is written as a call
        for signature in call.args:
            self._compare(ast.unparse(signature))
        return {keyword.arg: self._read(keyword.value) for keyword in call.keywords if keyword.arg is not None}

    def _compare(self, signature: str) -> None:
        """Raise KernelMismatchError if a saved program's fingerprint is not this kernel's."""
        python = signature[1:-1].partition(" ")[0]
        if signature in self._own or (self._chosen and python != self._python):
            return
        raise KernelMismatchError(
            f"{self._kernel}: this program was saved with another kernel of this name, or another version of it",
            help="export the program again; or register each kernel under its own name, pyptx_torch.register(kernel, "
            "name=…), before saving and before loading",
        )

    def _value(self, value: object) -> str:
        if isinstance(value, PtxType):
            return value.name
        if type(value) in _LITERALS:
            return repr(value)
        if _is_plain(value, list):
            return f"[{', '.join(map(self._value, value))}]"
        if _is_plain(value, tuple):
            return f"({''.join(f'{self._value(item)}, ' for item in value)})"
        return f"{_KEPT}({self._keep(value)!r})"

    def _keep(self, value: object) -> str:
        with self._lock:
            for key, known in self._kept.items():
                if known is value:
                    return key
            # A random key differs from the keys of other processes, whose text is invalid here; a fork keeps its keys.
            key = secrets.token_hex(8)
            self._kept[key] = value
            return key

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
            case ast.Call(args=[ast.Constant(value=key)]):
                return self._recall(key)
            case _:
                return ast.literal_eval(node)

    def _recall(self, key: object) -> object:
        if isinstance(key, str) and key in self._kept:
            return self._kept[key]
        raise KeywordError(
            f"{self._kernel}: this graph refers to a template value of another process",
            help="use numbers, strings, types, and tuples of them in saved programs",
        )


def _is_literal(value: object) -> bool:
    """Return whether a value and all its items are written as literals."""
    if isinstance(value, PtxType) or type(value) in _LITERALS:
        return True
    return (_is_plain(value, list) or _is_plain(value, tuple)) and all(map(_is_literal, value))


def _is_plain(value: object, kind: type[list[object] | tuple[object, ...]]) -> TypeGuard[Sequence[object]]:
    """Return whether a value is exactly a list or tuple, not a subclass such as a named tuple."""
    return type(value) is kind
