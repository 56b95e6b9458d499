"""The rules of `pyptx check`, NVIDIA's and those of plugins, sorted by the statements that they check."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.codes import codes
from pyptx_ir.plugins.caches import until_plugins_change
from pyptx_ir.plugins.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyptx_ir.isa.check_rows import CheckRule
    from pyptx_ir.syntax.nodes import Statement


@dataclass(frozen=True, slots=True)
class Checks:
    """Checks of a statement by its class, of a valid instruction by the first word of its opcode, and of a module.

    Rules are in the order of registration.
    """

    by_kind: Mapping[type[Statement], tuple[Callable[..., None], ...]]
    by_opcode: Mapping[str, tuple[Callable[..., None], ...]]
    of_module: tuple[Callable[..., None], ...]


@until_plugins_change(maxsize=1)
def every_check() -> Checks:
    """Return the checks of all rules of `pyptx check`."""
    return _sorted(_rules())


@until_plugins_change()
def checks_for(wanted: frozenset[str]) -> Checks:
    """Return the checks of the rules that may report at least one of these codes."""
    return _sorted(rule for rule in _rules() if not rule.codes.isdisjoint(wanted))


def _rules() -> tuple[CheckRule, ...]:
    """Return all rules of `pyptx check`; raise PluginError for a rule with a code that no plugin defines."""
    from pyptx_ir.plugins.manager import manager

    rules = manager().check_rules()
    for rule in rules:
        unknown = sorted(rule.codes - codes().keys())
        if unknown:
            raise PluginError(
                f"unknown code {' and '.join(map(repr, unknown))} in the pyptx check rule {rule.name!r}",
                help="provide a row for the code with the hook pyptx_check_codes",
            )
    return rules


def _sorted(rules: Iterable[CheckRule]) -> Checks:
    by_kind: defaultdict[type[Statement], list[Callable[..., None]]] = defaultdict(list)
    by_opcode: defaultdict[str, list[Callable[..., None]]] = defaultdict(list)
    of_module: list[Callable[..., None]] = []
    for rule in rules:
        for opcode in rule.opcodes:
            by_opcode[opcode].append(rule.check)
        for kind in () if rule.opcodes else rule.on:
            by_kind[kind].append(rule.check)
        if not rule.opcodes and not rule.on:
            of_module.append(rule.check)
    return Checks(
        {kind: tuple(checks) for kind, checks in by_kind.items()},
        {opcode: tuple(checks) for opcode, checks in by_opcode.items()},
        tuple(of_module),
    )
