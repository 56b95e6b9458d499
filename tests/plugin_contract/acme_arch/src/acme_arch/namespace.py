"""The namespace `ptx.acme`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.tracing.trace import active

if TYPE_CHECKING:
    from pyptx_dsl.reg import Reg


__tracebackhide__ = True  # errors in these functions are reported at the caller's line


_WORD = 4  # bytes of a 32-bit word


class Acme:
    """Functions for acme_1."""

    def frob(self, d: Reg, a: Reg | int, *, pred: object = None) -> Reg:
        """Emit acme.frob.b32: d = a with its bits reversed, plus one. One instruction."""
        active().emit(("acme", "frob", "b32"), (d, a), pred)
        return d

    def vault(self, words: int) -> int:
        """Allocate words of the CTA's vault; return the address of the first word. Emits nothing."""
        trace = active("ptx.acme.vault")
        return trace.memories.of("vault").allocate(trace, words * _WORD).offset
