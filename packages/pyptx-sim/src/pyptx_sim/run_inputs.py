"""Inputs of a run: modules as text or trees, launches as objects or keywords, names of checks and of numerics."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax import parse
from pyptx_ir.syntax.nodes import Module
from pyptx_sim.errors import LaunchError
from pyptx_sim.extension.registry import rules as all_rules
from pyptx_sim.launch import Launch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyptx_sim.extension.rule import Rule
    from pyptx_sim.launch import LaunchFields
    from pyptx_sim.observer import ObserverFactory

Checks: TypeAlias = "str | Iterable[str]"


def launches_of(launch: Launch | Sequence[Launch] | None, fields: LaunchFields) -> tuple[Launch, ...]:
    """Return the launches given to `run` as objects or as keywords."""
    if launch is None:
        return (Launch(**fields),)
    if isinstance(launch, Launch):
        return (replace(launch, **fields),)
    if fields or not launch:
        what = "launch fields passed in addition to several launches" if fields else "no launches"
        raise LaunchError(what, help="pass the fields to each launch: run(ptx, [Launch(…), Launch(…)])")
    return tuple(launch)


def is_exact(numerics: str) -> bool:
    """Return whether `numerics` is "exact"; LaunchError if it is neither that nor "fast"."""
    if numerics not in {"fast", "exact"}:
        raise LaunchError(f"numerics must be fast or exact, got {numerics!r}")
    return numerics == "exact"


def parsed_modules(ptx: str | Module | Sequence[str | Module]) -> tuple[Module, ...]:
    """Return modules given as PTX text or as syntax trees; the tree of a text is cached."""
    several = (ptx,) if isinstance(ptx, str | Module) else ptx
    return tuple(_parsed(each) if isinstance(each, str) else each for each in several)


@lru_cache(maxsize=32)
def _parsed(text: str) -> Module:
    return parse(text)


def observers_of(rules: Iterable[Rule]) -> list[ObserverFactory]:
    """Return the distinct factories of the checkers of `rules`."""
    return list(dict.fromkeys(rule.checker for rule in rules if rule.checker is not None))


def rules_of(checks: Checks) -> Mapping[str, Rule]:
    """Return the rules that `checks` selects, by name."""
    known = all_rules()
    if checks == "all":
        return known
    if checks == "none":
        return {}
    asked = frozenset((checks,) if isinstance(checks, str) else checks)
    unknown = sorted(asked - known.keys())
    if unknown:
        raise LaunchError(f"unknown check {unknown[0]!r}", help=f"use one of: all, none, {', '.join(sorted(known))}")
    return {name: known[name] for name in asked}
