"""The toolchain finds ptxas, executes it, and parses its log."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pyptx_ir.toolchain import AssemblyError, CubinCache, ToolchainError, assemble, disassemble, find_tool, resources
from pyptx_ir.toolchain.diagnostics import ToolMessage, locate, parse_log
from pyptx_ir.toolchain.finder import Tool, release_for, tool_version
from pyptx_ir.toolchain.resources import parse_resources
from pyptx_ir.toolchain.runner import killed_by

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

SETMAXNREG = KERNEL.replace("bar.sync 0;", "setmaxnreg.inc.sync.aligned.u32 232;")


@pytest.mark.ptxas
def test_a_kernel_becomes_an_elf_image_with_its_resources_by_entry() -> None:
    assembly = assemble(KERNEL, "sm_90a")
    assert assembly.cubin.startswith(b"\x7fELF")
    found = assembly.resources["k"]
    assert (found.entry, found.target) == ("k", "sm_90a")
    assert 0 < found.registers < 64
    assert found.barriers == 1
    assert found.shared == 1024
    assert found.spills == 0
    assert assembly.advisories == ()
    assert resources(KERNEL, "sm_90a")["k"] == found


@pytest.mark.ptxas
def test_ptxass_advice_is_kept_with_its_number() -> None:
    codes = {remark.code: remark for remark in assemble(SETMAXNREG, "sm_90a").advisories}
    assert "setmaxnreg" in codes["C7508"].message
    assert not codes["C7508"].is_error


@pytest.mark.ptxas
def test_options_reach_ptxas() -> None:
    assert len(assemble(KERNEL, "sm_90a", options=["-lineinfo"]).cubin) > len(assemble(KERNEL, "sm_90a").cubin)


@pytest.mark.ptxas
def test_a_refusal_shows_the_line_with_a_caret_and_keeps_all_remarks() -> None:
    text = KERNEL.replace("bar.sync 0", "bar.synk 0").replace("%tid.x", "%tid.q")
    with pytest.raises(AssemblyError) as caught:
        assemble(text, "sm_90a")
    lines = [remark.line for remark in caught.value.diagnostics if remark.is_error]
    assert {10, 11} <= set(lines)
    assert "for sm_90a" in caught.value.message
    assert caught.value.where is not None
    shown, caret = caught.value.where.splitlines()
    assert shown.startswith("line ")
    assert caret.strip(" ^") == ""
    assert caught.value.log


@pytest.mark.ptxas
def test_text_that_is_too_new_says_which_release_reads_it() -> None:
    with pytest.raises(ToolchainError, match=r"\.version 99\.9 is too new: ptxas .* reads PTX up to") as caught:
        assemble(KERNEL.replace("8.5", "99.9"), "sm_90a")
    assert caught.value.help is not None
    assert "pip install" in caught.value.help


@pytest.mark.ptxas
@pytest.mark.parametrize("target", ["sm_20", "sm_99"])
def test_a_target_that_ptxas_does_not_know_is_named(target: str) -> None:
    with pytest.raises(ToolchainError, match=f"does not support target {target}"):
        assemble(KERNEL, target)


@pytest.mark.ptxas
def test_a_remark_without_a_line_is_reported_too() -> None:
    with pytest.raises(AssemblyError, match=r"\.target is higher"):
        assemble(KERNEL, "sm_80")


@pytest.mark.ptxas
def test_text_that_crashes_ptxas_is_a_refusal_with_what_it_said_before() -> None:
    # After add.cc, which sets the carry flag, ptxas crashes at instructions without a type.
    text = KERNEL.replace("bar.sync 0;", "add.cc.u32 %r1, %r2, %r3; bra.cc L; abs.cc %r1, %r2;")
    with pytest.raises(ToolchainError):
        assemble(text, "sm_90a")


def test_bytes_beyond_ascii_reach_ptxas_as_they_were_read(tmp_path: Path) -> None:
    tool = fake(tmp_path, f'cp module.ptx "{tmp_path}/seen"; echo cubin > module.cubin')
    assemble(KERNEL + "// caf\udce9 \u00e9\n", "sm_90a", tool=tool)
    assert (tmp_path / "seen").read_bytes().endswith(b"// caf\xe9 \xc3\xa9\n")


def test_a_complaint_that_names_its_line_in_words_has_it_too() -> None:
    log = "ptxas fatal   : Unexpected non-ASCII character encountered on line 15\n"
    assert parse_log(log)[0].line == 15
    log = (
        "ptxas info    : (C7517) warpgroup.wait is injected in around line 21 by compiler to allow use of registers\n"
        "ptxas info    : (C7511) wgmma.mma_async instructions are serialized in the function 'k' in line 272\n"
        "ptxas info    : (C7514) wgmma.mma_async instructions are serialized in the function 'k' in line 0\n"
    )
    assert [remark.line for remark in parse_log(log)] == [21, 272, None]


@pytest.mark.ptxas
def test_disassembly_shows_the_instructions() -> None:
    sass = disassemble(assemble(KERNEL, "sm_90a").cubin)
    assert "EXIT" in sass
    assert "STG" in sass


@pytest.mark.ptxas
def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(ToolchainError, match="can't read this image"):
        disassemble(b"not a cubin")


def fake(folder: Path, script: str, name: str = "ptxas") -> Tool:
    """Write an executable that runs `script`, and return it as a tool."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return Tool(name, path, "13.0.88")


@pytest.mark.parametrize("script", ["kill -SEGV $$", "exit 139"])
def test_a_silent_crash_is_told_from_a_refusal(tmp_path: Path, script: str) -> None:
    with pytest.raises(ToolchainError, match=r"ptxas 13\.0\.88 crashed \(SIGSEGV\)") as caught:
        assemble(KERNEL, "sm_90a", tool=fake(tmp_path, script))
    assert not isinstance(caught.value, AssemblyError)


def test_a_tool_that_can_not_be_run_is_an_error(tmp_path: Path) -> None:
    missing = Tool("ptxas", tmp_path / "nowhere", "13.0")
    with pytest.raises(ToolchainError, match="can't be run"):
        assemble(KERNEL, "sm_90a", tool=missing)


def test_an_override_is_taken_and_a_wrong_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = fake(tmp_path, 'echo "Cuda compilation tools, release 12.4, V12.4.131"')
    monkeypatch.setenv("PYPTX_PTXAS", str(tool.path))
    found = find_tool("ptxas")
    assert found.path == tool.path
    assert (found.version, found.release, found.newest_ptx) == ("12.4.131", (12, 4), (8, 4))
    monkeypatch.setenv("PYPTX_PTXAS", str(tmp_path / "nowhere"))
    with pytest.raises(ToolchainError, match="PYPTX_PTXAS is"):
        find_tool("ptxas")


def test_a_version_is_asked_for_once_and_again_when_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path / "cache"))
    asked = tool_version.__wrapped__  # `tool_version` without its in-process cache
    script = f'echo >> "{tmp_path}/asked"; echo "release 13.0, V13.0.'
    for version in ("88", "88", "123", "123"):
        path = fake(tmp_path, f'{script}{version}"').path
        os.utime(path, (1, len(version)))
        assert asked(path) == f"13.0.{version}"
    assert (tmp_path / "asked").read_text(encoding="utf-8").count("\n") == 2
    assert len(CubinCache(tmp_path / "cache")) == 0
    (tmp_path / "file").touch()
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert asked(path) == "13.0.123"  # a version that can't be cached causes no warning; a cubin would


def test_a_relative_override_is_meant_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools run in temporary folders without a `./ptxas`, and a program may change its working directory."""
    tool = fake(tmp_path, 'echo "release 13.1, V13.1.2"')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYPTX_PTXAS", os.path.relpath(tool.path))
    assert find_tool("ptxas").path == tool.path
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    with pytest.raises(ToolchainError, match="which is not a file"):
        find_tool("ptxas")
    monkeypatch.setenv("PYPTX_PTXAS", os.path.relpath(tool.path))
    found = find_tool("ptxas").path
    assert found.is_absolute()
    assert found.samefile(tool.path)


def test_wheels_path_and_toolkit_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("site/nvidia/cu13/bin", "path", "toolkit/bin"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    name = "nvfrob"
    with pytest.raises(ToolchainError, match="nvfrob is not installed"):
        find_tool(name)
    for i, folder in enumerate(("toolkit/bin", "path", "site/nvidia/cu13/bin")):
        tool = fake(tmp_path / folder, f'echo "release 13.{i}, V13.{i}.1"', name)
        monkeypatch.setenv("CUDA_PATH", f"{i}")  # a changed environment, so that the tool is looked up again
        assert find_tool(name).path == tool.path


def test_a_missing_tool_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyptx_ir.toolchain.finder._pathfinder", lambda _: None)
    for name in ("PATH", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(ToolchainError, match="fatbinary is not installed") as caught:
        find_tool("fatbinary")
    assert caught.value.help is not None
    assert caught.value.help.startswith("pip install nvidia-cuda-nvcc")


@pytest.mark.parametrize(
    ("version", "newest"),
    [
        ("11.8.89", (7, 8)),
        ("12.6.1", (8, 5)),
        ("12.9.86", (8, 8)),
        ("13.0.88", (9, 0)),
        ("13.5.37", (9, 5)),
        ("", (0, 0)),
    ],
)
def test_releases_are_paired_with_the_newest_ptx_they_read(version: str, newest: tuple[int, int]) -> None:
    tool = Tool("ptxas", Path("ptxas"), version)
    assert tool.newest_ptx == newest
    if newest not in {(0, 0), (8, 5)}:
        assert release_for(newest) == tool.release
    assert release_for((8, 5)) == (12, 5)


LOG = """\
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k2' for 'sm_90a'
ptxas info    : Function properties for k2
    128 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 10 registers, used 2 barriers, 128 bytes cumulative stack size, 16 bytes smem, \
368 bytes cmem[0], 8 bytes cmem[2], 3 textures
ptxas info    : Function properties for helper
    9 bytes stack frame, 9 bytes spill stores, 9 bytes spill loads
ptxas info    : Compile time = 1.519 ms
ptxas warning : Double is not supported. Demoting to float
ptxas a b.ptx, line 24; error   : Unknown symbol '%f'
ptxas fatal   : Ptx assembly aborted due to errors
"""


def test_a_log_is_read_remark_by_remark_without_the_statistics() -> None:
    assert [(remark.severity, remark.line, remark.code) for remark in parse_log(LOG)] == [
        ("info", None, "C7508"),
        ("warning", None, None),
        ("error", 24, None),
    ]


def test_resources_are_read_entry_by_entry_and_functions_do_not_mix_in() -> None:
    found = parse_resources(LOG)
    assert set(found) == {"k2"}
    k2 = found["k2"]
    assert (k2.registers, k2.barriers, k2.stack, k2.spill_stores, k2.spill_loads) == (10, 2, 128, 4, 8)
    assert (k2.shared, k2.cumulative_stack, k2.constant, k2.textures) == (16, 128, ((0, 368), (2, 8)), 3)
    assert k2.spills == 12


def test_the_caret_stands_under_the_word_that_is_quoted() -> None:
    shown = locate("a\n\tadd.u32 %r1, %f;\n", ToolMessage("error", "Unknown symbol '%f'", 2))
    assert shown is not None
    line, caret = shown.splitlines()
    assert line[caret.index("^") :].startswith("%f")
    assert locate("a", ToolMessage("error", "x", 9)) is None
    assert locate("a", ToolMessage("error", "x")) is None


@pytest.mark.parametrize(("status", "name"), [(-11, "SIGSEGV"), (139, "SIGSEGV"), (255, None), (1, None), (0, None)])
def test_exit_statuses_tell_signals(status: int, name: str | None) -> None:
    assert killed_by(status) == name


@pytest.mark.ptxas
def test_importing_the_toolchain_runs_and_imports_nothing_heavy() -> None:
    import subprocess
    import sys

    source = (
        "import sys; import pyptx_ir.toolchain;"
        "assert not {'subprocess', 'hashlib', 'tempfile', 'shutil'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", source], check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
