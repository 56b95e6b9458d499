"""Attachment of doors when a program imports the frameworks that they are for."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def when_imported(names: Iterable[str], attach: Callable[[str], object]) -> None:
    """Call `attach` with each of the modules `names` once it has been imported, at once if it has been already."""
    missing = set(names)
    for name in sorted(missing & sys.modules.keys()):
        missing.remove(name)
        attach(name)
    if missing:
        sys.meta_path.insert(0, _Finder(missing, attach))


class _Finder(MetaPathFinder):
    """Finder that adds a call to the imports of some modules."""

    def __init__(self, names: set[str], attach: Callable[[str], object]) -> None:
        self._names, self._attach = names, attach

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the other finders find, with a loader that attaches the door afterwards."""
        if fullname not in self._names:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._attached)
        return spec

    def _attached(self, name: str) -> None:
        self._attach(name)
        self._names.discard(name)


class _Loader(Loader):
    """Loader that loads a module with its own loader, and calls a function then."""

    def __init__(self, own: Loader, attach: Callable[[str], object]) -> None:
        self._own, self._attach = own, attach

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module."""
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, which then has its own loader again, and call the function."""
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        self._attach(module.__name__)
