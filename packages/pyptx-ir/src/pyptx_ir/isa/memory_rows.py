"""Memories of a CTA in which DSL kernels allocate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.isa.target_rows import TargetRow


@value
class Memory(Value):
    """A memory of a CTA, and the properties of an allocation in it.

    `space` is its name, `words` its name in messages. `limit(target)` is the number of bytes per CTA, 0 if the target
    lacks the memory. An allocation is aligned to `alignment` unless it requests another alignment. If `declared`, it is
    a variable of the state space `.space`; otherwise it is an offset, and nothing is emitted. `help` is the advice if
    the memory is full.
    """

    space: str
    words: str
    limit: Callable[[TargetRow], int]
    alignment: int = 1
    declared: bool = False
    help: str | None = None


MEMORIES: Final = (
    Memory(
        "shared",
        "shared memory",
        lambda target: target.shared_optin,
        alignment=128,  # bytes; bulk tensor copies require it. Manual: "Tensors", "cp.async.bulk.tensor"
        declared=True,
        help="use fewer stages or smaller tiles",
    ),
)
