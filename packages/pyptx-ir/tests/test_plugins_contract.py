"""`check_plugin`, the contract test for third parties, reports contract violations."""

from __future__ import annotations

import importlib
import os
import types
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_ir.fragments import move_of
from pyptx_ir.isa.matrix_rows import Element, MatrixMove
from pyptx_ir.isa.modules import check_text
from pyptx_ir.isa.row_faults import fault_of, fault_of_element, fault_of_move
from pyptx_ir.isa.rows import InstructionRow, row
from pyptx_ir.plugins import API_VERSION, hookimpl
from pyptx_ir.plugins.discovery import BASELINE, Candidate
from pyptx_ir.plugins.errors import PluginError
from pyptx_ir.plugins.manager import Plugins, manager
from pyptx_ir.plugins.operand_kinds import operand_kinds
from pyptx_ir.plugins.testing import check_plugin

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
from pyptx_ir.isa.rows import row
from pyptx_ir.plugins import API_VERSION, hookimpl

@hookimpl
def pyptx_api_version():
    return API_VERSION

@hookimpl
def pyptx_instructions():
    return [row({row})]
"""


def write(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    (folder / "acme_checked.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    return "acme_checked"


ROWS = """
from pyptx_ir.plugins import API_VERSION, hookimpl
from pyptx_ir.plugins.advice import Advice
from pyptx_ir.plugins.descriptor_rows import DescriptorKind
from pyptx_ir.plugins.rows import TensorMap

def none(*_):
    return None

@hookimpl
def pyptx_api_version():
    return API_VERSION

@hookimpl
def pyptx_advice():
    return [Advice("slow (fire|smoke)", "it burns", "use water")]

@hookimpl
def pyptx_descriptors():
    return [DescriptorKind("acme", TensorMap, 16, 8, "_acme", "", none, none, none, none)]
"""


def test_a_sound_plugin_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_plugin(write(tmp_path, monkeypatch, GOOD.format(row="'acme.frob.type d, a', type=('u32',)")))


def test_sound_descriptors_and_advice_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_plugin(write(tmp_path, monkeypatch, ROWS))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("{row}", "'add.type d, a, b', mode=('x',), type=('u32',)"), "slots missing in the syntax"),
        (GOOD.replace("{row}", "'acme.type d, a', type=()"), "slot 'type' has no values"),
        (GOOD.replace("{row}", "'acme d, a', access='w'"), "access"),
        (GOOD.replace("{row}", "'acme d, a', access='wz'"), "letters"),
        (GOOD.replace("{row}", "'acme d, a', targets=('sm_91',)"), "unknown targets"),
        (GOOD.replace("{row}", "'acme d, a', operands={'a': 'u33'}"), "'u33' is not a type; 'u32' is"),
        (GOOD.replace("API_VERSION\n\n", "99\n\n").replace("{row}", "'acme d, a'"), "has plugin API version 99"),
        (ROWS.replace("(fire", "((fire"), "missing \\)"),
        (ROWS.replace("16, 8", "0, 8"), "has 0 bytes"),
        (ROWS.replace("16, 8", "16, 12"), "aligned to 12 bytes"),
        (ROWS.replace('"_acme"', '"-acme"'), "x-acme is not a valid parameter name"),
        (ROWS.replace('"_acme"', '""'), "x is not a valid parameter name"),
        (ROWS.replace("TensorMap, 16", "dict, 16"), "dict is not an immutable dataclass"),
        ("import xml.dom, wheel_of_fortune", "wheel_of_fortune"),
        ("import hypothesis\n" + GOOD.replace("{row}", "'acme d, a'"), "imports"),
    ],
)
def test_what_breaks_the_contract_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    with pytest.raises(AssertionError, match=said):
        check_plugin(write(tmp_path, monkeypatch, text))


def test_a_row_of_the_baseline_again_is_a_clash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="both plugin 'baseline'"):
        check_plugin(write(tmp_path, monkeypatch, GOOD.format(row="'exit', manual='exit'")))


def test_every_row_of_the_table_keeps_the_contract() -> None:
    targets = {target.name for target in manager().targets()}
    faults = {each.syntax: fault_of(each, operand_kinds(), targets) for each in manager().instructions()}
    assert {syntax: fault for syntax, fault in faults.items() if fault is not None} == {}


def test_every_row_of_the_table_names_its_section_of_the_manual() -> None:
    assert [row.syntax for row in manager().instructions() if not row.manual] == []


MMA: dict[str, Any] = {"shape": ("m16n8k16",), "operands": {"d": "fragment(mn f32)", "a": "fragment(mk atype)"}}
"""Valid shape and operands of an MMA row; slot `atype` has its element types."""


def faulty(syntax: str, **said: Any) -> InstructionRow:
    return row(syntax, **said)


UNSOUND = {
    "type in a slot": (
        faulty("acme.type d, a", type=("u32", "q7")),
        "operands: invalid kind 'type' of 'd': 'q7' is no",
    ),
    "type in a kind": (faulty("acme d, a", operands={"a": "wide(q7)"}), "operands: invalid kind 'wide.q7.' of 'a'"),
    "element in a slot": (faulty("acme.shape.atype d, a", **MMA, atype=("f16", "q7")), "'q7' is not an element type"),
    "element in a kind": (
        faulty("acme d, a", operands={"a": "fragment(8 q7)"}),
        "operands: invalid kind 'fragment.8 q7.' of 'a': 'q7' is not an element type",
    ),
    "no shape": (faulty("acme d, a", operands={"a": "fragment(mk f16)"}), "invalid extent mk of shape"),
    "extent": (
        faulty("acme.shape d, a", **{**MMA, "operands": {"a": "fragment(xy f16)"}}),
        "invalid extent xy of m16n8k16",
    ),
    "kind": (faulty("acme d, a", operands={"a": "thing(3)"}), "'thing' is not a kind of operand"),
    "count": (faulty("acme.vec d, a", vec=("v2",), operands={"a": "vec*b32"}), "'vec' is neither a number"),
    "lengths": (faulty("acme.vec d, a", vec=("v2",), lengths={"vec": (2, 4)}), "lengths: 2 lengths for the 1 values"),
    "target": (faulty("acme d, a", targets=("sm_91",)), r"targets: unknown targets \['sm_91'\]"),
    "access": (faulty("acme d, a", access="w"), "access: access 'w' for 2 operands"),
    "limits": (faulty("acme d, a", operands={"a": "imm in 1..x"}), "operands: limits must be"),
}


PLAIN = move_of("m8n8", "b16").fragment
UNSOUND_ROWS = {
    "element of 0 bits": ("pyptx_elements", Element("q7", 0), "bits: element must have 1 to 64 bits, got 0"),
    "unknown register type": (
        "pyptx_elements",
        Element("q7", 8, ("b33",)),
        "registers: 'b33' is not a type; 'b32' is",
    ),
    "no registers": ("pyptx_elements", Element("q7", 8, ()), "registers: no register type given"),
    "unknown literal kind": (
        "pyptx_elements",
        Element("q7", 8, ("b32",), ("singel",)),
        "literals: 'singel' is not a kind of literal; 'single' is",
    ),
    "stored bits": (
        "pyptx_matrix_moves",
        MatrixMove("q7", ("b16",), PLAIN, 17),
        "stored: expected 1 to 16 bits",
    ),
    "matrix row of 32 bytes": (
        "pyptx_matrix_moves",
        MatrixMove("q7", ("b16",), replace(PLAIN, columns=16), 16),
        "fragment: 16 elements of 16 bits exceed a row of 16 bytes",
    ),
}


@pytest.mark.parametrize("name", UNSOUND_ROWS)
def test_elements_and_moves_that_no_table_can_hold_are_refused_by_name(name: str) -> None:
    hook, given, said = UNSOUND_ROWS[name]
    plugin = types.ModuleType("acme")
    vars(plugin).update(pyptx_api_version=hookimpl(lambda: API_VERSION), **{hook: hookimpl(lambda: [given])})
    baseline = Candidate("baseline", "pyptx-ir", lambda: importlib.import_module(BASELINE))
    installed = Plugins(lambda: [baseline, Candidate("acme", "acme-arch", lambda: plugin)])
    collected = {"pyptx_elements": installed.elements, "pyptx_matrix_moves": installed.matrix_moves}[hook]
    with pytest.raises(PluginError, match=f"{hook} of plugin 'acme' .acme-arch., row '.*q7.*', {said}"):
        collected()


def test_every_element_and_move_keeps_the_contract() -> None:
    assert {fault_of_element(each) for each in manager().elements()} == {None}
    assert {fault_of_move(each) for each in manager().matrix_moves()} == {None}


class Acme:
    """Plugin with one row of the instruction table."""

    def __init__(self, given: InstructionRow) -> None:
        self.given = given

    @hookimpl
    def pyptx_api_version(self) -> int:
        return API_VERSION

    @hookimpl
    def pyptx_instructions(self) -> list[InstructionRow]:
        return [self.given]


@pytest.mark.parametrize("name", UNSOUND)
def test_a_row_that_no_table_can_hold_is_refused_by_name(name: str) -> None:
    """The error names the distribution, the row and the field; the row used to cause a KeyError in `pyptx check`."""
    given, said = UNSOUND[name]
    baseline = Candidate("baseline", "pyptx-ir", lambda: importlib.import_module(BASELINE))
    installed = Plugins(lambda: [baseline, Candidate("acme", "acme-arch", lambda: Acme(given))])
    with pytest.raises(PluginError, match=f"plugin 'acme' .acme-arch., row 'acme.*{said}"):
        installed.instructions_of("acme")


def test_registering_such_a_row_adds_nothing() -> None:
    given = faulty("frobnicate d, a", operands={"a": "fragment(8 q7)"})
    with pytest.raises(PluginError, match="'q7' is not an element type"):
        manager().register(Acme(given), "acme-unsound")
    assert "acme-unsound" not in manager().loaded()
    text = ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() { .reg .b32 %r<3>; frobnicate %r1, {%r2}; }\n"
    assert [diagnostic.code for diagnostic in check_text(text)] == ["unknown-instruction"]
