"""Where the statements of a module were written, for tools that compare what they print with what it emits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.modules.builder import ModuleBuilder
    from pyptx_dsl.origin import Recorder
    from pyptx_dsl.tracing.finish import Line

__all__ = ["Written", "places_of"]


@dataclass(frozen=True, slots=True)
class Written:
    """The statements and braces of a body, each with its site, and what knows the sites."""

    lines: Sequence[Line]
    recorder: Recorder


def places_of(module: ModuleBuilder) -> list[list[tuple[str, int] | None]]:
    """Return where each statement and brace was written, for each body of a function, in the order of the text.

    A place is the file and the line in the decorated function, whatever it called there; None for declarations that
    nobody wrote. The last one of a body is that of its closing brace.
    """
    return [
        [None if site is None else body.recorder.entry(site) for *_, site in body.lines]
        for body in module._written  # noqa: SLF001  of this package
    ]
