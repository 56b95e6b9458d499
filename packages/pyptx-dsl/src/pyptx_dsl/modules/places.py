"""Where the statements of a module were written, for tools that compare what they print with what it emits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_dsl.modules.builder import ModuleBuilder

__all__ = ["places_of"]


def places_of(module: ModuleBuilder) -> list[list[tuple[str, int] | None]]:
    """Return where each statement and brace was written, for each body of a function, in the order of the text.

    A place is the file and the line in the decorated function, whatever it called there; None for declarations that
    nobody wrote. The last one of a body is that of its closing brace.
    """
    statements = module._statements  # noqa: SLF001  of this package
    return [
        [statements.recorder.entry(site) if site else None for site in sites] for sites in statements.sites_of_bodies()
    ]
