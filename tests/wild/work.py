"""Choice of the modules of a wheel to rebuild and transpile; printing and running a large module takes seconds.

At most `MOST` modules of at most `LARGEST` bytes, spread evenly over their sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from .checks import check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .wheels import WheelModule

MOST = 30
LARGEST = 2_000_000


@dataclass(frozen=True, slots=True)
class PrintTask:
    """Module to print as Python; `unchecked` if `pyptx check` and ptxas reject it, or its target is retired."""

    text: bytes
    name: str
    unchecked: bool = False

    @classmethod
    def of(cls, module: WheelModule) -> Self:
        """Return the `PrintTask` for a module, after `pyptx check` of the module."""
        name = f"{module.file}#{module.digest[:12]}"
        verdict = check(module.text, name)
        return cls(module.text, name, verdict.refused or verdict.retired)


def chosen(modules: Sequence[WheelModule]) -> list[WheelModule]:
    """Return the modules to print: those of at most `LARGEST` bytes, `MOST` at most, spread evenly over sizes."""
    small = sorted((one for one in modules if len(one.text) <= LARGEST), key=lambda one: (len(one.text), one.digest))
    count = min(len(small), MOST)
    return [small[at * len(small) // count] for at in range(count)]
