"""Static analysis of Python source: which functions it calls, and with which of their parameters."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING

from .table import KNOBS

if TYPE_CHECKING:
    from collections.abc import Iterator


def used(source: str) -> set[tuple[str, str]]:
    """Return pairs of a knob (function that emits exact PTX) and a passed parameter, and (knob, "") for each call."""
    tree = ast.parse(source)
    modules = {name for name, value in _assigned(tree) if isinstance(value, ast.Call) and _dotted(value) == "module"}
    spread = {name: value for name, value in _assigned(tree) if isinstance(value, ast.Dict)}
    found: set[tuple[str, str]] = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            root, _, rest = _dotted(call).partition(".")
            knob = f"m.{rest}" if root in modules else _dotted(call)
            if knob in KNOBS:
                found |= {(knob, ""), *((knob, word) for word in _passed(call, knob, spread))}
    return found


def _assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from [(target.id, node.value) for target in node.targets if isinstance(target, ast.Name)]


def _dotted(call: ast.Call) -> str:
    return ast.unparse(call.func) if isinstance(call.func, ast.Name | ast.Attribute) else ""


def _passed(call: ast.Call, knob: str, spread: dict[str, ast.Dict]) -> Iterator[str]:
    """Yield the names of the parameters that a call passes: by position, by keyword, or by `**` of a dictionary."""
    names = [name for name in inspect.signature(KNOBS[knob]).parameters if name != "self"]
    for place, argument in enumerate(call.args):
        if not isinstance(argument, ast.Starred) and place < len(names):
            yield names[place]
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg
        elif isinstance(keyword.value, ast.Name) and keyword.value.id in spread:
            keys = spread[keyword.value.id].keys
            yield from [str(key.value) for key in keys if isinstance(key, ast.Constant)]
