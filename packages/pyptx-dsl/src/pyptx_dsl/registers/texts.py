"""Validation of names, comments and quoted strings that users pass."""

from __future__ import annotations

import re

from pyptx_dsl.errors import OperandError

__all__ = ["identifier", "text"]

_NAME = re.compile(r"([A-Za-z][\w$]*|[_$%][\w$]+)\Z", re.ASCII)


def text(what: str, value: object) -> str:
    """Return a string; raise OperandError for anything else, naming its purpose `what`."""
    if isinstance(value, str):
        return value
    raise OperandError(f"{what} is text, not {value!r}", help="pass a string")


def identifier(name: object, what: str) -> str:
    """Return a name; raise OperandError for an invalid PTX identifier. Manual: "Identifiers"."""
    if not isinstance(name, str):
        raise OperandError(f"{what} has a name, not {name!r}", help="its name is a string")
    if not _NAME.match(name):
        raise OperandError(f"{name!r} is no name of {what}", help="letters, digits, _ and $; no digit first")
    return name
