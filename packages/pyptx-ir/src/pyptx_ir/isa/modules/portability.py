"""On which targets a module is legal, and what prevents it on the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.check import check_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_ir.isa.modules.diagnostic import Diagnostic
    from pyptx_ir.syntax.nodes import Module

# Older devices than these no present ptxas compiles for.
_OLDEST = 75


@dataclass(frozen=True, slots=True)
class Portability:
    """Whether a module is legal on a target; if not, the first thing in its text that prevents it."""

    target: str
    obstacle: Diagnostic | None = None

    @property
    def ok(self) -> bool:
        """Tell whether nothing prevents it."""
        return self.obstacle is None

    def as_json(self) -> dict[str, int | str | bool]:
        """Return target and verdict, and the place and reason (zero and empty where the module is legal)."""
        fault = self.obstacle
        return {
            "target": self.target,
            "ok": fault is None,
            "line": fault.line if fault else 0,
            "column": fault.column if fault else 0,
            "code": fault.code if fault else "",
            "message": fault.message if fault else "",
            "hint": fault.hint if fault else "",
        }


def portability(module: Module, targets: Iterable[str] | None = None) -> tuple[Portability, ...]:
    """Judge a module for each target, by default for all that a present ptxas compiles for, in the lattice's order."""
    return tuple(Portability(name, _obstacle(module, name)) for name in (targets or present_targets()))


def _obstacle(module: Module, target: str) -> Diagnostic | None:
    """Return the first error; what a higher `.version` would mend only if nothing else prevents the module."""
    errors = [found for found in check_module(module, target) if found.is_error]
    lasting = [found for found in errors if found.code != "target-version"]
    return next(iter(lasting or errors), None)


def present_targets() -> tuple[str, ...]:
    """Return the names of all targets that are not retired or renamed, those of plugins included."""
    from pyptx_ir.plugins.manager import manager

    return tuple(row.name for row in manager().targets() if row.number >= _OLDEST and row.until is None)


def table(rows: Sequence[Portability]) -> str:
    """Lay the rows out in columns: target, yes or no, line, reason."""
    width = max(len(row.target) for row in rows)
    lines = [f"{'target':<{width}}  ok   line  reason"]
    for row in rows:
        if row.obstacle is None:
            lines.append(f"{row.target:<{width}}  yes")
        else:
            lines.append(f"{row.target:<{width}}  no  {row.obstacle.line:>5}  {row.obstacle.message}")
    return "\n".join(lines)
