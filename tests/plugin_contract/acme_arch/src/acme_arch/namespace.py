"""`ptx.acme`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.tracing.trace import active

if TYPE_CHECKING:
    from pyptx_dsl.reg import Reg


__tracebackhide__ = True  # an error in a call of these is shown at the caller's line


class Acme:
    """The instructions of acme_1."""

    def frob(self, d: Reg, a: Reg | int, *, pred: object = None) -> Reg:
        """Emit acme.frob.b32: d becomes a with its bits in reverse order, plus one. One instruction."""
        active().emit(("acme", "frob", "b32"), (d, a), pred)
        return d
