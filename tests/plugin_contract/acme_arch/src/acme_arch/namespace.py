"""`ptx.acme`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.tracing.trace import active

if TYPE_CHECKING:
    from pyptx_dsl.reg import Reg


__tracebackhide__ = True  # an error in a call of these is shown at the caller's line


_WORD = 4  # bytes


class Acme:
    """The instructions of acme_1."""

    def frob(self, d: Reg, a: Reg | int, *, pred: object = None) -> Reg:
        """Emit acme.frob.b32: d becomes a with its bits in reverse order, plus one. One instruction."""
        active().emit(("acme", "frob", "b32"), (d, a), pred)
        return d

    def vault(self, words: int) -> int:
        """Allocate words of the block's vault; return the address of the first. Emits nothing."""
        trace = active("ptx.acme.vault")
        return trace.memories.of("vault").allocate(trace, words * _WORD).offset
