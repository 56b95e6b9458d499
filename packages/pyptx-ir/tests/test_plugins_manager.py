"""The plugin manager: plugins that it loads and rejects, and the plugins that its errors name."""

from __future__ import annotations

import subprocess
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_ir.fragments import mma_fragment
from pyptx_ir.isa.check_rows import CheckCode, CheckRule
from pyptx_ir.isa.memory_rows import Memory
from pyptx_ir.isa.rows import row
from pyptx_ir.isa.target_rows import TargetError, TargetRow
from pyptx_ir.origins import install_command
from pyptx_ir.plugins import API_VERSION, PluginError, hookimpl
from pyptx_ir.plugins.advice import Advice
from pyptx_ir.plugins.descriptor_rows import DescriptorKind
from pyptx_ir.plugins.discovery import Candidate, discover
from pyptx_ir.plugins.errors import MissingPluginError
from pyptx_ir.plugins.hookspecs import HookSpecs
from pyptx_ir.plugins.manager import Plugins, manager
from pyptx_ir.plugins.rows import Command, DoctorCheck, Fragments, Runtime, SugarRule, TensorMap
from pyptx_ir.plugins.semantics import Semantics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def plugin(version: object = API_VERSION, **hooks: Callable[..., object]) -> types.ModuleType:
    """Return a plugin module with these hooks, and with the API version unless it is None."""
    module = types.ModuleType("plugin")
    if version is not None:

        def api_version() -> object:
            return version

        vars(module)["pyptx_api_version"] = hookimpl(api_version)
    for name, hook in hooks.items():
        vars(module)[name] = hookimpl(hook)
    return module


def plugins(**modules: object) -> Plugins:
    """Return a manager of these plugins; importing a plugin given as an exception raises that exception."""

    def loader(module: object) -> Callable[[], object]:
        def load() -> object:
            if isinstance(module, BaseException):
                raise module
            return module

        return load

    return Plugins(lambda: [Candidate(name, f"{name}-dist", loader(module)) for name, module in modules.items()])


FROB = row("acme.frob.b32 d, a")
MAP = DescriptorKind(
    name="acme",
    described=TensorMap,
    size=16,
    alignment=8,
    suffix="_acme",
    example="Tile(4, f32)",
    describe=lambda *_: None,
    plain=lambda _: {},
    restore=lambda _: None,
    array_alignment=lambda _: 1,
)
SUMS = mma_fragment("m16n8k16", "d", "f32")


def runtime(name: str, priority: int) -> Runtime:
    return Runtime(name, priority, lambda _: True, lambda *_: None)


def test_rows_of_all_plugins_are_collected_in_order() -> None:
    other = row("acme.grok.b32 d, a")
    found = plugins(a=plugin(pyptx_instructions=lambda: [FROB]), b=plugin(pyptx_instructions=lambda: (other,)))
    assert found.instructions() == (FROB, other)
    assert found.instructions_of("acme") == (FROB, other)
    assert found.loaded() == ("a", "b")


def test_rows_are_known_by_the_package_that_their_plugin_lies_in() -> None:
    inside = plugin(pyptx_instructions=lambda: [FROB])
    beside = plugin(pyptx_instructions=lambda: [row("grok.b32 d, a")])
    inside.__package__, beside.__package__ = "acme_arch.parts", ""
    nowhere = type("Nowhere", (), dict(vars(plugin(pyptx_instructions=lambda: [row("grok.b64 d, a")]))))
    found = plugins(a=inside, b=beside, c=nowhere).instructions_by_package()
    assert {package: [each.name for each in rows] for package, rows in found.items()} == {
        "acme_arch": ["acme.frob.b32 d, a"],
        "": ["grok.b32 d, a", "grok.b64 d, a"],
    }


def test_a_rule_stands_behind_the_one_that_it_names() -> None:
    def rule(name: str, behind: str | None = None) -> SugarRule:
        return SugarRule(name, "words", "ptx", "python", lambda _body, _plan: (), behind)

    first = plugin(pyptx_sugar_rules=lambda: (rule("late", "two"), rule("later", "nowhere"), rule("early")))
    second = plugin(pyptx_sugar_rules=lambda: (rule("one"), rule("two"), rule("three")))
    names = [each.name for each in plugins(a=first, b=second).sugar_rules()]
    assert names == ["early", "one", "two", "late", "three", "later"]


def test_the_runtime_of_highest_priority_comes_first() -> None:
    low, high = runtime("low", 1), runtime("high", 9)
    found = plugins(a=plugin(pyptx_runtimes=lambda: [low]), b=plugin(pyptx_runtimes=lambda: [high]))
    assert found.runtimes() == (high, low)


def test_every_hook_has_its_accessor() -> None:
    target = TargetRow("acme_1", 1)
    semantics = Semantics("acme.frob", lambda _: None)
    command = Command("frob", "Frob.", lambda _: 0)
    found = plugins(
        a=plugin(
            pyptx_targets=lambda: [target],
            pyptx_semantics=lambda: [semantics],
            pyptx_commands=lambda: [command],
            pyptx_namespaces=lambda: {"acme": "namespace"},
        )
    )
    assert found.targets() == (target,)
    assert found.target("acme_1") is target
    assert found.semantics() == (semantics,)
    assert found.commands() == (command,)
    assert found.namespaces() == {"acme": "namespace"}
    assert found.namespace("acme") == "namespace"


@pytest.mark.parametrize(
    ("hook", "value", "accessor"),
    [
        ("pyptx_instructions", lambda: [FROB], Plugins.instructions),
        ("pyptx_targets", lambda: [TargetRow("acme_1", 1)], Plugins.targets),
        ("pyptx_namespaces", lambda: {"acme": 1}, Plugins.namespaces),
        ("pyptx_semantics", lambda: [Semantics("acme.frob", lambda _: None)], Plugins.semantics),
        ("pyptx_runtimes", lambda: [runtime("acme", 1)], Plugins.runtimes),
        ("pyptx_commands", lambda: [Command("acme", "", lambda _: 0)], Plugins.commands),
        ("pyptx_doctor_checks", lambda: [DoctorCheck("acme", tuple)], Plugins.doctor_checks),
        ("pyptx_fragments", lambda: [Fragments("acme", lambda *_: SUMS)], Plugins.fragments),
        ("pyptx_memories", lambda: [Memory("acme", "memory", lambda _: 1)], Plugins.memories),
        ("pyptx_descriptors", lambda: [MAP], Plugins.descriptors),
        ("pyptx_advice", lambda: [Advice("acme is slow", "", "")], Plugins.advice),
        ("pyptx_check_codes", lambda: [CheckCode("acme", "error", "")], Plugins.check_codes),
        ("pyptx_check_rules", lambda: [CheckRule("acme", frozenset(), print)], Plugins.check_rules),
    ],
)
def test_a_clash_names_the_row_and_both_plugins(hook: str, value: Any, accessor: Any) -> None:
    found = plugins(hopper=plugin(**{hook: value}), acme=plugin(**{hook: value}))
    with pytest.raises(PluginError) as caught:
        accessor(found)
    assert "'hopper' (hopper-dist)" in str(caught.value)
    assert "'acme' (acme-dist)" in str(caught.value)
    assert hook in str(caught.value)
    assert "acme" in caught.value.message


def test_a_row_handed_in_twice_by_one_plugin_is_an_error() -> None:
    with pytest.raises(PluginError, match=r"plugin 'a' \(a-dist\) provides 'acme.frob.b32 d, a' twice"):
        plugins(a=plugin(pyptx_instructions=lambda: [FROB, FROB])).instructions()


def test_rows_that_differ_in_their_values_do_not_clash() -> None:
    narrow, wide = row("acme.add.type d, a", type=("u32",)), row("acme.add.type d, a", type=("u64",))
    found = plugins(a=plugin(pyptx_instructions=lambda: [narrow]), b=plugin(pyptx_instructions=lambda: [wide]))
    assert found.instructions() == (narrow, wide)


def test_a_plugin_that_does_not_import_is_named_when_something_it_could_own_is_asked_for() -> None:
    found = plugins(good=plugin(pyptx_namespaces=lambda: {"good": 1}), bad=ImportError("no module named frobnicator"))
    assert found.loaded() == ("good",)
    assert found.namespace("good") == 1  # the namespace of plugin `good` loads, although plugin `bad` fails
    asks: list[Any] = [lambda: found.namespace("frob"), found.namespaces, found.instructions, found.runtimes]
    for ask in asks:
        with pytest.raises(
            PluginError, match=r"plugin 'bad' \(bad-dist\) failed to import: ImportError: no module"
        ) as e:
            ask()
        assert isinstance(e.value.__cause__, ImportError)
    with pytest.raises(PluginError, match="bad-dist"):
        found.target("acme_9")
    with pytest.raises(PluginError, match="bad-dist"):
        found.instructions_of("frob")


def test_any_exception_and_even_an_exit_at_import_is_the_plugins_fault() -> None:
    for error in (ValueError("x"), SystemExit(3), RuntimeError("boom")):
        with pytest.raises(PluginError, match="bad-dist"):
            plugins(bad=error).instructions()


def test_a_hook_that_raises_is_named() -> None:
    def broken() -> object:
        raise KeyError("frob")

    with pytest.raises(PluginError, match=r"pyptx_semantics of plugin 'a' \(a-dist\) failed: KeyError"):
        plugins(a=plugin(pyptx_semantics=broken)).semantics()


def test_another_api_version_is_refused() -> None:
    with pytest.raises(PluginError, match=f"has plugin API version 99; this pyptx-ir needs {API_VERSION}"):
        plugins(a=plugin(version=99)).targets()


def test_a_plugin_that_states_no_api_version_is_refused() -> None:
    with pytest.raises(PluginError, match="has no plugin API version") as caught:
        plugins(a=plugin(version=None, pyptx_instructions=lambda: [FROB])).instructions()
    assert "pyptx_api_version" in str(caught.value)


def test_a_misspelt_hook_is_refused_and_the_real_ones_are_listed() -> None:
    with pytest.raises(PluginError, match="pyptx_instrctions") as caught:
        plugins(a=plugin(pyptx_instrctions=lambda: [FROB])).instructions()
    assert caught.value.help is not None
    assert "pyptx_instructions" in caught.value.help


def test_a_hook_that_wants_arguments_is_refused() -> None:
    with pytest.raises(PluginError, match="config"):
        plugins(a=plugin(pyptx_instructions=lambda config: [config])).instructions()


def test_a_hook_without_the_mark_is_refused_rather_than_ignored() -> None:
    module = plugin()
    vars(module)["pyptx_targets"] = lambda: [TargetRow("acme_1", 1)]
    with pytest.raises(PluginError, match="pyptx_targets is not marked as a hook"):
        plugins(a=module).targets()


def test_an_object_with_methods_is_a_plugin_too() -> None:
    class Acme:
        @hookimpl
        def pyptx_api_version(self) -> int:
            return API_VERSION

        @hookimpl
        def pyptx_instructions(self) -> object:
            return [FROB]

    assert plugins(a=Acme()).instructions() == (FROB,)


def test_pluggys_own_marker_works_as_well() -> None:
    import pluggy

    module = types.ModuleType("m")
    mark = pluggy.HookimplMarker("pyptx")
    vars(module)["pyptx_api_version"] = mark(lambda: API_VERSION)
    vars(module)["pyptx_instructions"] = mark(lambda: [FROB])
    assert plugins(a=module).instructions() == (FROB,)


def test_a_plugin_for_a_later_release_may_have_hooks_that_pluggy_calls_optional() -> None:
    import pluggy

    def later() -> object:
        return []

    module = plugin(pyptx_instructions=lambda: [FROB])
    vars(module)["pyptx_later"] = pluggy.HookimplMarker("pyptx")(later, optionalhook=True)
    found = plugins()
    found.register(module, "a")
    assert found.instructions() == (FROB,)


@pytest.mark.parametrize(
    ("hook", "value", "said"),
    [
        ("pyptx_instructions", "add d, a", "InstructionRow"),
        ("pyptx_instructions", {"add": 1}, "must return a sequence"),
        ("pyptx_targets", [FROB], "not TargetRow"),
        ("pyptx_namespaces", ["acme"], "must return a mapping"),
        ("pyptx_namespaces", {"not a name": 1}, "invalid name"),
        ("pyptx_runtimes", None, "must return a sequence"),
    ],
)
def test_a_hook_that_returns_something_else_is_named(hook: str, value: object, said: str) -> None:
    found = plugins(a=plugin(**{hook: lambda: value}))
    accessor = getattr(found, hook.removeprefix("pyptx_"))
    with pytest.raises(PluginError, match=said) as caught:
        accessor()
    assert "a-dist" in str(caught.value)


def test_a_missing_namespace_says_which_distribution_brings_it() -> None:
    with pytest.raises(MissingPluginError, match=r"ptx\.tcgen05 needs pyptx-arch-blackwell") as caught:
        plugins(a=plugin()).namespace("tcgen05")
    assert caught.value.help == install_command("blackwell")
    assert isinstance(caught.value, AttributeError)
    with pytest.raises(MissingPluginError, match=r"no installed plugin provides ptx\.frob"):
        plugins(a=plugin()).namespace("frob")


def test_a_missing_kind_of_descriptors_says_which_distribution_brings_it() -> None:
    with pytest.raises(MissingPluginError, match="the descriptor tensor_map needs pyptx-arch-hopper") as caught:
        plugins(a=plugin()).descriptor("tensor_map")
    assert caught.value.help == install_command("hopper")
    with pytest.raises(MissingPluginError, match="no installed plugin provides the descriptor moon"):
        plugins(a=plugin(pyptx_descriptors=lambda: [MAP])).descriptor("moon")
    assert plugins(a=plugin(pyptx_descriptors=lambda: [MAP])).descriptor("acme") is MAP


def test_an_unknown_target_gets_the_closest_names() -> None:
    with pytest.raises(TargetError, match="did you mean sm_90a"):
        manager().target("sm90a")


def test_each_hook_is_called_once_even_by_many_threads() -> None:
    calls: list[int] = []

    def instructions() -> object:
        calls.append(1)
        return [FROB]

    found = plugins(a=plugin(pyptx_instructions=instructions))
    threads = [threading.Thread(target=found.instructions) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_two_plugins_of_one_name_are_an_error_that_names_them() -> None:
    first, second = plugin(), plugin()
    found = Plugins(lambda: [Candidate("x", "one", lambda: first), Candidate("x", "two", lambda: second)])
    with pytest.raises(PluginError, match=r"plugin 'x' \(two\) is registered twice, also as plugin 'x' \(one\)"):
        found.targets()


def test_one_plugin_under_two_names_is_an_error_that_names_them() -> None:
    one = plugin()
    with pytest.raises(PluginError, match=r"plugin 'b' \(b-dist\) is registered twice, also as plugin 'a' \(a-dist\)"):
        plugins(a=one, b=one).targets()


def test_the_baseline_comes_through_the_same_hooks() -> None:
    assert manager().loaded()[0] == "baseline"
    assert manager().target("sm_90a").number == 90
    assert manager().instructions_of("add")


def test_the_environment_names_plugins_and_switches_the_installed_ones_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_PLUGINS", " acme_one, acme_two ,")
    monkeypatch.setenv("PYPTX_DISABLE_PLUGIN_AUTOLOAD", "1")
    assert [candidate.name for candidate in discover()] == ["baseline", "acme_one", "acme_two"]
    monkeypatch.delenv("PYPTX_PLUGINS")
    assert [candidate.name for candidate in discover()] == ["baseline"]
    monkeypatch.delenv("PYPTX_DISABLE_PLUGIN_AUTOLOAD")
    assert "baseline" in [candidate.name for candidate in discover()]


def test_all_hooks_stand_in_one_file_and_are_specified() -> None:
    hooks = {name for name in vars(HookSpecs) if not name.startswith("__")}
    assert all(hasattr(getattr(HookSpecs, name), "pyptx_spec") for name in hooks)
    accessors = {f"pyptx_{name}" for name in vars(Plugins)}
    assert hooks - {"pyptx_api_version"} <= accessors


def test_nothing_is_loaded_before_something_is_asked_for() -> None:
    source = (
        "import sys; from pyptx_ir.plugins.manager import manager; m = manager();"
        "assert not {'pluggy', 'importlib.metadata', 'subprocess'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", source], check=True)


def install(folder: Path, version: str, point: str) -> None:
    """Write the metadata of a distribution with one plugin, without its module."""
    information = folder / f"some_plugin-{version}.dist-info"
    information.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: Some.Plugin\nVersion: {version}\n"
    (information / "METADATA").write_text(text, encoding="utf-8")
    (information / "entry_points.txt").write_text(f"[pyptx]\n{point}\n[other]\nx = y\n", encoding="utf-8")


def test_of_two_distributions_of_one_name_the_first_on_the_path_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "first", "2.0", "new = new_module")
    install(tmp_path / "second", "1.0", "old = old_module")
    monkeypatch.syspath_prepend(str(tmp_path / "second"))
    monkeypatch.syspath_prepend(str(tmp_path / "first"))
    found = {candidate.name: candidate.distribution for candidate in discover()}
    assert found["new"] == "Some.Plugin"
    assert "old" not in found
    assert "x" not in found


def test_a_module_that_the_environment_names_again_is_loaded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed plugin's module used to be registered twice, so that every list of rows raised an error."""
    install(tmp_path, "2.0", "new = new_module")
    monkeypatch.syspath_prepend(str(tmp_path))
    installed = [candidate.name for candidate in discover()]
    assert "new" in installed
    monkeypatch.setenv("PYPTX_PLUGINS", "pyptx_ir.isa.plugin,new,new_module,acme_one,acme_one")
    assert [candidate.name for candidate in discover()] == [*installed, "acme_one"]
