"""Element layouts in memory, such as swizzles, that the writer and the reader of the bytes must share."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["AccessLayout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessLayout:
    """Layout of the elements that an asynchronous operation accesses. Two layouts are equal if their names are equal.

    `name` is for messages: "a swizzle of 64 bytes". A read whose layout differs from that of the asynchronous write
    breaks the reader's rule `mismatch`, which the extension must define. `user` names the reading or writing operations
    in messages.
    """

    name: str
    mismatch: str = field(compare=False)
    user: str = field(default="asynchronous operation", compare=False)
