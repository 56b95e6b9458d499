"""`ptx.cp.async_`: asynchronous copies from global to shared memory (from sm_80).

Manual: "Asynchronous Copy: cp.async, cp.async.commit_group, cp.async.wait_group", "cp.async.mbarrier.arrive".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.completion import provided
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.instructions.missing import extension
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_arch_hopper.ptx.bulk_copy import BulkCopy, Reduce

__all__ = ["AsyncCopy", "AsyncCopyMbarrier", "Copy", "cp"]

_SIZES = {"ca": (4, 8, 16), "cg": (16,)}
_COPIES = {cache: InstructionForms(f"ptx.cp.async_.{cache}", f"cp.async.{cache}") for cache in _SIZES}
_ARRIVE = InstructionForms("ptx.cp.async_.mbarrier.arrive", "cp.async.mbarrier.arrive")


class AsyncCopyMbarrier:
    """`ptx.cp.async_.mbarrier`: arrivals at an mbarrier on completion of `cp.async` copies."""

    def arrive(
        self, mbar: object, *, noinc: bool = False, space: str | None = "shared::cta", pred: Reg | None = None
    ) -> None:
        """Emit `cp.async.mbarrier.arrive{.noinc}.shared::cta.b64 [mbar];`: arrive after this thread's prior copies.

        Without `noinc`, the instruction first increments the pending count, so the arrival has no net effect on it.
        `space` may be `shared`, or None for a generic address.
        """
        active(repr(_ARRIVE)).emit(_ARRIVE.words(noinc=noinc, space=space), (as_address(mbar),), pred)


class AsyncCopy:
    """Copies of 4, 8 or 16 bytes per thread, and waits for them; each call emits one instruction.

    Addresses are `ptx.addr(…)`, registers, or shared allocations and their slices.
    """

    mbarrier = AsyncCopyMbarrier()

    def ca(
        self,
        smem_dst: object,
        global_src: object,
        byte_count: int,
        src_size: object | None = None,
        *,
        ignore_src: Reg | None = None,
        cache_policy: Reg | None = None,
        prefetch: str | None = None,
        space: str = "shared",
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.ca.shared.global{…} [dst], [src], byte_count{, src_size}{, policy};`, cached in L1 and L2.

        `byte_count` is 4, 8 or 16. Only `src_size` bytes (a number or a register) are read, and the other bytes at
        `dst` are set to zero. If the predicate `ignore_src` is true, all bytes at `dst` are set to zero. `prefetch` is
        `64B`, `128B` or `256B`, `space` `shared` or `shared::cta`. Raise OperandError for other sizes.
        """
        copy = (smem_dst, global_src, byte_count)
        self._copy("ca", copy, (src_size, ignore_src), cache_policy, pred, prefetch=prefetch, space=space)

    def cg(
        self,
        smem_dst: object,
        global_src: object,
        byte_count: int = 16,
        src_size: object | None = None,
        *,
        ignore_src: Reg | None = None,
        cache_policy: Reg | None = None,
        prefetch: str | None = None,
        space: str = "shared",
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.cg.shared.global{…} [dst], [src], 16{, src_size}{, cache_policy};`, cached in L2 only.

        The arguments are those of `ca`, but `byte_count` is always 16.
        """
        copy = (smem_dst, global_src, byte_count)
        self._copy("cg", copy, (src_size, ignore_src), cache_policy, pred, prefetch=prefetch, space=space)

    def _copy(
        self,
        cache: str,
        copy: tuple[object, object, object],
        read: tuple[object | None, Reg | None],
        policy: Reg | None,
        pred: Reg | None,
        **modifiers: str | None,
    ) -> None:
        size = _size(cache, copy[2])
        src_size, ignore_src = read
        if src_size is not None and ignore_src is not None:
            raise OperandError(f"ptx.cp.async_.{cache}: src_size and ignore_src are mutually exclusive")
        words = _COPIES[cache].words(cache_hint=policy is not None, **modifiers)
        rest = [value for value in (_source_size(src_size, size), ignore_src, policy) if value is not None]
        operands = (as_address(copy[0]), as_address(copy[1]), size, *rest)
        active(f"ptx.cp.async_.{cache}").emit(words, operands, pred)

    def commit_group(self, *, pred: Reg | None = None) -> None:
        """Emit `cp.async.commit_group;`: this thread's copies since the previous commit form a group."""
        active("ptx.cp.async_.commit_group").emit(("cp", "async", "commit_group"), (), pred)

    def wait_group(self, n: int, *, pred: Reg | None = None) -> None:
        """Emit `cp.async.wait_group n;`: wait until at most `n` of this thread's groups are outstanding."""
        groups = as_integer(n)
        if groups is None or groups < 0:
            raise OperandError(f"cp.async.wait_group needs a number of groups, got {n!r}")
        active("ptx.cp.async_.wait_group").emit(("cp", "async", "wait_group"), (groups,), pred)

    def wait_all(self, *, pred: Reg | None = None) -> None:
        """Emit `cp.async.wait_all;`: wait for completion of all of this thread's copies."""
        active("ptx.cp.async_.wait_all").emit(("cp", "async", "wait_all"), (), pred)

    if TYPE_CHECKING:
        bulk: BulkCopy
    else:

        def __getattr__(self, name: str) -> object:
            """Return an attribute that a plugin adds to `ptx.cp.async_`: `bulk`, the TMA copies."""
            return extension("cp.async_", name)

        def __dir__(self) -> list[str]:
            """Return the attribute names that this class and installed plugins define."""
            return sorted({*super().__dir__(), *provided("cp.async_")})


def _size(cache: str, value: object) -> int:
    size = None if isinstance(value, Reg) else as_integer(value)
    if size is None or size not in _SIZES[cache]:
        allowed = ", ".join(map(str, _SIZES[cache]))
        raise OperandError(
            f"cp.async.{cache} copies {allowed} bytes, got {value!r}", help="split the copy, or use ld and st"
        )
    return size


def _source_size(value: object | None, size: int) -> object | None:
    number = None if value is None or isinstance(value, Reg) else as_integer(value)
    if number is not None and not 0 <= number <= size:
        raise OperandError(f"src_size must be 0 to {size} for a copy of {size} bytes, got {value!r}")
    return value


class Copy:
    """`ptx.cp`: asynchronous copies, `ptx.cp.async_` and those of plugins."""

    async_ = AsyncCopy()

    if TYPE_CHECKING:
        async_bulk: BulkCopy
        reduce: Reduce
    else:

        def __getattr__(self, name: str) -> object:
            """Return an attribute that a plugin adds to `ptx.cp`: `async_bulk`, `reduce`."""
            return extension("cp", name)

        def __dir__(self) -> list[str]:
            """Return the attribute names that this class and installed plugins define."""
            return sorted({*super().__dir__(), *provided("cp")})


cp = Copy()
