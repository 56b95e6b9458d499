"""Memory fences and `nanosleep`. Manual: "Parallel Synchronization and Communication Instructions: membar, fence"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.instructions.completion import provided
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, choice
from pyptx_dsl.instructions.missing import extension
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_arch_hopper.ptx.fences import ProvidedFences
    from pyptx_dsl.registers.register import Reg
else:
    ProvidedFences = object

__all__ = ["Fence", "FenceProxy", "fence", "membar", "nanosleep"]

_FENCE = InstructionForms("ptx.fence", "fence")
_ALIAS = InstructionForms("ptx.fence.proxy.alias_sys", "fence.proxy.alias")
_MEMBAR = InstructionForms("ptx.membar", "membar")


class FenceProxy:
    """`ptx.fence.proxy`: order accesses through different proxies."""

    def alias(self, *, pred: Reg | None = None) -> None:
        """Emit `fence.proxy.alias;`: order accesses to one memory location through different virtual addresses."""
        active("ptx.fence.proxy.alias").emit(("fence", "proxy", "alias"), (), pred)

    @emits("fence.proxy.alias.sys")
    def alias_sys(self, sem: str, *, pred: Reg | None = None) -> None:
        """Emit the one-directional `fence.proxy.alias.sem.sys;`: `sem` is `acquire` or `release` (PTX 9.4, sm_90)."""
        active("ptx.fence.proxy.alias_sys").emit(_ALIAS.words(sem=sem), (), pred)


class Fence(ProvidedFences):
    """`ptx.fence("acq_rel", "gpu")` orders the memory accesses of a thread; plugins add fences between proxies."""

    proxy = FenceProxy()

    def __call__(self, sem: str | None = "acq_rel", scope: str = "gpu", *, pred: Reg | None = None) -> None:
        """Emit `fence{.sem}.scope;`.

        `sem` is `sc`, `acq_rel` (the meaning of None, too), `acquire` or `release`; `scope` is `cta`, `cluster`, `gpu`
        or `sys`.
        """
        active("ptx.fence").emit(_FENCE.words(sem=sem, scope=scope), (), pred)

    @emits("fence.acquire.sync_restrict::shared::cluster")
    def acquire_shared_cluster(self, *, pred: Reg | None = None) -> None:
        """Emit `fence.acquire.sync_restrict::shared::cluster.cluster;`: for shared memory only (PTX 8.6, sm_90)."""
        words = ("fence", "acquire", "sync_restrict::shared::cluster", "cluster")
        active("ptx.fence.acquire_shared_cluster").emit(words, (), pred)

    @emits("fence.release.sync_restrict::shared::cta")
    def release_shared_cta(self, *, pred: Reg | None = None) -> None:
        """Emit `fence.release.sync_restrict::shared::cta.cluster;`: for the CTA's shared memory (PTX 8.6, sm_90)."""
        words = ("fence", "release", "sync_restrict::shared::cta", "cluster")
        active("ptx.fence.release_shared_cta").emit(words, (), pred)

    @emits("fence.alias.sync_restrict::read.release.sys")
    def alias_release_read(self, *, pred: Reg | None = None) -> None:
        """Emit `fence.alias.sync_restrict::read.release.sys;`: order reads before writes through an alias (PTX 9.5)."""
        words = ("fence", "alias", "sync_restrict::read", "release", "sys")
        active("ptx.fence.alias_release_read").emit(words, (), pred)

    if not TYPE_CHECKING:  # not for type checkers: with `__getattr__`, they would accept any attribute

        def __getattr__(self, name: str) -> object:
            """Return a fence that a plugin adds, such as `proxy_async`."""
            return extension("fence", name)

        def __dir__(self) -> list[str]:
            """Return the attribute names that this class and installed plugins define."""
            return sorted({*super().__dir__(), *provided("fence")})


fence = Fence()


def membar(level: str = "gl", *, pred: Reg | None = None) -> None:
    """Emit `membar.level;`, the older form of `fence.sc`; `level` is `cta`, `gl` or `sys`."""
    choice("level", level, _MEMBAR.choices("level"))
    active("ptx.membar").emit(_MEMBAR.words(level=level), (), pred)


def nanosleep(nanoseconds: object, *, pred: Reg | None = None) -> None:
    """Emit `nanosleep.u32 t;`: pause for about `t` nanoseconds (a number or a register), at most 1,000,000.

    Manual: "Miscellaneous Instructions: nanosleep".
    """
    active("ptx.nanosleep").emit(("nanosleep", "u32"), (nanoseconds,), pred)
