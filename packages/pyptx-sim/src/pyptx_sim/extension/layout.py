"""Element layouts in memory, such as swizzles, that the writer and the reader of the bytes must share."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["AccessLayout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessLayout:
    """Layout of the elements that an asynchronous operation accesses; equal by `name`, `row` and `base`.

    `name` is for messages: "a swizzle of 64 bytes". `row` is the row of a swizzle pattern at which the elements start;
    `base` is the row of addresses at which the pattern starts, if it is not at a multiple of the pattern's size. A read
    whose layout differs from that of the asynchronous write breaks the reader's rule `mismatch`, which the extension
    must define. `user` names the reading or writing operations in messages.
    """

    name: str
    mismatch: str = field(compare=False)
    user: str = field(default="asynchronous operation", compare=False)
    row: int = 0
    base: int = 0

    def __str__(self) -> str:
        """Return the layout as text: `128B swizzle from row 3 with base offset 1`."""
        row = f" from row {self.row}" if self.row else ""
        return f"{self.name}{row}" + (f" with base offset {self.base}" if self.base else "")
