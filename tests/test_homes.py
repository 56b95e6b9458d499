"""The table of homes (distribution of each name), compared with the plugins of the distributions."""

from __future__ import annotations

import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_ir.isa.patterns import compile_row
from pyptx_ir.origins import install_command
from pyptx_ir.plugins.homes import (
    HOMES,
    Home,
    descriptor_remedy,
    gpu_remedy,
    home_of_instruction,
    install_hint,
    remedy,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.isa.rows import InstructionRow

ROOT = Path(__file__).parents[1]
# Opcodes of architecture packages that differ from core opcodes only by types, and so do not determine a distribution.
INDISTINCT = {"mma.sp::ordered_metadata.sync.aligned.shape.row.col.f16.atype.btype.f16"}
ARCHITECTURES = [home for home in HOMES if home.namespaces]


def manifest(distribution: str) -> dict[str, Any]:
    """Return the table `[project]` of a distribution's pyproject.toml."""
    text = (ROOT / "packages" / distribution / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def named(home: Home, hook: str) -> set[str]:
    """Return the `ptx` names that a distribution's plugin registers."""
    hand_in = getattr(import_module(f"{home.module}.plugin"), hook, tuple)
    return {row if isinstance(row, str) else row.name for row in hand_in()}


def spellings(row: InstructionRow) -> Iterable[tuple[str, ...]]:
    """Yield opcodes of an instruction-table row without optional modifiers, one per value of a required modifier."""
    items = [sorted(item.words) for item in compile_row(row).items if not item.optional]
    for index, words in enumerate(items):
        for word in words:
            yield (row.opcode, *(word if at == index else each[0] for at, each in enumerate(items)))


def test_every_distribution_has_a_row_and_the_extras_are_those_of_the_facade() -> None:
    assert {path.name for path in (ROOT / "packages").iterdir()} <= {home.distribution for home in HOMES}
    extras = manifest("pyptx")["optional-dependencies"]
    for home in HOMES:
        wanted = [need for need in extras.get(home.extra, ()) if need.startswith(home.distribution)]
        assert not home.extra or wanted, home
        optional = bool(home.namespaces or home.runtime or home.distribution == "pyptx-virtual")
        assert bool(home.extra) is optional, home


@pytest.mark.parametrize("home", ARCHITECTURES, ids=lambda home: home.distribution)
def test_what_an_architecture_hands_in_is_known_to_be_its_own(home: Home) -> None:
    assert named(home, "pyptx_namespaces") <= set(home.namespaces)
    assert named(home, "pyptx_launch_attributes") == set(home.launch_attributes)
    assert named(home, "pyptx_descriptors") == set(home.descriptors)


@pytest.mark.parametrize("home", ARCHITECTURES, ids=lambda home: home.distribution)
def test_whose_an_instruction_is_follows_from_its_words(home: Home) -> None:
    rows = import_module(f"{home.module}.plugin").pyptx_instructions()
    astray = {row for row in rows for opcode in spellings(row) if home_of_instruction(opcode) != home.distribution}
    assert {row.syntax.split()[0] for row in astray} <= INDISTINCT


@pytest.mark.parametrize("home", [home for home in HOMES if home.runtime], ids=lambda home: home.distribution)
def test_a_distribution_that_runs_kernels_hands_in_the_runtime_of_its_row(home: Home) -> None:
    assert named(home, "pyptx_runtimes") == {home.runtime}
    assert home.frameworks or home.distribution == "pyptx-virtual"  # it runs kernels for pyptx-torch's operators


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.distribution)
def test_the_commands_of_a_distribution_are_those_of_its_row(home: Home) -> None:
    plugin = f"{home.module}.plugin"
    module = import_module(plugin) if find_spec(plugin) else None
    rows = getattr(module, "pyptx_commands", tuple)()
    assert {row.name for row in rows} == set(home.commands)


def test_what_is_somebodys_is_nobody_elses() -> None:
    for table in ("namespaces", "instructions", "launch_attributes", "commands", "descriptors", "frameworks"):
        names = [name for home in HOMES for name in getattr(home, table)]
        assert len(names) == len(set(names)), table


def test_a_remedy_names_what_runs_the_arrays() -> None:
    assert remedy("numpy") == install_command("sim")
    assert remedy("torch") == f"{install_command('torch')}; the extra sim is enough for CPU tensors"
    assert remedy("jaxlib") == remedy("jax") == install_command("jax")
    assert remedy("cupy") is None
    assert descriptor_remedy() == install_hint("pyptx-arch-hopper") == install_command("hopper")
    assert gpu_remedy() == install_command("torch", "jax")
