"""Targets on which a module is legal, and the errors on the other targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.check import check_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_ir.isa.modules.diagnostic import Diagnostic
    from pyptx_ir.syntax.nodes import Module

# Number of the oldest target of current ptxas: sm_75.
_OLDEST = 75
_NAMED = 6  # maximum line numbers in a report of a requirement ("… needs sm_90 or later")


@dataclass(frozen=True, slots=True)
class Portability:
    """Result for one target: whether a module is legal on it; if not, all errors on it, in text order."""

    target: str
    obstacles: tuple[Diagnostic, ...] = ()

    @property
    def obstacle(self) -> Diagnostic | None:
        """First error on the target, or None."""
        return next(iter(self.obstacles), None)

    @property
    def ok(self) -> bool:
        """Whether the module is legal on the target."""
        return not self.obstacles

    def as_json(self) -> dict[str, int | str | bool]:
        """Return a table row: target, result, position and reason of the first error, number of errors.

        Numbers are zero and texts empty if the module is legal.
        """
        fault = self.obstacle
        return {
            "target": self.target,
            "ok": fault is None,
            "line": fault.line if fault else 0,
            "column": fault.column if fault else 0,
            "code": fault.code if fault else "",
            "message": fault.message if fault else "",
            "help": fault.help if fault else "",
            "obstacles": len(self.obstacles),
        }


def portability(module: Module, targets: Iterable[str] | None = None) -> tuple[Portability, ...]:
    """Check a module for each target, by default for all targets of current ptxas, in the order of the target table."""
    return tuple(Portability(name, _obstacles(module, name)) for name in (targets or present_targets()))


def _obstacles(module: Module, target: str) -> tuple[Diagnostic, ...]:
    """Return the module's errors on a target; errors about a too low `.version` only if all errors are of this kind."""
    errors = tuple(found for found in check_module(module, target) if found.is_error)
    lasting = tuple(found for found in errors if found.code != "target-version")
    return lasting or errors


def present_targets() -> tuple[str, ...]:
    """Return the names of all targets that are not retired or renamed, including those of plugins."""
    from pyptx_ir.plugins.manager import manager

    return tuple(row.name for row in manager().targets() if row.number >= _OLDEST and row.until is None)


def table(rows: Sequence[Portability]) -> str:
    """Return the results as a table: target, yes or no, line, reason."""
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
    """Return, as text, each requirement ("… needs sm_90") with its first lines and the targets that lack it."""
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
    """Return the message of an error on a target, without the target's name."""
    return fault.message.removesuffix(f"; the target is {row.target}")


def _listed(lines: set[int]) -> str:
    first = ", ".join(map(str, sorted(lines)[:_NAMED]))
    return f"line {first}" if len(lines) == 1 else f"lines {first}{', …' if len(lines) > _NAMED else ''}"


def _who(targets: Sequence[str], rows: Sequence[Portability]) -> str:
    """Return the targets that lack a feature, or the targets that have it if these are fewer."""
    having = [row.target for row in rows if row.target not in targets]
    if len(targets) <= len(having):
        return f"not on {', '.join(targets)}"
    return f"only on {', '.join(having)}" if having else "not on any target"
