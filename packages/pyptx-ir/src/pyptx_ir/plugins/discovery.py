"""Which plugins there are: the baseline, the entry-point group `pyptx`, and what PYPTX_PLUGINS names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import Distribution

GROUP = "pyptx"
BASELINE = "pyptx_ir.isa.plugin"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plugin that has been found and not yet imported: `load` imports it."""

    name: str
    distribution: str
    load: Callable[[], object]

    @property
    def label(self) -> str:
        """The plugin as messages name it."""
        return f"plugin {self.name!r} ({self.distribution})"

    @property
    def package(self) -> str:
        """The import package that the plugin lies in; nothing if it is an object, or a module beside all packages."""
        return (getattr(self.load(), "__package__", None) or "").partition(".")[0]


def discover() -> tuple[Candidate, ...]:
    """Return the baseline, the installed plugins and those that the environment names, without importing any.

    `PYPTX_DISABLE_PLUGIN_AUTOLOAD` (set to anything) leaves out the installed ones; `PYPTX_PLUGINS` adds modules,
    separated by commas.
    """
    import os

    baseline = Candidate("baseline", "pyptx-ir", _importer(BASELINE))
    installed = () if os.environ.get("PYPTX_DISABLE_PLUGIN_AUTOLOAD") else _installed()
    extra = tuple(name.strip() for name in os.environ.get("PYPTX_PLUGINS", "").split(",") if name.strip())
    already = {candidate.name for candidate in installed}
    named = tuple(Candidate(name, "PYPTX_PLUGINS", _importer(name)) for name in extra if name not in already)
    return (baseline, *installed, *named)


def _installed() -> tuple[Candidate, ...]:
    """Return the installed plugins; of two distributions of one name, those of the one that is imported.

    `importlib.metadata.entry_points` takes three times as long: it takes apart what every distribution says.
    """
    from importlib.metadata import distributions

    found: dict[tuple[str, str], Candidate] = {}
    seen: set[str] = set()
    for distribution in distributions():
        if GROUP not in (distribution.read_text("entry_points.txt") or ""):
            continue
        name = _name(distribution)
        if _normalized(name) in seen:
            continue
        seen.add(_normalized(name))
        for point in distribution.entry_points.select(group=GROUP):
            if point.value != BASELINE:
                found.setdefault((point.name, point.value), Candidate(point.name, name, point.load))
    return tuple(found[key] for key in sorted(found))


def _name(distribution: Distribution) -> str:
    """Return a distribution's name; its own `name` parses all of its metadata as e-mail."""
    import re

    match = re.search(r"^Name:[ \t]*(\S+)", distribution.read_text("METADATA") or "", re.MULTILINE)
    return match[1] if match else distribution.name or "an unknown distribution"


def _normalized(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _importer(module: str) -> Callable[[], object]:
    def load() -> object:
        import importlib

        return importlib.import_module(module)

    return load
