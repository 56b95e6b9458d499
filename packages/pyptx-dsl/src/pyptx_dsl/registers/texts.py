"""Validation of names, comments and quoted strings that users pass."""

from __future__ import annotations

import re

from pyptx_dsl.errors import OperandError

__all__ = ["identifier", "text"]

_NAME = re.compile(r"([A-Za-z][\w$]*|[_$%][\w$]+)\Z", re.ASCII)


def text(what: str, value: object) -> str:
    """Return `value` if it is a string; else raise OperandError, with the value's purpose `what` in the message."""
    if isinstance(value, str):
        return value
    raise OperandError(f"{what} must be a string, got {value!r}", help="pass a string")


def identifier(name: object, what: str) -> str:
    """Return `name` if it is a valid PTX identifier; else raise OperandError. Manual: "Identifiers"."""
    if not isinstance(name, str):
        raise OperandError(f"the name of {what} must be a string, got {name!r}", help="pass a string")
    if not _NAME.match(name):
        raise OperandError(
            f"invalid name {name!r} of {what}", help="use letters, digits, _ and $, without a leading digit"
        )
    return name
