"""The memories of a block in which kernels of the DSL allocate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.isa.target_rows import TargetRow


@value
class Memory(Value):
    """A memory that a block has, and what an allocation in it is.

    `space` is its name, `words` what messages call it. `limit(target)` is how many bytes a block has, 0 where the
    target has no such memory. An allocation begins at a multiple of `alignment`, unless it asks for another one. Where
    `declared`, it is a variable of the state space `.space`; elsewhere it is its offset, and nothing is written.
    `hint` is what to do when the memory is full.
    """

    space: str
    words: str
    limit: Callable[[TargetRow], int]
    alignment: int = 1
    declared: bool = False
    hint: str | None = None


MEMORIES: Final = (
    Memory(
        "shared",
        "shared memory",
        lambda target: target.shared_optin,
        alignment=128,  # what bulk tensor copies want of their tiles. Manual: "Tensors", "cp.async.bulk.tensor"
        declared=True,
        hint="use fewer stages or smaller tiles",
    ),
)
