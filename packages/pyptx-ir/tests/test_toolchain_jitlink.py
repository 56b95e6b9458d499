"""nvJitLink replaces a missing ptxas, with the same cubins, resources and errors as ptxas."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.toolchain import (
    AssemblyError,
    CubinCache,
    MissingToolError,
    ToolchainError,
    assemble,
    disassemble,
    find_compiler,
    find_tool,
    jitlink,
)
from pyptx_ir.toolchain.jitlink import find_nvjitlink

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = """\
.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{
\t.reg .b32 %r<4>;
\t.reg .b64 %rd<4>;
\t.shared .b8 s[1024];
\tld.param.u64 %rd1, [p];
\tmov.u32 %r1, %tid.x;
\tbar.sync 0;
\tst.global.u32 [%rd1], %r1;
\tret;
}
"""

pytestmark = pytest.mark.ptxas  # skipped without pyptx-ir[toolchain], which installs ptxas and nvJitLink


@pytest.fixture
def without_ptxas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide every ptxas from the tool lookup, but not nvJitLink."""
    monkeypatch.setattr("pyptx_ir.toolchain.finder._pathfinder", lambda _: None)
    monkeypatch.setattr("pyptx_ir.toolchain.finder.WHEEL_FOLDERS", ())
    monkeypatch.delenv("PYPTX_PTXAS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))


@pytest.fixture
def without_nvjitlink(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> None:
        raise RuntimeError(name)

    monkeypatch.setattr("cuda.pathfinder.load_nvidia_dynamic_lib", nowhere)
    jitlink._find.cache_clear()


def test_both_compilers_report_the_same_resources() -> None:
    linked = assemble(KERNEL, "sm_90a", tool=find_nvjitlink())
    assert linked.resources == assemble(KERNEL, "sm_90a", tool=find_tool("ptxas")).resources
    assert linked.resources["k"].shared == 1024
    assert linked.advisories == ()
    assert "STG" in disassemble(linked.cubin)


def test_advice_is_kept() -> None:
    text = KERNEL.replace("bar.sync 0;", "setmaxnreg.inc.sync.aligned.u32 232;")
    advisories = assemble(text, "sm_90a", tool=find_nvjitlink()).advisories
    assert any("'setmaxnreg' ignored" in remark.message and remark.code for remark in advisories)


def test_options_reach_it() -> None:
    tool = find_nvjitlink()
    plain = assemble(KERNEL, "sm_90a", tool=tool)
    assert len(assemble(KERNEL, "sm_90a", tool=tool, options=["-lineinfo"]).cubin) > len(plain.cubin)


def test_a_refusal_points_at_the_line_that_ptxas_would_point_at() -> None:
    text = KERNEL.replace("bar.sync 0", "bar.synk 0").replace("%tid.x", "%tid.q")
    errors = []
    for tool in (find_nvjitlink(), find_tool("ptxas")):
        with pytest.raises(AssemblyError, match=f"{tool.name} rejects the PTX for sm_90a: Unknown") as caught:
            assemble(text, "sm_90a", tool=tool)
        errors.append(caught.value)
    assert errors[0].where == errors[1].where
    assert [one.line for one in errors[0].diagnostics] == [one.line for one in errors[1].diagnostics]


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        (KERNEL.replace("8.5", "99.9"), "sm_90a", r"\.version 99\.9 is too new: nvJitLink .* reads PTX up to"),
        (KERNEL, "sm_99", "nvJitLink .* does not support target sm_99"),
        (KERNEL, "sm_80", r"\.target is higher"),
    ],
)
def test_what_it_cannot_do_is_said_as_ptxas_would_say_it(text: str, target: str, message: str) -> None:
    with pytest.raises(ToolchainError, match=message):
        assemble(text, target, tool=find_nvjitlink())


def test_an_option_that_it_does_not_know_is_an_error() -> None:
    with pytest.raises(AssemblyError, match="nvJitLink rejects the PTX for sm_90a: Unknown option"):
        assemble(KERNEL, "sm_90a", tool=find_nvjitlink(), options=["--no-such-thing"])


def test_ptxas_is_asked_first() -> None:
    assert find_compiler() == find_tool("ptxas")


@pytest.mark.usefixtures("without_ptxas")
def test_without_ptxas_it_does_the_work_and_caches_under_its_own_name(tmp_path: Path) -> None:
    tool = find_compiler()
    assert (tool.name, tool.newest_ptx >= (9, 0)) == ("nvJitLink", True)
    cache = CubinCache(tmp_path / "cache")
    first = assemble(KERNEL, "sm_90a", cache=cache)
    assert cache.key(KERNEL, "sm_90a", (), tool.identity) in cache
    assert assemble(KERNEL, "sm_90a", cache=cache) == first


@pytest.mark.usefixtures("without_ptxas", "without_nvjitlink")
def test_without_both_the_error_names_ptxas_and_what_to_install() -> None:
    with pytest.raises(MissingToolError, match="ptxas is not installed") as caught:
        assemble(KERNEL, "sm_90a")
    assert caught.value.help is not None
    assert caught.value.help.startswith("pip install nvidia-cuda-nvcc")
    with pytest.raises(MissingToolError, match="nvJitLink is not installed"):
        find_nvjitlink()


def test_an_override_is_taken_and_a_wrong_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_nvjitlink()
    monkeypatch.setenv("PYPTX_NVJITLINK", str(found.path))
    assert find_nvjitlink() == found
    copied = tmp_path / "libnvJitLink.so.13"
    copied.write_bytes(found.path.read_bytes())
    monkeypatch.setenv("PYPTX_NVJITLINK", str(copied))
    with pytest.raises(ToolchainError, match=f"is {copied}, but this process has already loaded {found.path}"):
        find_nvjitlink()
    monkeypatch.setenv("PYPTX_NVJITLINK", str(tmp_path / "nowhere"))
    with pytest.raises(ToolchainError, match=r"PYPTX_NVJITLINK is .* not a file"):
        find_nvjitlink()
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    monkeypatch.setenv("PYPTX_NVJITLINK", str(broken))
    with pytest.raises(ToolchainError, match="can't be loaded"):
        find_nvjitlink()


OVERRIDDEN = """
import os, sys
from pathlib import Path
from pyptx_ir.toolchain.jitlink import find_nvjitlink, link
tool = find_nvjitlink()
cubin, outcome = link(tool, Path(sys.argv[1]).read_text(), "sm_90a", ())
print(tool.path, tool.version, cubin[:4], outcome.status, outcome.signal)
"""


def test_an_override_that_is_set_in_time_does_the_work(tmp_path: Path) -> None:
    """PYPTX_NVJITLINK names a link to the library, under a name that no search finds."""
    found, copied = find_nvjitlink(), tmp_path / "mine.so"
    copied.symlink_to(found.path)
    (tmp_path / "k.ptx").write_text(KERNEL, encoding="utf-8")
    environment = os.environ | {"PYPTX_NVJITLINK": str(copied)}
    command = [sys.executable, "-c", OVERRIDDEN, str(tmp_path / "k.ptx")]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.split()[1:] == [found.version, r"b'\x7fELF'", "0", "None"]


def test_without_its_bindings_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvjitlink", None)
    jitlink._find.cache_clear()
    with pytest.raises(MissingToolError, match="nvJitLink cannot be called without cuda-bindings") as caught:
        find_nvjitlink()
    assert caught.value.help == "pip install cuda-bindings nvidia-nvjitlink"


def test_bindings_that_want_a_driver_first_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("CUDA driver is not found")

    monkeypatch.setattr("cuda.bindings.nvjitlink.version", refuse)
    jitlink._find.cache_clear()
    with pytest.raises(ToolchainError, match=r"cuda-bindings cannot call .*: CUDA driver is not found") as caught:
        find_nvjitlink()
    assert caught.value.help == "pip install --upgrade cuda-bindings"
