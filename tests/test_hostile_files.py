"""Hostile modules inject no code into the printed Python: an audit hook observes no event but its execution."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hostile_files import FILES, hostile
from tests.test_codegen import module_of

from pyptx.codegen import ptx_to_python
from pyptx_transpile.printing import long_files, module_printer

pytestmark = pytest.mark.no_cover

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.long
def test_two_hundred_hostile_files_do_nothing_but_write_their_bytes() -> None:
    command = [sys.executable, "-m", "tests.hostile_files"]  # a separate process: audit hooks cannot be removed
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    harm = found.pop("harm")
    assert any(event.startswith("os.listdir") for event in harm)
    assert len(found) == 2 * FILES
    assert {name: events for name, events in found.items() if events} == {}


def test_no_two_files_are_the_same() -> None:
    assert len({hostile(number) for number in range(FILES)}) == FILES


def test_what_stands_in_texts_of_bodies_is_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_printer, "MOST_LINES", 0)  # the transpiler then prints function bodies as strings
    monkeypatch.setattr(long_files, "_FEW", 0)
    held = 0
    for number in range(0, FILES, 4):
        python = ptx_to_python(hostile(number), sugar=True, unchecked=True)
        assert python.isascii()
        assert module_of(python).ptx() == hostile(number), number
        held += "@pyptx.text_body" in python
    assert held > FILES // 5
