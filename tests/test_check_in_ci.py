"""docs/check-in-ci.md: its commands run, and its options and inputs exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from .test_action import PROGRAM

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "check-in-ci.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"(?ms)^```sh\n(.*?)^```", PAGE)
    for line in block.splitlines()
    if not line.startswith("pip ")
]


def prepare(folder: Path, threads: int) -> None:
    """Write what the commands of the page name: tests, a script, a module, and suppressions."""
    program = PROGRAM.replace("THREADS", str(threads))
    indented = "".join(f"    {line}\n" for line in program.replace("'''", '"""').splitlines())
    for name in ("tests", "package"):
        (folder / name).mkdir()
    (folder / "tests" / "test_fill.py").write_text(f"def test_fill():\n{indented}")
    (folder / "train.py").write_text(f"import sys\nassert sys.argv[1:] == ['--steps', '2']\n{program}")
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "kernels.py").write_text(program)
    (folder / "accepted.toml").write_text("")


@pytest.mark.parametrize(("command", "threads"), [(COMMANDS[0], 32), *((command, 40) for command in COMMANDS)])
@pytest.mark.long
def test_the_commands_of_the_page_run_and_fail_for_errors(command: str, threads: int, tmp_path: Path) -> None:
    prepare(tmp_path, threads)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        shlex.split(command),
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**environment, "PATH": path},
    )
    shown = done.stdout + done.stderr
    assert done.returncode == (threads > 32), shown
    assert "pyptx virtual GPU (sm_90a)" in shown
    assert ("error[out-of-bounds]" in shown) == (threads > 32)


def test_the_table_lists_every_option_of_the_plugin() -> None:
    plugin = (ROOT / "packages/pyptx-virtual/src/pyptx_virtual/pytest_plugin.py").read_text(encoding="utf-8")
    options = set(re.findall(r'"(--pyptx-[\w-]+)"', plugin))
    listed = set(re.findall(r"(?m)^\| `(--pyptx-[\w-]+)", PAGE))
    assert options - listed == {"--pyptx-shadow-gpu"}
    assert listed <= options


def test_the_workflow_is_valid_and_passes_inputs_that_the_action_has(tmp_path: Path) -> None:
    (text,) = re.findall(r"(?ms)^```yaml\n(.*?)^```", PAGE)
    workflow = tmp_path / "ci.yml"
    workflow.write_text(f"name: CI\n{text}")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(workflow)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    read: Any = YAML(typ="safe", pure=True)
    (step,) = (each for each in read.load(text)["jobs"]["kernels"]["steps"] if each.get("with", {}).get("command"))
    inputs = read.load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert step["with"].keys() <= inputs.keys()
