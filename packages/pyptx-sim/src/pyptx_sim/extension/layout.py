"""How elements lie in memory, where those who write and those who read have to agree on it."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Layout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A layout by which asynchronous work writes or reads elements: two are the same if their names are.

    `name` is for messages: "a swizzle of 64 bytes". Work that reads by another layout than that by which other work
    wrote breaks the reader's rule `mismatch`, which the extension has to have. `user` says in messages whose work goes
    by it, and does not matter otherwise.
    """

    name: str
    mismatch: str = field(compare=False)
    user: str = field(default="work", compare=False)
