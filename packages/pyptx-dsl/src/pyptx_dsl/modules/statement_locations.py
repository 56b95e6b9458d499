"""Source locations of a module's statements, for tools that compare their output with the emitted text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_dsl.modules.builder import ModuleBuilder

__all__ = ["places_of"]


def places_of(module: ModuleBuilder) -> list[list[tuple[str, int] | None]]:
    """Return the location of each statement and brace, for each function body, in the order of the text.

    A location is the file and the line in the decorated function, also for statements emitted by functions that it
    calls; None for generated declarations. The last location of a body is that of its closing brace.
    """
    statements = module._statements  # noqa: SLF001  of this package
    return [
        [statements.recorder.entry(site) if site else None for site in sites] for sites in statements.sites_of_bodies()
    ]
