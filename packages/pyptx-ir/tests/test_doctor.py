"""`pyptx doctor` works with the core package alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyptx_ir.commands import main
from pyptx_ir.doctor import diagnose

if TYPE_CHECKING:
    import pytest


def test_it_says_what_there_is_and_exits_with_1_only_for_what_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["doctor", "--json"])
    lines = {row["subject"]: row for row in json.loads(capsys.readouterr().out)["details"]["results"]}
    assert {"python", "pyptx", "plugins", "ptxas", "cubin cache", "driver"} <= set(lines)
    assert "pyptx-ir " in lines["pyptx"]["found"]
    assert status == int(any(row["state"] == "broken" for row in lines.values()))


def test_it_reads_as_lines(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split()[:2] == ["ok", "python"]
    assert len(shown) > len(diagnose())
