"""Programs that have failed, shrunk: each by what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .programs import Program

CASES: Final[dict[str, Program]] = {}
