"""Compression of long PTX texts, such as initializers of thousands of elements, to short string literals."""

from __future__ import annotations

import base64
import binascii
import zlib

from pyptx_dsl.errors import OperandError

__all__ = ["compress", "decompress"]


def compress(text: str) -> str:
    """Return a text as ASCII for `decompress`, without quotes and backslashes.

    `compress("{" + ", ".join(map(str, table)) + "}")` is a table of numbers, to be pasted as
    `init=decompress("…")`. Python's zlib at its highest level, in base 85.
    """
    return base64.b85encode(zlib.compress(text.encode("utf-8", "surrogateescape"), 9)).decode("ascii")


def decompress(text: str) -> str:
    """Return the text that `compress` compressed; raise OperandError for text that `compress` does not produce."""
    try:
        return zlib.decompress(base64.b85decode(text)).decode("utf-8", "surrogateescape")
    except (ValueError, binascii.Error, zlib.error) as error:
        raise OperandError(f"invalid compressed text: {error}", help="paste the result of pyptx.compress") from None
