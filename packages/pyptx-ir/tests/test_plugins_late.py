"""A plugin registered after queries of the instruction table: cached results are computed again."""

from __future__ import annotations

import re
import types
from typing import TYPE_CHECKING, Any

import pytest

import pyptx_ir.plugins.manager as managers
from pyptx_ir.commands import main
from pyptx_ir.isa.check import verdict_on
from pyptx_ir.isa.form_diagnostics import unknown
from pyptx_ir.isa.modules import check_module
from pyptx_ir.isa.rows import row
from pyptx_ir.isa.target_rows import TargetError, TargetRow
from pyptx_ir.isa.targets import includes
from pyptx_ir.plugins import API_VERSION, PluginError, hookimpl
from pyptx_ir.plugins.caches import forget_answers
from pyptx_ir.plugins.manager import Plugins
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.sources import CommandInput, PtxSource, SourceFormat, read_source, read_sources
from pyptx_ir.syntax import parse, parse_instruction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TEXT = """.version 8.5
.target sm_90a
.address_size 64
.entry k()
{
\t.reg .b32 %r<2>;
\tlate.b32 %r1, %r0;
\tret;
}
"""


def plugin(**hooks: Callable[[], object]) -> types.ModuleType:
    """Return a plugin module with these hooks."""
    module: Any = types.ModuleType("late")

    def version() -> object:
        return API_VERSION

    vars(module)["pyptx_api_version"] = hookimpl(version)
    for name, hook in hooks.items():
        vars(module)[name] = hookimpl(hook)
    return module


LATE = {"pyptx_instructions": lambda: [row("late.b32 d, a", targets=("sm_90a",))]}


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugins]:
    """Provide an empty plugin manager as the process's, for one test."""
    fresh = Plugins()
    monkeypatch.setattr(managers, "manager", lambda: fresh)
    forget_answers()
    yield fresh
    monkeypatch.undo()
    forget_answers()


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in check_module(parse(text))]


def verdict(target: str = "sm_90a") -> str | None:
    """Check `late.b32`, the plugin's instruction; return the error code, None if it is valid."""
    found = verdict_on(parse_instruction("late.b32 %r1, %r0;"), lambda _: "b32", target, (8, 5))
    return None if found is None else found.code


def test_what_was_unknown_is_known_and_what_was_judged_is_judged_anew(plugins: Plugins) -> None:
    for _ in range(2):
        assert (verdict(), codes(TEXT)) == ("unknown-instruction", ["unknown-instruction"])
        assert "did you mean late" not in str(unknown(("lates",)).help)
    plugins.register(plugin(**LATE), "late")
    for _ in range(2):
        assert (verdict(), codes(TEXT)) == (None, [])
        assert verdict("sm_80") == "target"
        assert "did you mean late" in str(unknown(("lates",)).help)
    assert "late" in plugins.loaded()


def test_what_was_right_with_a_plugin_is_unknown_without_it(plugins: Plugins) -> None:
    plugins.register(plugin(**LATE), "late")
    assert codes(TEXT) == []
    # Unload the plugin in the same process: the checker must not have cached its instruction.
    plugins._registry_or_none, plugins._collected, plugins._opcodes = None, {}, None
    forget_answers()
    assert codes(TEXT) == ["unknown-instruction"]


def test_a_late_target_is_found(plugins: Plugins) -> None:
    with pytest.raises(TargetError):
        find_target("late_1")
    plugins.register(plugin(pyptx_targets=lambda: [TargetRow("late_1", 1, "arch", extends=("sm_90a",))]), "late")
    assert includes("late_1", "sm_90a")
    assert find_target("late_1").extends == ("sm_90a",)


@pytest.mark.parametrize(
    ("hooks", "said"),
    [
        ({"pyptx_nonsense": lambda: ()}, "pyptx_nonsense"),
        ({"pyptx_instructions": lambda: [1]}, "row of class int"),
        ({"pyptx_targets": lambda: [find_target("sm_90a")]}, "'sm_90a' is provided by both"),
    ],
)
def test_a_late_plugin_that_breaks_the_contract_changes_nothing(
    plugins: Plugins, hooks: dict[str, Callable[[], object]], said: str
) -> None:
    before = plugins.loaded(), plugins.targets(), len(plugins.instructions())
    with pytest.raises(PluginError, match=re.escape(said)):
        plugins.register(plugin(**hooks), "late")
    assert (plugins.loaded(), plugins.targets(), len(plugins.instructions())) == before


def test_one_name_is_registered_once(plugins: Plugins) -> None:
    plugins.register(plugin(**LATE), "late")
    with pytest.raises(PluginError, match="registered twice"):
        plugins.register(plugin(), "late")


def test_a_kind_of_inputs_is_read_by_every_command(
    plugins: Plugins, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(source: CommandInput) -> list[PtxSource]:
        file, _, name = source.name.rpartition(":")
        assert file == str(tmp_path / "made.jl")
        return [
            PtxSource(source.name, lambda: TEXT.replace("late.b32 %r1, %r0", "ret").replace("entry k", f"entry {name}"))
        ]

    name = f"{tmp_path / 'made.jl'}:kernel"
    with pytest.raises(FileNotFoundError):
        read_sources(name)
    row = SourceFormat("functions", read, named=re.compile(r"\.jl:\w+$"))
    plugins.register(plugin(pyptx_sources=lambda: [row]), "late")
    assert ".entry kernel()" in read_source(name).load()
    for words in (["check", name], ["fmt", name, "-o", "-"]):
        assert main(words) == 0
    assert ".entry kernel()" in capsys.readouterr().out
