"""`pyptx doctor` reports present, missing and broken parts of the installation; only broken parts make it fail."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.plugin_contract.conftest import IMPORTS
from tools.forks import Forks

from pyptx_ir.commands import main
from pyptx_ir.doctor import installation
from pyptx_ir.origins import install_command
from pyptx_ir.plugins.homes import Home
from pyptx_ir.plugins.rows import Diagnosis
from pyptx_ir.toolchain import jitlink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Exit status of `pyptx doctor`, and the JSON object of each line of its report, by the subject of the line.
Report = tuple[int, dict[str, dict[str, Any]]]

NULL_DRIVER = Path(__file__).resolve().parents[2] / "packages" / "pyptx-launch" / "tests" / "null_driver.py"
QUICK = ("jax", "torch")  # plugins that the tests disable, because importing their frameworks takes seconds


PROGRAM = """
import os, sys
sys.path[:0] = {path!r}
{before}
from pyptx_ir.plugins import discovery, manager
found = discovery.discover()
manager.manager()._discover = lambda: [one for one in found if one.name not in {leave_out!r}]
from pyptx_ir.commands import main
status = main(["doctor", "--json"])
assert not os.fstat(2).st_size  # nothing was written to stderr
print(status)
"""


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """Return a process that has imported pyptx."""
    process = Forks(IMPORTS, os.environ)
    yield process
    process.close()


@pytest.fixture
def report(forks: Forks, tmp_path: Path) -> Callable[..., Report]:
    """Return `reported` for the folder of a test."""
    return partial(reported, forks, tmp_path)


def reported(
    forks: Forks,
    folder: Path,
    environment: Mapping[str, str],
    *,
    before: str = "",
    leave_out: tuple[str, ...] = QUICK,
) -> Report:
    """Run `pyptx doctor` in its own process; return its exit status, and each line of the report by its subject."""
    path = list(filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)))
    program = PROGRAM.format(path=path, before=before, leave_out=leave_out)
    printed = forks.run(folder, program, {"PYPTX_LIBCUDA": str(folder / "no-driver.so"), **environment})
    lines, _, status = printed.rstrip().rpartition("\n")
    return int(status), {row["subject"]: row for row in json.loads(lines)["details"]["results"]}


@pytest.fixture(scope="module")
def as_it_is(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the report of one run in the unchanged environment, but without a CUDA driver."""
    return reported(forks, tmp_path_factory.mktemp("as_it_is"), {})


def plugin(folder: Path, name: str, body: str) -> dict[str, str]:
    """Write a plugin; return the environment variables that enable it."""
    folder.mkdir(exist_ok=True)
    text = f"from pyptx_ir.plugins import API_VERSION, hookimpl\nfrom pyptx_ir.plugins.rows import *\n{body}"
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return {"PYPTX_PLUGINS": name, "PYTHONPATH": str(folder)}


VERSION = "@hookimpl\ndef pyptx_api_version(): return API_VERSION\n@hookimpl\n"


def test_what_is_here_is_told_with_its_version(as_it_is: Report) -> None:
    status, lines = as_it_is
    assert status == 0
    assert lines["python"]["found"].startswith(f"CPython {sys.version_info[0]}.{sys.version_info[1]}")
    assert "pyptx-dsl 0." in lines["pyptx"]["found"]
    assert {"baseline", "dsl", "sim"} <= set(lines["plugins"]["found"].split(", "))
    assert "runs NumPy arrays" in lines["simulator"]["found"]
    assert {row["state"] for row in lines.values()} <= {"ok", "missing"}
    assert all(set(row) == {"subject", "state", "found", "help"} for row in lines.values())


@pytest.mark.ptxas
def test_tools_are_told_with_the_newest_ptx_that_they_read(as_it_is: Report) -> None:
    _, lines = as_it_is
    for name in ("ptxas", "nvJitLink"):
        assert lines[name]["state"] == "ok"
        assert "reads PTX up to " in lines[name]["found"]
    assert lines["nvdisasm"]["state"] == "ok"


@pytest.mark.torch
@pytest.mark.jax
@pytest.mark.long
def test_frameworks_say_whether_they_see_a_gpu(report: Callable[..., Report]) -> None:
    _, lines = report({"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}, leave_out=())
    for name in QUICK:
        assert lines[name]["state"] == "ok"
        assert "found no GPU" in lines[name]["found"]


def test_without_a_driver_it_is_missing_and_nothing_is_broken(as_it_is: Report) -> None:
    status, lines = as_it_is
    assert (status, lines["driver"]["state"]) == (0, "missing")
    assert "no CUDA driver" in lines["driver"]["found"]
    assert "driver" in lines["driver"]["help"]


@pytest.mark.parametrize(
    ("capability", "said"),
    [(90, "sm_90, 132 SMs, 80 GiB; runs kernels of the default arch, sm_90a"), (80, "does not run the")],
)
def test_devices_are_told_with_what_they_run(report: Callable[..., Report], capability: int, said: str) -> None:
    spec = importlib.util.spec_from_file_location("null_driver", NULL_DRIVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    library = str(module.build())
    before = f"import ctypes; ctypes.CDLL({library!r}).null_driver_set(b'capability', {capability})"
    status, lines = report({"PYPTX_LIBCUDA": library}, before=before)
    assert status == 0
    assert lines["driver"]["found"] == "CUDA 13.0, 2 devices"
    assert said in lines["device 1"]["found"]
    assert (lines["device 1"]["help"] is None) == (capability == 90)


@pytest.mark.parametrize(
    ("body", "subject", "said"),
    [
        ("1 / 0", "plugin", "plugin 'sick' (PYPTX_PLUGINS) failed to import: ZeroDivisionError"),
        ("", "plugin", "has no plugin API version"),
        (VERSION + "def pyptx_doctor_checks(): raise OSError('no')", "plugins", "pyptx_doctor_checks of plugin 'sick'"),
        (
            VERSION + "def pyptx_doctor_checks(): return [DoctorCheck('sickness', lambda: 1 / 0)]",
            "sickness",
            "ZeroDivisionError: division by zero",
        ),
        (
            VERSION + "def pyptx_runtimes(): return [Runtime('sim', 0, bool, print)]",
            "plugins",
            "'sim' is provided by both",
        ),
    ],
    ids=["import", "version", "hook", "check", "clash"],
)
def test_a_broken_plugin_is_named_and_the_rest_is_told_all_the_same(
    report: Callable[..., Report], tmp_path: Path, body: str, subject: str, said: str
) -> None:
    status, lines = report(plugin(tmp_path / "site", "sick", body))
    assert (status, lines[subject]["state"]) == (1, "broken")
    assert said in lines[subject]["found"]
    assert lines[subject]["help"]
    assert {"python", "cubin cache", "driver"} <= set(lines)


def test_a_plugin_adds_lines(report: Callable[..., Report], tmp_path: Path) -> None:
    body = (
        VERSION + "def pyptx_doctor_checks(): return [DoctorCheck('acme', lambda: [Diagnosis('acme', 'ok', 'fine')])]"
    )
    status, lines = report(plugin(tmp_path / "site", "healthy", body))
    assert (status, lines["acme"]["found"]) == (0, "fine")


def test_versions_that_do_not_go_together_are_broken(report: Callable[..., Report], tmp_path: Path) -> None:
    for name, version in (("pyptx_sim", "0.9.0"), ("pyptx_ir", "0.9.1")):
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    record = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    (tmp_path / "pyptx_ir-0.9.1.dist-info" / "direct_url.json").write_text(json.dumps(record), encoding="utf-8")
    status, lines = report({"PYTHONPATH": str(tmp_path)})
    assert (status, lines["pyptx"]["state"]) == (1, "broken")
    origins = lines["pyptx"]["found"].splitlines()
    assert f"pyptx-ir 0.9.1: from {tmp_path}, editable" in origins
    assert "pyptx-sim 0.9.0: from a package index or a folder of wheels" in origins
    older, _, command = lines["pyptx"]["help"].partition(": ")
    assert "pyptx-dsl" in older
    assert "pyptx-sim" not in older
    assert re.search(r"pip install .*\[sim\b.*\]", command)


def test_a_cache_that_cannot_be_written_is_a_warning(report: Callable[..., Report], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    status, lines = report({"PYPTX_CACHE_DIR": str(tmp_path / "file" / "cache")})
    assert (status, lines["cubin cache"]["state"]) == (0, "warning")
    assert "is not writable" in lines["cubin cache"]["found"]
    assert "PYPTX_CACHE_DIR" in lines["cubin cache"]["help"]
    fresh = tmp_path / "not" / "yet"
    _, lines = report({"PYPTX_CACHE_DIR": str(fresh)})
    assert lines["cubin cache"]["state"] == "ok"


@pytest.fixture
def no_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide all CUDA tools: no wheel, module or environment variable leads to one."""
    monkeypatch.setattr("pyptx_ir.toolchain.finder._pathfinder", lambda _: None)
    monkeypatch.setattr("pyptx_ir.toolchain.finder.WHEEL_FOLDERS", ())
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvjitlink", None)
    jitlink._find.cache_clear()  # the search for nvJitLink caches its result
    for name in ("PATH", "CUDA_HOME", "CUDA_PATH", "PYPTX_PTXAS", "PYPTX_LIBCUDA"):
        monkeypatch.setenv(name, str(tmp_path) if name != "PYPTX_PTXAS" else "")


@pytest.mark.usefixtures("no_tools")
def test_missing_tools_are_told_with_what_they_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    from pyptx_ir.doctor.tools import tools

    lines = {line.subject: line for line in tools()}
    assert {line.state for line in lines.values()} == {"missing"}
    assert lines["ptxas"].found == "ptxas is not installed: it compiles PTX to machine code"
    assert str(lines["nvJitLink"].help) == "pip install cuda-bindings nvidia-nvjitlink"
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert any(re.match("missing +ptxas +ptxas is not installed", line) for line in shown)
    assert any(line.strip().startswith("help: pip install nvidia-cuda-nvcc") for line in shown)


@pytest.mark.parametrize("script", ["", "#!/bin/sh\necho hello\n"])
def test_a_tool_that_does_not_work_is_broken(report: Callable[..., Report], tmp_path: Path, script: str) -> None:
    path = tmp_path / "ptxas"
    path.write_text(script, encoding="utf-8")
    path.chmod(0o755)
    status, lines = report({"PYPTX_PTXAS": str(path)})
    assert (status, lines["ptxas"]["state"]) == (1, "broken")


def test_a_framework_without_its_runtime_and_a_missing_simulator_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "HOMES", (Home("pyptx-numpy", extra="numpy", frameworks=("numpy",)),))
    monkeypatch.setattr(installation, "SIMULATOR", "pyptx_simulator")
    simulator, line = installation.frameworks()
    assert (simulator.subject, simulator.state) == ("simulator", "missing")
    assert (line.subject, line.state, line.help) == ("numpy", "missing", install_command("numpy"))


def test_a_command_called_wrongly_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--loudly"]) == 2
    assert "usage: pyptx doctor" in capsys.readouterr().err


def test_lines_are_aligned_and_counted() -> None:
    from pyptx_ir.doctor.command import _as_text

    found = (Diagnosis("ptxas", "ok", "13.0"), Diagnosis("driver", "broken", "one\ntwo", "mend it"))
    assert _as_text(found) == (
        "ok      ptxas   13.0\n"
        "broken  driver  one\n"
        "                two\n"
        "                help: mend it\n"
        "1 ok, 1 broken\n"
    )
