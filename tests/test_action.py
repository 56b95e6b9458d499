"""action.yml: the GitHub Action that checks kernels on a virtual GPU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
ACTION = ROOT / "action.yml"
PROGRAM = """
import pyptx_virtual

PTX = '''
.version 8.0
.target sm_90
.address_size 64
.visible .entry fill(.param .u64 x) {
  .reg .b32 %r<2>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd1;
  st.global.u32 [%rd1], %r1; ret;
}
'''
context = pyptx_virtual.active().context
context.launch(PTX, grid=1, block=THREADS, args=[context.memory.allocate(128, "x")])
"""


def read() -> Any:
    return YAML(typ="safe", pure=True).load(ACTION.read_text(encoding="utf-8"))


def ran(folder: Path, step: str, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the shell command of a step as the forge runs it, with the action's defaults and `inputs`."""
    action = read()
    (found,) = (each for each in action["runs"]["steps"] if each["name"] == step)
    assert found["shell"] == "bash"
    given = {name: row["default"] for name, row in action["inputs"].items()} | inputs
    environment = {name: value.replace("${{ inputs.", "").rstrip(" }") for name, value in found["env"].items()}
    bin_first = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [shutil.which("bash") or "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            **{name: given[key] for name, key in environment.items()},
            "PATH": bin_first,
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        },
    )


def test_the_action_is_valid_for_its_schema(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions"]
    assert subprocess.run([*command, str(ACTION)], check=False, capture_output=True).returncode == 0
    wrong = tmp_path / "action.yml"
    wrong.write_text(ACTION.read_text(encoding="utf-8").replace("using: composite", "using: composition"))
    assert subprocess.run([*command, str(wrong)], check=False, capture_output=True).returncode == 1


def test_inputs_reach_the_shell_through_its_environment_only() -> None:
    for step in read()["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert all(f"${name}" in step["run"] for name in step.get("env", {}))


@pytest.mark.parametrize(("threads", "status"), [("32", 0), ("40", 1)])
@pytest.mark.long
def test_findings_fail_the_step_and_are_annotated_and_summarized(tmp_path: Path, threads: str, status: int) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace("THREADS", threads))
    done = ran(tmp_path, "Run on a virtual GPU", command="program.py 'two words'")
    assert done.returncode == status, done.stderr
    assert ("::error" in done.stdout) == bool(status)
    summary = (tmp_path / "summary.md").read_text()
    assert "### pyptx: 1 launch on pyptx virtual GPU (sm_90a)" in summary
    assert ("| `fill` | 1 | " in summary, "error[out-of-bounds]" in summary) == (True, bool(status))


@pytest.mark.long
def test_a_program_that_launches_nothing_fails_unless_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print('nothing')\n")
    assert ran(tmp_path, "Run on a virtual GPU", command="program.py").returncode == 1
    allowed = {"require-launches": "false"}
    assert ran(tmp_path, "Run on a virtual GPU", command="program.py", **allowed).returncode == 0


def test_suppressions_are_applied(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace("THREADS", "40"))
    (tmp_path / "accepted.toml").write_text(
        '[[suppression]]\nrule = "out-of-bounds"\nkernel = "fill"\nreason = "a test"\n'
    )
    assert ran(tmp_path, "Run on a virtual GPU", command="program.py", suppressions="accepted.toml").returncode == 0
