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
_NAMED = 6  # lines named of those that need the same


@dataclass(frozen=True, slots=True)
class Portability:
    """Whether a module is legal on a target; if not, all that prevents it, in the order of its text."""

    target: str
    obstacles: tuple[Diagnostic, ...] = ()

    @property
    def obstacle(self) -> Diagnostic | None:
        """The first of them."""
        return next(iter(self.obstacles), None)

    @property
    def ok(self) -> bool:
        """Tell whether nothing prevents it."""
        return not self.obstacles

    def as_json(self) -> dict[str, int | str | bool]:
        """Return target and verdict, the place and reason of the first obstacle, and how many there are.

        Numbers are zero and texts empty where the module is legal.
        """
        fault = self.obstacle
        return {
            "target": self.target,
            "ok": fault is None,
            "line": fault.line if fault else 0,
            "column": fault.column if fault else 0,
            "code": fault.code if fault else "",
            "message": fault.message if fault else "",
            "hint": fault.hint if fault else "",
            "obstacles": len(self.obstacles),
        }


def portability(module: Module, targets: Iterable[str] | None = None) -> tuple[Portability, ...]:
    """Judge a module for each target, by default for all that a present ptxas compiles for, in the lattice's order."""
    return tuple(Portability(name, _obstacles(module, name)) for name in (targets or present_targets()))


def _obstacles(module: Module, target: str) -> tuple[Diagnostic, ...]:
    """Return the errors; what a higher `.version` would mend only if nothing else prevents the module."""
    errors = tuple(found for found in check_module(module, target) if found.is_error)
    lasting = tuple(found for found in errors if found.code != "target-version")
    return lasting or errors


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
            more = f" (and {len(row.obstacles) - 1} more)" if len(row.obstacles) > 1 else ""
            lines.append(f"{row.target:<{width}}  no  {row.obstacle.line:>5}  {_reason(row, row.obstacle)}{more}")
    return "\n".join(lines)


def needs(rows: Sequence[Portability]) -> str:
    """Lay out what of the module some targets lack, each once: the first lines, what it is and needs, who lacks it."""
    lines: dict[str, set[int]] = {}
    lacking: dict[str, list[str]] = {}
    for row in rows:
        for fault in row.obstacles:
            if fault.message != _reason(row, fault):
                lines.setdefault(_reason(row, fault), set()).add(fault.line)
                targets = lacking.setdefault(_reason(row, fault), [])
                targets += [row.target] * (row.target not in targets)
    order = sorted(lines, key=lambda reason: min(lines[reason]))
    return "\n".join(f"{_listed(lines[each])}: {each}\n    {_who(lacking[each], rows)}" for each in order)


def _reason(row: Portability, fault: Diagnostic) -> str:
    """Return what is wrong, without the target that the row is of."""
    return fault.message.removesuffix(f"; the target is {row.target}")


def _listed(lines: set[int]) -> str:
    first = ", ".join(map(str, sorted(lines)[:_NAMED]))
    return f"line {first}" if len(lines) == 1 else f"lines {first}{', …' if len(lines) > _NAMED else ''}"


def _who(targets: Sequence[str], rows: Sequence[Portability]) -> str:
    """Say which targets lack something, or which have it where these are fewer."""
    having = [row.target for row in rows if row.target not in targets]
    if len(targets) <= len(having):
        return f"not on {', '.join(targets)}"
    return f"only on {', '.join(having)}" if having else "on none of them"
