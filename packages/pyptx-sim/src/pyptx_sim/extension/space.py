"""Memories beyond those of ordinary PTX, and the ways by which memory is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ASYNC", "Proxy", "Space", "name_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Space:
    """A memory that every block has besides those of ordinary PTX: `size` bytes, from address 0 on, new for each block.

    What is read and was never written is found as in shared memory. Two accesses that nothing orders break the rule
    `<name>-race`, which the extension has to have. `describe(address)` says in the user's words where an address lies.
    """

    name: str
    size: int
    describe: Callable[[int], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proxy:
    """A way by which asynchronous work reaches memory, other than the generic one. Manual: "Proxies".

    Through it, only that is seen of what warps have written which a fence of theirs has shown it (`Turn.show`); work
    that reads or writes what it was not shown breaks the rule `unfenced`, which the extension has to have.

    `one_way`: work only reads through it, and its fences are those of one direction. Who has written releases that to
    the proxy (`Turn.release_to`), and who issues work has to acquire, behind that, the bytes which are read through it
    (`Turn.acquire_through`). `reads` says in messages what it reads there: "the tensor map".
    """

    name: str
    unfenced: str
    one_way: bool = False
    reads: str = "what lies at"


ASYNC: Final = Proxy(name="async", unfenced="missing-proxy-fence")
"""That of bulk copies, tensor copies and products. Manual: "Async Proxy"."""


def name_of(space: Space | str) -> str:
    """Return the name of a memory that is given by it, or as what an extension brings."""
    return space if isinstance(space, str) else space.name
