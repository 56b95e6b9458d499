"""`pyptx sim`: launches of PTX files from a shell."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from pyptx_ir.commands import main
from pyptx_sim.numerics.formats import widen_bf16
from pyptx_sim.specifications import arguments

from .ptx_text import module

PARAMETERS = ".param .u64 out, .param .u64 x, .param .u32 n"
ADD = (
    "ld.param.u64 %rd2, [x]; ld.param.u32 %r1, [n]; mad.wide.u32 %rd2, %r0, 4, %rd2;\n"
    "ld.global.u32 %r2, [%rd2]; add.u32 %r2, %r2, %r1; st.global.u32 [%rd1], %r2;"
)


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "add.ptx"
    path.write_text(module(ADD, PARAMETERS))
    return str(path)


def words(*specs: str, block: int = 32) -> list[str]:
    return ["--block", str(block), *(word for spec in specs for word in ("--arg", spec))]


def test_a_launch_writes_its_arrays_and_says_what_it_counted(
    kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "sum.npy"
    given = words("u32[32]", "u32[32]=arange", "0x10")
    assert main(["sim", kernel, *given, "--save", f"out={saved}", "--seed", "3", "--delay-async"]) == 0
    assert np.load(saved).tolist() == list(range(16, 48))
    assert capsys.readouterr().out == "no findings: 10 instructions of 1 warp in 1 CTA\n"
    np.save(tmp_path / "x.npy", np.full(32, 5, np.uint32))
    given = words("u32[32]", str(tmp_path / "x.npy"), "1")
    assert main(["sim", kernel, *given, "--save", "0=-"]) == 0
    assert "[6 6 6" in capsys.readouterr().out


def test_the_image_that_defines_the_entry_is_launched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [
        module(ADD.replace("add.u32", name), PARAMETERS).replace("entry k", f"entry {name[:3]}")
        for name in ("add.u32", "sub.u32")
    ]
    listing = tmp_path / "k.txt"
    listing.write_text("".join(f"\nFatbin ptx code:\n================\narch = sm_80\n\n{text}" for text in texts))
    given = [*words("u32[32]", "u32[32]=arange", "1"), "--save", "0=-"]
    assert main(["sim", str(listing), "--entry", "sub", *given]) == 0
    assert "[4294967295          0" in capsys.readouterr().out
    assert main(["sim", f"{listing}#1", *given]) == 0
    assert "[ 1  2  3" in capsys.readouterr().out
    assert main(["sim", str(listing), *given]) == 2
    listing.write_text(listing.read_text().replace(".target sm_90", ".target sm_80", 1))
    assert main(["sim", str(listing), "--entry", "sub", *given]) == 2
    assert "contains modules for several targets" in capsys.readouterr().err
    assert main(["sim", str(listing), "--arch", "sm_80", *given]) == 0


def test_findings_are_printed_and_are_the_status(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", kernel, *words("u32[32]", "input:u32[31]=zeros", "1")]) == 1
    told = capsys.readouterr().out
    assert told.startswith(
        "error[out-of-bounds]: invalid global read of 4 bytes: 0 bytes after argument 1 'input' (124 bytes)"
    )
    assert "read by thread (31, 0, 0) of CTA (0, 0, 0)" in told
    assert told.endswith("1 error: 10 instructions of 1 warp in 1 CTA\n")
    assert main(["sim", kernel, *words("u32[32]", "u32[32]", "1")]) == 1
    assert "uninitialized-memory" in capsys.readouterr().out
    assert main(["sim", kernel, *words("u32[32]", "u32[32]", "1"), "--checks", "global-race,out-of-bounds"]) == 0


def test_an_entry_says_how_large_its_blocks_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(module("st.global.u32 [%rd1], %r0;").replace("{\n", ".reqntid 8\n{\n", 1))
    assert main(["sim", str(path), "--arg", "u32[8]", "--save", "out=-"]) == 0
    assert "[0 1 2 3 4 5 6 7]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--arg", "1"], "k has no CTA size"),
        (words("1"), "expected 3 arguments, got 1"),
        (words("u32[32]", "nowhere.npy", "1"), "invalid argument 'nowhere.npy': not a value, and no such file"),
        (words("u32[32]", "u33[2]", "1"), "unknown element type 'u33'"),
        (words("u32[32]", "u32[2]=many", "1"), "invalid array contents 'many'"),
        (words("u32[32]", "u32[2]", "s32=q"), "expected a number, got 'q'"),
        (words("u32[32]", "f32[2]=zeros@Nothing(a=1)", "1"), "no plugin provides descriptor Nothing"),
        ([*words("u32[32]", "u32[2]", "1"), "--save", "y=y.npy"], "unknown array 'y'"),
        ([*words("u32[32]", "u32[2]", "1"), "--checks", "everything"], "unknown check 'everything'"),
        (["--entry", "nobody"], "nobody"),
        (["--grid", "one"], "--grid"),
        (["--colour"], "--colour"),
    ],
)
def test_a_launch_that_is_wrong_says_why(
    kernel: str, given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sim", kernel, *given]) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_is_no_ptx_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.ptx").write_text("int main() {}")
    assert main(["sim", str(tmp_path / "k.ptx")]) == 2
    assert main(["sim", str(tmp_path / "nothing.ptx")]) == 2
    told = capsys.readouterr().err
    assert told.count("pyptx sim: ") == 2
    assert f"\n{tmp_path / 'k.ptx'}:1:10\n" in told


def test_a_trap_is_a_fault_of_the_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.ptx").write_text(module("trap;"))
    assert main(["sim", str(tmp_path / "k.ptx"), *words("u32[1]")]) == 1
    assert "trap" in capsys.readouterr().err


@pytest.mark.hopper
def test_the_help_shows_how_arguments_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--help"]) == 0
    told = capsys.readouterr().out
    for word in ("--save", "f32[64,32]=random", "examples:", "TensorMap(box="):
        assert word in told


def test_arrays_are_filled_as_asked() -> None:
    given = arguments(
        ["f32[2,3]=arange", "s32[4]=-7", "e4m3[2]=1.5", "f16[3x2]=ones", "bf16[500]=random"], list("abcde")
    )
    arrays = given.arrays
    assert arrays["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert arrays["b"].tolist() == [-7] * 4
    assert arrays["c"].tolist() == [0x3C, 0x3C]  # e4m3 code of 1.5: sign 0, exponent 7 (bias 7), mantissa 4/8
    assert (arrays["d"].dtype, arrays["d"].shape) == (np.float16, (3, 2))
    drawn = widen_bf16(arrays["e"])
    assert abs(float(drawn.mean())) < 0.2
    assert 0.8 < float(drawn.std()) < 1.2
    assert arguments(["bf16[500]=random"], ["e"]).arrays["e"].tobytes() == arrays["e"].tobytes()


def test_structures_are_written_in_brackets() -> None:
    (value,) = arguments(["(x:f32[2,2]=ones, s32=7, (s64=-1, f32=0.5))"], ["p"]).values
    assert isinstance(value, dict)
    x, number, inner = value.values()
    assert list(value) == ["x", "1", "2"]
    assert x.shape == (2, 2)
    assert (number, number.dtype) == (7, np.int32)
    assert [(each, each.dtype) for each in inner.values()] == [(-1, np.int64), (0.5, np.float32)]


def test_several_files_are_linked_and_grids_may_be_cooperative(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kernel adds a word of the linked library if the grid has a workspace, as cooperative grids do."""
    library, program = tmp_path / "library.ptx", tmp_path / "main.ptx"
    library.write_text(".version 8.8\n.target sm_90\n.address_size 64\n.visible .global .u32 more = 40;\n")
    body = "mov.u32 %r1, %envreg1; setp.ne.u32 %p1, %r1, 0; @%p1 bra on; trap; on:\n"
    body += "ld.global.u32 %r2, [more]; add.u32 %r2, %r2, %r0; st.global.u32 [%rd1], %r2;"
    program.write_text(module(body, before=".extern .global .u32 more;"))
    given = [str(program), str(library), *words("u32[3]", block=3), "--save", "out=-"]
    assert main(["sim", *given, "--cooperative"]) == 0
    assert "[40 41 42]" in capsys.readouterr().out
    assert main(["sim", *given]) == 1
    assert "cooperative=True" in capsys.readouterr().err


def test_it_says_how_many_blocks_are_resident(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(module("st.global.u32 [%rd1], %r0;"))
    given = ["sim", str(path), *words("u32[32]"), "--grid", "8", "--cooperative", "--checks", "none"]
    assert main([*given, "--resident-blocks", "8"]) == 0
    capsys.readouterr()
    assert main([*given, "--resident-blocks", "7"]) == 2
    assert "cooperative grid of 8 CTAs, but resident_blocks=7" in capsys.readouterr().err


def test_a_kernel_is_read_from_standard_input(
    kernel: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(kernel).read_bytes())))
    assert main(["sim", "-", *words("u32[32]", "u32[32]=arange", "1"), "--save", "0=-"]) == 0
    assert capsys.readouterr().out.endswith("no findings: 10 instructions of 1 warp in 1 CTA\n")


def test_a_misspelled_option_of_a_launch_is_an_error_with_a_suggestion(
    kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sim", kernel, "--gird", "8", *words("u32[32]", "u32[32]=arange", "1")]) == 2
    assert "did you mean --grid?" in capsys.readouterr().err
