"""Exit status and error messages of the `pyptx` command."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.commands import built_in, main
from pyptx_ir.plugins.homes import install_hint

if TYPE_CHECKING:
    from pathlib import Path


GOOD = ".version 8.5\n.target sm_90a\n.address_size 64\n"
BAD = GOOD + ".func f()\n{\nadd.s32 %r1, , %r2;\nret;\nsub.s32 %r1 %r2;\n}\n"
HOPPER = GOOD + ".entry k()\n{\n\t.reg .b32 %r; mov.u32 %r, %cluster_ctarank;\n\tret;\n}\n"


def written(folder: Path, text: str, name: str = "module.ptx") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_check_counts_the_files_and_is_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", written(tmp_path, GOOD)]) == 0
    assert capsys.readouterr().out == "1 file, 0 errors, 0 warnings\n"


def test_check_reports_every_error_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", written(tmp_path, BAD)]) == 1
    shown = capsys.readouterr().out
    assert "module.ptx:6:14: error[syntax]" in shown
    assert "module.ptx:8:" in shown
    assert shown.endswith("1 file, 2 errors, 0 warnings\n")


def test_check_in_json_states_positions_and_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, good = (
        written(tmp_path, text, f"{name}.ptx") for name, text in zip("abc", (BAD, BAD, GOOD), strict=True)
    )
    assert main(["check", "--format", "json", first, second, good]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["inputs"] == [first, second, good]
    assert [(each["input"], each["positions"][0]["line"]) for each in found["problems"]] == [
        (first, 6),
        (first, 8),
        (second, 6),
        (second, 8),
    ]
    assert main(["check", "--format=json", good]) == 0
    assert json.loads(capsys.readouterr().out)["problems"] == []


def test_check_judges_for_another_target_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, HOPPER)
    assert main(["check", path]) == 0
    assert main(["check", path, "--target", "sm_80"]) == 1
    assert "module.ptx:6:28: error[target]" in capsys.readouterr().out


def test_check_reads_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert main(["check", "-"]) == 1
    assert "<stdin>:6:14: error[syntax]" in capsys.readouterr().out


def test_portability_is_a_line_for_each_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--portability", written(tmp_path, HOPPER)]) == 0
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("sm_")}
    assert lines["sm_90a"] == ["sm_90a", "yes"]
    assert lines["sm_80"][1:3] == ["no", "6"]
    assert " ".join(lines["sm_100a"][3:]) == "sm_100a needs PTX 8.6; this module is version 8.5"


NEWER = """.version 8.8
.target sm_100a
.entry k()
{
.reg .pred %p; .reg .b64 %rd1; .reg .f32 %f1;
elect.sync _|%p, -1;
add.rn.f32x2 %rd1, %rd1, %rd1;
add.rn.f32x2 %rd1, %rd1, %rd1;
redux.sync.max.f32 %f1, %f1, -1;
ret;
}
"""


@pytest.mark.hopper
def test_portability_says_what_of_a_module_runs_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--portability", written(tmp_path, NEWER)]) == 0
    said = capsys.readouterr().out
    assert "; the target is" not in said
    lines = said.splitlines()
    verdicts = {line.split()[0]: line for line in lines if line.startswith("sm_")}
    assert verdicts["sm_100a"].split() == ["sm_100a", "yes"]
    assert verdicts["sm_75"].endswith("elect.sync needs sm_90 or later (and 3 more)")
    assert verdicts["sm_120a"].endswith("redux.sync.max.f32 needs sm_100a or sm_100f")
    needs = lines[-6:]
    assert needs[:4] == [
        "line 6: elect.sync needs sm_90 or later",
        "    not on sm_75, sm_80, sm_86, sm_87, sm_88, sm_89",
        "lines 7, 8: add.rn.f32x2 needs sm_100 or later",
        "    not on sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, sm_90a",
    ]
    assert needs[4] == "line 9: redux.sync.max.f32 needs sm_100a or sm_100f"
    assert needs[5].startswith("    only on sm_100f, sm_100a, sm_103f, sm_103a")


def test_portability_in_json_names_target_place_and_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--portability", "--format", "json", written(tmp_path, HOPPER)]) == 0
    rows = {row["target"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows["sm_75"]) == ["target", "ok", "line", "column", "code", "message", "help", "obstacles"]
    assert (rows["sm_75"]["obstacles"], rows["sm_90a"]["obstacles"]) == (1, 0)
    assert rows["sm_90a"]["ok"] is True
    assert (rows["sm_75"]["ok"], rows["sm_75"]["line"], rows["sm_75"]["column"]) == (False, 6, 28)


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "none.ptx")]) == 2
    assert "none.ptx" in capsys.readouterr().err


def test_check_called_wrongly_says_how_it_is_called(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--format", "xml", "x.ptx"], ["--target", "sm_91", written(tmp_path, GOOD)]):
        assert main(["check", *words]) == 2
    said = capsys.readouterr().err
    assert "usage: pyptx check" in said
    assert "did you mean sm_90" in said


def test_targets_are_listed_with_their_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    assert "sm_90a   PTX 8.0\n" in capsys.readouterr().out


def test_plugins_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins"]) == 0
    assert "baseline" in capsys.readouterr().out.splitlines()


def test_an_unknown_command_is_an_error_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chekc"]) == 2
    assert capsys.readouterr().err == "pyptx: unknown command 'chekc'\nhelp: did you mean pyptx check?\n"


def test_a_command_of_a_package_that_is_not_installed_names_the_package(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyptx_ir.plugins.manager.Plugins.commands", lambda _: ())
    assert main(["trace", "k.ptx"]) == 2
    assert capsys.readouterr().err == f"pyptx: trace needs pyptx-sim\nhelp: {install_hint('pyptx-sim')}\n"
    assert main(["quux"]) == 2
    assert capsys.readouterr().err.endswith("help: pyptx help lists all commands\n")


def test_an_unknown_option_is_an_error_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--fromat", "json", "x.ptx"]) == 2
    assert "help: --fromat is not an option; did you mean --format?\n" in capsys.readouterr().err
    assert main(["targets", "--no-such-option"]) == 2
    assert capsys.readouterr().err.endswith("help: pyptx targets --help lists all options\n")


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"pyptx(-ir)? \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize("name", [row.name for row in built_in()])
def test_help_of_a_command_is_its_own_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", name]) == main([name, "--help"]) == 0
    first, second = capsys.readouterr().out.split(f"usage: pyptx {name}")[1:]
    assert first == second


def test_lists_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", "--json"]) == 0
    assert {"name": "sm_90a", "since": "8.0"} in json.loads(capsys.readouterr().out)
    assert main(["plugins", "--json"]) == 0
    assert "baseline" in json.loads(capsys.readouterr().out)["loaded"]


def test_help_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "targets" in capsys.readouterr().out
    assert main(["check", "--help"]) == 0
    assert "--portability" in capsys.readouterr().out
