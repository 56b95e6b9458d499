"""`check_plugin`, the contract test for third parties, finds what breaks the contract."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.plugins.manager import manager
from pyptx_ir.plugins.testing import _check_instruction_row, check_plugin

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
        (GOOD.replace("{row}", "'add.type d, a, b', mode=('x',), type=('u32',)"), "does not name the slots"),
        (GOOD.replace("{row}", "'acme.type d, a', type=()"), "slot without values"),
        (GOOD.replace("{row}", "'acme d, a', access='w'"), "access"),
        (GOOD.replace("{row}", "'acme d, a', access='wz'"), "letters"),
        (GOOD.replace("{row}", "'acme d, a', targets=('sm_91',)"), "unknown targets"),
        (GOOD.replace("{row}", "'acme d, a', operands={'a': 'u33'}"), "kind"),
        (GOOD.replace("API_VERSION\n\n", "99\n\n").replace("{row}", "'acme d, a'"), "speaks version 99"),
        (ROWS.replace("(fire", "((fire"), "missing \\)"),
        (ROWS.replace("16, 8", "0, 8"), "has 0 bytes"),
        (ROWS.replace("16, 8", "16, 12"), "aligned to 12 bytes"),
        (ROWS.replace('"_acme"', '"-acme"'), "x-acme is no name of a parameter"),
        (ROWS.replace('"_acme"', '""'), "x is no name of a parameter"),
        (ROWS.replace("TensorMap, 16", "dict, 16"), "a dict is no immutable dataclass"),
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
    for row in manager().instructions():
        _check_instruction_row(row, targets)


def test_every_row_of_the_table_names_its_section_of_the_manual() -> None:
    assert [row.syntax for row in manager().instructions() if not row.manual] == []
