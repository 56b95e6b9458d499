"""Files for contributors outside the project: .github, hooks, editor settings, and the commands of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import configparser
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
FORGE = ROOT / ".github"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FORMS = "vendor.github-issue-forms"
SCHEMAS = {  # schema of check-jsonschema for each file of .github
    "dependabot.yml": "vendor.dependabot",
    "ISSUE_TEMPLATE/bug.yml": FORMS,
    "ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
    "ISSUE_TEMPLATE/feature.yml": FORMS,
    "workflows/ci.yml": "vendor.github-workflows",
    "workflows/wheels.yml": "vendor.github-workflows",
}
WORKFLOWS = [name for name in SCHEMAS if name.startswith("workflows/")]


def read(path: Path) -> Any:
    """Return the contents of a YAML file; in YAML 1.2 the key `on` of a workflow is a string."""
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def valid(schema: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Validate a file against a built-in schema, which needs no network."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def steps(workflow: str) -> list[dict[str, Any]]:
    return [step for job in read(FORGE / workflow)["jobs"].values() for step in job["steps"]]


def section(title: str) -> str:
    """Return the text of a section of CONTRIBUTING.md."""
    (text,) = re.findall(rf"(?ms)^## {title}\n(.*?)(?=^## |\Z)", CONTRIBUTING)
    return text


def commands(title: str) -> list[str]:
    """Return the commands in the first `sh` block of a section, without comments."""
    block = re.findall(r"(?ms)^```sh\n(.*?)^```", section(title))[0]
    return [line.partition("  #")[0].strip() for line in block.splitlines()]


def session_names() -> list[str]:
    """Return the names of the nox sessions, as `nox -l` lists them."""
    found = []
    for node in ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8")).body:
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            if re.match(r"nox\.session\b", ast.unparse(decorator)):
                named = re.search(r"name='([^']+)'", ast.unparse(decorator))
                found.append(named[1] if named else node.name)
    return found


def released() -> list[str]:
    """Return the packages of this repository in the order of their release, dependencies first."""
    tree = ast.parse((ROOT / "tools/installation.py").read_text(encoding="utf-8"))  # importing it needs nox
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    (packages,) = (node.value for node in assigned if ast.unparse(node.targets[0]) == "PACKAGES")
    return list(ast.literal_eval(packages))


def test_every_yaml_file_of_the_forge_has_a_schema() -> None:
    assert {path.relative_to(FORGE).as_posix() for path in FORGE.rglob("*.y*ml")} == SCHEMAS.keys()


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_of_the_forge_is_valid_for_its_schema(name: str) -> None:
    done = valid(SCHEMAS[name], FORGE / name)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schema_refuses_a_misspelled_key(tmp_path: Path) -> None:
    wrong = tmp_path / "ci.yml"
    wrong.write_text((FORGE / "workflows/ci.yml").read_text(encoding="utf-8").replace("runs-on", "run-on"))
    assert valid("vendor.github-workflows", wrong).returncode == 1


def test_the_checks_of_the_workflow_are_the_commands_that_contributing_shows() -> None:
    assert [step["run"] for step in steps("workflows/ci.yml") if "run" in step] == commands("Continuous integration")
    assert commands("Continuous integration") == [".ci/run"]
    workflow = read(FORGE / "workflows/ci.yml")
    assert workflow["on"] == {"push": {"branches": ["main"]}, "pull_request": None}
    (version,) = (step["with"]["python-version"] for step in steps("workflows/ci.yml") if "python" in str(step))
    assert PYPROJECT["project"]["requires-python"] == f">={version}"


def test_only_a_person_starts_the_publication() -> None:
    workflow = read(FORGE / "workflows/wheels.yml")
    assert list(workflow["on"]) == ["workflow_dispatch"]
    assert workflow["on"]["workflow_dispatch"]["inputs"]["package"]["options"] == released()
    publish = workflow["jobs"]["publish"]
    assert publish["environment"] == "release"
    assert "refs/tags/{0}-v" in publish["if"]
    uses = {name: [step.get("uses", "") for step in job["steps"]] for name, job in workflow["jobs"].items()}
    assert [name for name, used in uses.items() if any("pypi-publish" in use for use in used)] == ["publish"]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_have_few_rights_and_a_time_limit(name: str) -> None:
    workflow = read(FORGE / name)
    assert workflow["permissions"] == {"contents": "read"}
    assert "concurrency" in workflow
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    rights = {job: each["permissions"] for job, each in workflow["jobs"].items() if "permissions" in each}
    assert rights == ({"publish": {"id-token": "write"}} if name.endswith("wheels.yml") else {})
    for step in steps(name):
        assert "uses" not in step or re.search(r"@(v\d+|release/v\d+)$", step["uses"]), step
        assert "${{" not in step.get("run", ""), "an expression in a command is expanded before the shell quotes it"


def test_the_compiled_wheels_are_those_of_the_supported_versions() -> None:
    table = tomllib.loads((ROOT / "packages/pyptx-launch/pyproject.toml").read_text(encoding="utf-8"))
    oldest = table["project"]["requires-python"].removeprefix(">=").replace(".", "")
    stable = table["tool"]["scikit-build"]["wheel"]["py-api"]
    assert table["tool"]["cibuildwheel"]["build"] == [f"cp{oldest}-manylinux_*", f"{stable}-manylinux_*"]
    matrix = read(FORGE / "workflows/wheels.yml")["jobs"]["compiled"]["strategy"]["matrix"]["include"]
    assert [row["machine"] for row in matrix] == ["x86_64", "aarch64"]


def test_the_hooks_install_what_the_sessions_install() -> None:
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    groups = PYPROJECT["dependency-groups"]
    wanted = {"ruff": groups["lint"], "check-jsonschema": groups["schemas"]}
    for hook in repository["hooks"]:
        assert hook["additional_dependencies"] == wanted[hook["entry"].split()[0]]
    schemas = {hook["entry"].split()[-1]: re.compile(hook["files"]) for hook in repository["hooks"] if "files" in hook}
    for name, schema in SCHEMAS.items():
        assert [each for each, files in schemas.items() if files.search(f".github/{name}")] == [schema]


def test_editors_have_the_limits_of_the_linter() -> None:
    settings = configparser.ConfigParser()
    settings.read_string(f"[top]\n{(ROOT / '.editorconfig').read_text(encoding='utf-8')}")
    assert settings["top"]["root"] == "true"
    everywhere = settings["*"]
    assert int(everywhere["max_line_length"]) == PYPROJECT["tool"]["ruff"]["line-length"]
    assert [everywhere[key] for key in ("charset", "end_of_line", "indent_style")] == ["utf-8", "lf", "space"]
    data = [settings[name] for name in settings.sections() if "corpus/**" in name or "ptx" in name]
    assert len(data) == 2
    assert all(kept["trim_trailing_whitespace"] == kept["insert_final_newline"] == "unset" for kept in data)


def test_contributing_has_a_row_for_each_session() -> None:
    rows = re.findall(r"(?m)^\| `([\w.-]+)` \|", section("Sessions"))
    assert rows == session_names()
    assert len(rows) > 20


def test_the_commands_for_one_test_name_tests_that_exist() -> None:
    shown = [words for line in commands("Run one test") for words in line.split() if words.startswith("packages/")]
    assert len(shown) >= 2
    for word in shown:
        path, _, function = word.partition("::")
        assert f"def {function}" in (ROOT / path).read_text(encoding="utf-8")


def test_the_bug_form_asks_for_everything_that_reproduces_a_bug() -> None:
    fields = {field["id"]: field for field in read(FORGE / "ISSUE_TEMPLATE/bug.yml")["body"] if "id" in field}
    assert list(fields) == ["doctor", "kernel", "command", "expected", "actual"]
    assert all(field["validations"]["required"] for field in fields.values())
    assert "pyptx doctor" in fields["doctor"]["attributes"]["label"]
