"""Contract test for third-party plugins.

from pyptx_ir.plugins.testing import check_plugin


def test_contract() -> None:
    check_plugin("acme_arch.plugin")
"""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys
from typing import TYPE_CHECKING

from pyptx_ir.plugins.discovery import BASELINE, Candidate
from pyptx_ir.plugins.manager import Plugins

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.plugins.descriptor_rows import DescriptorKind

# Packages that the import of a plugin may load besides its own.
ALLOWED = frozenset({"pyptx_ir", "pluggy"})


def check_plugin(module: str) -> None:
    """Check the plugin in `module` in a fresh interpreter; raise AssertionError with the violation of the contract.

    The module's top level may import only `pyptx_ir`, the standard library and its own package (so not numpy, torch or
    jax). It must state the current API version. Its hooks must exist and be marked. Its rows must be immutable and
    hashable, with unique names that differ from built-in names, and with valid syntax lines, targets, sizes and
    patterns.
    """
    import subprocess

    source = (
        "import sys\nfrom pyptx_ir.plugins.testing import examine\n"
        f"try: examine({module!r})\n"
        "except Exception as error: sys.exit(f'{type(error).__name__}: {error}')"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(done.stderr.strip() or f"{module} ended its interpreter with status {done.returncode}")


def _require(holds: object, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def examine(module: str) -> None:
    """Check the plugin in `module` in this interpreter, which must not have imported it yet."""
    foreign = imported_by(module)
    _require(
        not foreign, f"{module} imports {', '.join(foreign)} at its top level; import it in the hook that needs it"
    )
    candidates = (
        Candidate("baseline", "pyptx-ir", lambda: importlib.import_module(BASELINE)),
        Candidate(module, module, lambda: importlib.import_module(module)),
    )
    plugins = Plugins(lambda: candidates)
    for error in plugins.broken():
        raise AssertionError(str(error))
    baseline = Plugins(lambda: candidates[:1])
    given = set(baseline.instructions())
    # `instructions` raises PluginError for an invalid row.
    rows = [row for row in plugins.instructions() if row not in given]
    _check_values([*rows, *plugins.targets(), *plugins.semantics(), *plugins.runtimes(), *plugins.commands()])
    _check_values([*plugins.elements(), *plugins.fragments(), *plugins.matrix_moves()])
    _check_values([*plugins.memories(), *plugins.check_codes(), *plugins.check_rules()])
    _check_values([*plugins.descriptors(), *plugins.advice(), *plugins.sources(), *plugins.explanations()])
    for advice in plugins.advice():
        re.compile(advice.pattern)
    for kind in plugins.descriptors():
        _check_descriptor_kind(kind)
    for name in plugins.namespaces():
        _require(plugins.namespace(name) is not None, f"the namespace {name} is None")


def imported_by(module: str) -> list[str]:
    """Import `module`, and return the packages that it imported although plugins must not."""
    before = set(sys.modules)
    importlib.import_module(module)
    roots = {name.partition(".")[0] for name in set(sys.modules) - before}
    return sorted(roots - ALLOWED - {module.partition(".")[0]} - set(sys.stdlib_module_names))


def _check_values(rows: Iterable[object]) -> None:
    for row in rows:
        _require(dataclasses.is_dataclass(row), f"{row!r} is not a dataclass")
        hash(row)


def _check_descriptor_kind(kind: DescriptorKind) -> None:
    """Check that descriptors of a kind are valid kernel parameters, and their descriptions valid cache keys."""
    _require(kind.size > 0, f"the descriptor {kind.name} has {kind.size} bytes")
    _require(kind.alignment.bit_count() == 1, f"the descriptor {kind.name} is aligned to {kind.alignment} bytes")
    named = f"x{kind.suffix}"
    _require(kind.suffix and named.isidentifier(), f"the descriptor {kind.name}: {named} is not a valid parameter name")
    described = kind.described.__name__
    immutable = dataclasses.is_dataclass(kind.described) and getattr(kind.described, "__hash__", None) is not None
    _require(immutable, f"the descriptor {kind.name}: {described} is not an immutable dataclass")
