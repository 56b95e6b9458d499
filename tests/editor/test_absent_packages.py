"""Type checking without architecture packages: their modifiers have unknown type; misspelled ones are still errors."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from .language_server import LanguageServer
from .test_editor import ROOT, SERVER

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """\
from pyptx import ptx, reg
from pyptx.types import u32
d = reg.scalar(u32)
ptx.inst.add.u32(d, d, 1)
ptx.inst.wgmma.fence.sync.aligned()
ptx.inst.cp.async_.bulk.commit_group()
ptx.inst.fence.proxy.async_()
ptx.inst.mma.sync.aligned.m16n8k32.row.col.kind__f8f6f4
ptx.inst.wgma
ptx.inst.cp.async_.bulc
ptx.wgma
"""
MISTAKES = {SOURCE.splitlines().index(line) for line in SOURCE.splitlines()[-3:]}


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """Return a user's file in a project whose environment has no architecture packages."""
    site = tmp_path / "environment" / "lib" / "python3.11" / "site-packages"
    for name in ("pyptx-ir", "pyptx-dsl", "pyptx"):
        shutil.copytree(ROOT / "packages" / name / "src", site, dirs_exist_ok=True)
    project = tmp_path / "project"
    project.mkdir()
    options = {"venvPath": str(tmp_path), "venv": "environment"}
    (project / "pyrightconfig.json").write_text(json.dumps(options), encoding="utf-8")
    (project / "user.py").write_text(SOURCE, encoding="utf-8")
    return project / "user.py"


@pytest.mark.long
def test_a_word_of_an_absent_package_is_unknown_and_hides_no_misspelt_one(document: Path) -> None:
    with LanguageServer([sys.executable, str(SERVER), "--stdio"], document.parent) as server:
        server.open(document)
        found = [each for each in server.diagnostics(document) if each.get("code") == "reportAttributeAccessIssue"]
        assert {each["range"]["start"]["line"] for each in found} == MISTAKES
        assert "Unknown" in server.hover(document, 5, SOURCE.splitlines()[5].index("bulk"))
