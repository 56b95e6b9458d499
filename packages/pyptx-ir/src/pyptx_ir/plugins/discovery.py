"""Plugin discovery: the built-in plugin, the entry-point group `pyptx`, and the modules in PYPTX_PLUGINS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP = "pyptx"
BASELINE = "pyptx_ir.isa.plugin"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A discovered plugin that is not imported yet; `load` imports it."""

    name: str
    distribution: str
    load: Callable[[], object]

    @property
    def label(self) -> str:
        """Name of the plugin in messages."""
        return f"plugin {self.name!r} ({self.distribution})"

    @property
    def package(self) -> str:
        """Name of the plugin's import package; empty for a plugin object, or for a module outside packages."""
        return (getattr(self.load(), "__package__", None) or "").partition(".")[0]


def discover() -> tuple[Candidate, ...]:
    """Return the built-in plugin, the installed plugins and those of PYPTX_PLUGINS, without importing them.

    `PYPTX_DISABLE_PLUGIN_AUTOLOAD` (any value) omits the installed plugins; `PYPTX_PLUGINS` adds modules, separated by
    commas.
    """
    import os

    baseline = Candidate("baseline", "pyptx-ir", _importer(BASELINE))
    installed = {} if os.environ.get("PYPTX_DISABLE_PLUGIN_AUTOLOAD") else _installed()
    extra = dict.fromkeys(name.strip() for name in os.environ.get("PYPTX_PLUGINS", "").split(","))
    already = {"", BASELINE, *(word for key in installed for word in key)}
    named = (Candidate(name, "PYPTX_PLUGINS", _importer(name)) for name in extra if name not in already)
    return (baseline, *installed.values(), *named)


def _installed() -> dict[tuple[str, str], Candidate]:
    """Return the installed plugins by name and module; of duplicates, the first distribution on the path."""
    from importlib.metadata import entry_points

    found = {
        (point.name, point.value): Candidate(point.name, point.dist.name if point.dist else "unknown", point.load)
        for point in reversed(list(entry_points(group=GROUP)))  # reversed: the first duplicate on sys.path wins
        if point.value != BASELINE
    }
    return dict(sorted(found.items()))


def _importer(module: str) -> Callable[[], object]:
    def load() -> object:
        import importlib

        return importlib.import_module(module)

    return load
