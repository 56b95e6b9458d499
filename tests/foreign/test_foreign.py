"""Tests of `nox -s foreign`: which kernels it reports as right and clean, which findings it lists; and its page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fnmatch import fnmatch
from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

from .accepted_findings import ACCEPTED, fitting, stale, unlisted
from .languages import COMPILERS, COMPILING, LANGUAGES, SOURCES, Compiler, compiled, newest
from .report import PAGE, page, summary
from .running import SCHEDULES, Fault, Outcome, distance, judge, map_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OF_ANOTHER = {"gluon": "triton"}  # language whose sources the compiler of another language compiles

UNIT = ".version 8.0\n.target sm_90\n.address_size 64\n"
HEAD = UNIT + ".visible .entry k(.param .u64 x, .param .u64 y, .param .f32 f) {\n"
BODY = """
.reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<6>;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f1, [f];
mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
ld.global.f32 %f2, [%rd1]; mul.f32 %f2, %f2, %f1; st.global.f32 [%rd2], %f2;
ret; }
"""
X = np.arange(64, dtype=np.float32)
CALLING = """.extern .func (.param .f32 r) doubled(.param .f32 v);
.visible .entry k(.param .u64 x, .param .u64 y) {
.reg .b32 %r<2>; .reg .f32 %f<3>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
ld.global.f32 %f1, [%rd1];
{ .param .f32 v; .param .f32 r; st.param.f32 [v], %f1; call (r), doubled, (v); ld.param.f32 %f2, [r]; }
st.global.f32 [%rd2], %f2;
ret; }
"""
CALLED = """.visible .func (.param .f32 r) doubled(.param .f32 v) {
.reg .f32 %f<3>;
ld.param.f32 %f1, [v]; add.f32 %f2, %f1, %f1; st.param.f32 [r], %f2;
ret; }
"""
STRUCTURE = """.visible .entry k(.param .align 8 .b8 arrays[16]) {
.reg .b32 %r<2>; .reg .f32 %f<3>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [arrays]; ld.param.u64 %rd2, [arrays+8];
mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f1, %f1; st.global.f32 [%rd2], %f2;
ret; }
"""
FILTERING = """.visible .entry k(.param .u64 texture, .param .u64 surface) {
.reg .b32 %r<3>; .reg .f32 %f<6>; .reg .b64 %rd<3>;
ld.param.u64 %rd1, [texture]; ld.param.u64 %rd2, [surface];
mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; add.f32 %f1, %f1, 0f3F800000; shl.b32 %r2, %r1, 2;
tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1}];
sust.b.1d.b32.trap [%rd2, {%r2}], {%f2};
ret; }
"""


@pytest.fixture
def writing(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """Yield the modules that write compiled kernels, importable by the names that compilers' environments use."""
    monkeypatch.setattr(sys, "path", [str(COMPILING), *sys.path])
    yield import_module("cases"), import_module("modules")
    for name in ("cases", "modules"):
        sys.modules.pop(name, None)


def written(writing: tuple[Any, Any], folder: Path, text: str, want: Any, **array: Any) -> Outcome:
    """Write a compiled kernel that doubles an array into another, run the kernel, and return its outcome."""
    cases, modules = writing
    case = cases.Case("doubled", None, {}, 1, 64)
    parameters = modules.Parameters()
    for argument in (cases.given(X), cases.made(want, "float32", **array), 2.0):
        parameters.add(argument)
    modules.write(folder / "doubled.sm_90a", case, modules.Compiled(text, "k", parameters, 64))
    return judge(folder / "doubled.sm_90a")


def test_a_right_kernel_is_clean(writing: tuple[Any, Any], tmp_path: Path) -> None:
    outcome = written(writing, tmp_path, HEAD + BODY, X.astype(np.float64) * 2)
    assert outcome.right
    assert outcome.clean


def test_what_is_wrong_is_wrong_under_every_schedule(writing: tuple[Any, Any], tmp_path: Path) -> None:
    want = X.astype(np.float64) * 2
    want[5] += 1
    outcome = written(writing, tmp_path, HEAD + BODY, want)
    assert not outcome.right
    assert [(fault.kind, fault.schedules) for fault in outcome.faults] == [("wrong", len(SCHEDULES))]


def test_a_kernel_may_be_right_and_accused(writing: tuple[Any, Any], tmp_path: Path) -> None:
    """A data race: every thread reads the word that thread 0 writes."""
    racy = HEAD + BODY.replace("ret;", "ld.param.u64 %rd4, [y];\nld.global.f32 %f3, [%rd4];\n.reg .pred %p1;\n"
                                "setp.lt.f32 %p1, %f3, 0f00000000;\n@%p1 st.global.f32 [%rd2], %f3;\nret;")  # fmt: skip
    outcome = written(writing, tmp_path, racy, X.astype(np.float64) * 2)
    assert outcome.right
    assert {fault.kind for fault in outcome.faults} == {"global-race"}


def test_the_order_may_be_left_open(writing: tuple[Any, Any], tmp_path: Path) -> None:
    want = X[::-1].astype(np.float64) * 2
    assert not written(writing, tmp_path / "in order", HEAD + BODY, want).right
    assert written(writing, tmp_path / "in any", HEAD + BODY, want, ordered=False).clean


def test_what_cannot_be_run_or_compiled_is_not_right(writing: tuple[Any, Any], tmp_path: Path) -> None:
    outcome = written(writing, tmp_path, HEAD + BODY.replace("mul.f32", "mull.f32"), X)
    assert not outcome.right
    (tmp_path / "refused.sm_80").mkdir()
    (tmp_path / "refused.sm_80" / "refused.txt").write_text("no such type", encoding="utf-8")
    assert [fault.kind for fault in judge(tmp_path / "refused.sm_80").faults] == ["refused"]


def test_what_is_no_number_is_far_from_any() -> None:
    assert distance(np.array([1.0, np.nan]), np.array([1.0, 2.0])) == np.inf
    assert distance(np.array([10.0, 21.0]), np.array([10.0, 20.0])) == pytest.approx(0.05)


def test_what_is_listed_is_known_and_what_is_not_found_any_more_is_stale() -> None:
    listed = Outcome((Fault("shared-race", "…"),))
    outcomes = {"nvcc-13.5/blocks/large-tiles.sm_80": listed, "nvcc-13.5/blocks/exchange.sm_80": Outcome()}
    assert unlisted("nvcc-13.5/blocks/large-tiles.sm_80", listed) == []
    assert unlisted("nvcc-13.5/blocks/exchange.sm_80", listed) == list(listed.faults)
    assert stale(outcomes) == []
    assert [row.kernels for row in stale({"nvcc-13.5/blocks/large-tiles.sm_80": Outcome()})] == [
        ("nv*/blocks/large-tiles.*",)
    ]


def test_a_wrong_result_is_listed_only_where_a_race_explains_it() -> None:
    """A kernel may also be listed if its modules are rejected, as by a linker (`ProgramError`)."""
    for row in ACCEPTED:
        accused = [rule for rule in row.rules if Fault(rule, "").of_a_rule]
        assert accused or row.verdict == "lacks" or row.rules == {"ProgramError"}, row


def test_a_kernel_may_be_absent_only_by_what_its_compiler_lacks() -> None:
    for row in ACCEPTED:
        assert (row.rules == {"refused"}) == (row.verdict == "lacks"), row
        assert "refused" not in row.rules or len(row.rules) == 1, row


def test_every_row_is_about_a_compiler_and_a_source() -> None:
    for pattern in (pattern for row in ACCEPTED for pattern in row.kernels):
        name, source, _ = pattern.split("/")
        languages = {each.language for each in COMPILERS if fnmatch(each.name, name)}
        sources = [each for language in languages for each in (SOURCES / language).glob("*.py")]
        assert any(fnmatch(each.stem, source) for each in sources), pattern


def test_every_source_that_the_cases_of_cuda_name_exists() -> None:
    folder = SOURCES / "cuda"
    named = {name for each in folder.glob("*.py") for name in re.findall(r'"(\w+\.cu)"', each.read_text("utf-8"))}
    assert named == {each.name for each in folder.glob("*.cu")}


def test_every_compiler_is_pinned_and_has_a_name_of_its_own() -> None:
    names = [each.name for each in COMPILERS]
    assert len(set(names)) == len(names)
    for compiler in COMPILERS:
        assert compiler.version.split(".")[0].isdigit()
        assert (COMPILING / f"for_{OF_ANOTHER.get(compiler.program, compiler.program)}.py").exists()
        assert newest(compiler.language).language == compiler.language
    assert {"triton-3.2", "triton-3.4", "triton-3.6", "triton-3.9", "nvrtc-12.4", "nvrtc-12.9", "nvcc-13.0",
            "nvcc-13.5", "cutedsl-4.2", "cutedsl-4.8"} <= set(names)  # fmt: skip


def test_a_compiler_that_cannot_be_installed_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def made(*_: Any) -> None:
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(import_module("environments"), "made", made)
    absent = Compiler("triton", "Triton", "triton", "triton", "triton")
    with pytest.raises(RuntimeError, match="triton cannot be installed"):
        compiled(absent, tmp_path, tmp_path)


def test_what_a_compiler_refuses_is_neither_right_nor_hidden() -> None:
    refused = Outcome((Fault("refused", "no such type"),))
    assert refused.refused
    assert not refused.right
    outcomes = {"triton-3.2/rows/topk.sm_80": refused, "triton-3.2/rows/softmax.sm_80": Outcome()}
    (early,) = (each for each in COMPILERS if each.name == "triton-3.2")
    assert summary(early, outcomes).endswith("for sm_80, sm_90a: 1 of 2 modules compiled, 1 right, 1 clean")
    assert unlisted("triton-3.2/rows/topk.sm_80", refused) == []
    assert unlisted("triton-3.9/rows/topk.sm_80", refused) == list(refused.faults)


@pytest.mark.parametrize("changed", ["the kernel", "the simulator", ""])
def test_an_outcome_is_kept_until_something_changes(
    writing: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    first = written(writing, tmp_path, HEAD + BODY, X.astype(np.float64) * 2)
    kernel, other = tmp_path / "doubled.sm_90a", Outcome((Fault("wrong", "judged again"),))

    def judged(_folder: Path) -> Outcome:
        return other

    monkeypatch.setattr(sys.modules[judge.__module__], "_judged", judged)
    if changed == "the kernel":
        (kernel / "0.ptx").write_text("no PTX", encoding="utf-8")
    if changed == "the simulator":
        monkeypatch.setattr(sys.modules[judge.__module__], "simulator", lambda: "another")
    assert judge(kernel) == (other if changed else first)


def test_the_page_tells_of_each_kernel_what_came_of_it() -> None:
    outcomes = {
        "nvcc-13.5/blocks/large-tiles.sm_80": Outcome((Fault("shared-race", "…"),)),
        "nvcc-13.5/blocks/large-tiles.sm_90a": Outcome((Fault("deadlock", "…"),)),
        "nvcc-13.5/blocks/exchange.sm_80": Outcome(),
        "nvcc-13.5/blocks/exchange.sm_90a": Outcome(),
    }
    text = page(outcomes)
    assert "| kernel | nvcc-13.5 |" in text
    row = "| blocks/large-tiles | sm_80: right, `shared-race` (undefined by the manual); sm_90a: right, `deadlock` |"
    assert row in text
    assert "| blocks/exchange | sm_80, sm_90a: clean |" in text
    reason = fitting("nvcc-13.5/blocks/large-tiles.sm_80", Fault("shared-race", "…"))
    assert reason is not None
    assert reason.reason in text


def test_the_page_of_the_last_run_has_every_language_and_says_of_every_fault_why_it_stands() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for title in LANGUAGES.values():
        assert f"## {title}\n" in text
    for compiler in map(newest, LANGUAGES):
        assert f"{compiler.requirement} {compiler.version} " in text
    lines = [line for line in text.splitlines() if "right, `" in line]
    assert lines
    assert not [line for line in lines if re.search(r"`[\w-]+`(?! \()", line)]


def test_translation_units_are_linked(writing: tuple[Any, Any], tmp_path: Path) -> None:
    cases, modules = writing
    parameters = modules.Parameters()
    for argument in (cases.given(X), cases.made(X.astype(np.float64) * 2, "float32")):
        parameters.add(argument)
    made = modules.Compiled(UNIT + CALLING, "k", parameters, 64, linked=(UNIT + CALLED,))
    modules.write(tmp_path / "linked", cases.Case("linked", None, {}), made)
    assert judge(tmp_path / "linked").clean
    (tmp_path / "linked" / "1.ptx").unlink()
    assert not judge(tmp_path / "linked").right


@pytest.mark.parametrize("wait", ["griddepcontrol.wait;\n", ""])
def test_a_launch_behind_another_waits_for_it(writing: tuple[Any, Any], tmp_path: Path, wait: str) -> None:
    """Both kernels double an array; the second kernel reads the output of the first one."""
    cases, modules = writing
    between, last = (cases.made(X.astype(np.float64) * times, "float32") for times in (2, 4))
    first = modules.Parameters()
    for argument in (cases.given(X), between, 2.0):
        first.add(argument)
    waiting = (HEAD.removeprefix(UNIT) + BODY).replace("k(", "waiting(").replace("mov.u32", wait + "mov.u32")
    text = HEAD + BODY.replace("mov.u32", "griddepcontrol.launch_dependents;\nmov.u32") + waiting
    front = modules.Compiled(text, "k", first, 64)
    second = modules.Parameters.behind(front)
    for argument in (between, last, 2.0):
        second.add(argument)
    made = modules.Compiled(text, "waiting", second, 64, behind=front)
    modules.write(tmp_path / "both", cases.Case("both", None, {}, behind=cases.Case("first", None, {})), made)
    faults = judge(tmp_path / "both").faults
    assert {fault.kind for fault in faults} >= ({"global-race"} if not wait else set())
    assert bool(wait) != bool(faults)


def test_textures_and_surfaces_are_passed_by_handles(writing: tuple[Any, Any], tmp_path: Path) -> None:
    cases, modules = writing
    parameters = modules.Parameters()
    parameters.add(cases.Textured(cases.given(X), "1d", sampler={"filter": "linear"}))
    between = (X + np.minimum(X + 1, X[-1])).astype(np.float64) / 2
    parameters.add(cases.Surfaced(cases.made(between, "float32"), "1d"))
    made = modules.Compiled(UNIT + FILTERING, "k", parameters, 64)
    modules.write(tmp_path / "filtered", cases.Case("filtered", None, {}), made)
    assert judge(tmp_path / "filtered").clean


@pytest.mark.parametrize("wrong", [0.0, 1.0])
def test_what_members_of_a_structure_point_to_is_judged(writing: tuple[Any, Any], tmp_path: Path, wrong: float) -> None:
    cases, modules = writing
    parameters = modules.Parameters()
    parameters.structure([cases.given(X), cases.made(X.astype(np.float64) * 2 + wrong, "float32")])
    made = modules.Compiled(UNIT + STRUCTURE, "k", parameters, 64)
    modules.write(tmp_path / "doubled", cases.Case("doubled", None, {}), made)
    assert judge(tmp_path / "doubled").right == (not wrong)


def test_a_matrix_may_be_described_as_tiles() -> None:
    """A 4-d tensor map: tile rows, tile columns, and the two dimensions of a tile."""
    matrix = np.zeros((32, 128), np.float16)
    row = {"dtype": "f16", "box": [2, 1, 8, 64], "swizzle": "128B", "fill": "zeros", "tiles": [8, 64]}
    described = map_of(row, matrix)
    assert described.shape == (4, 2, 8, 64)
    assert described.strides == (8 * 256, 128, 256, 2)
    assert map_of(row | {"box": [16, 64], "tiles": None}, matrix).shape == (32, 128)


def test_values_of_narrow_types_are_those_of_their_codes(writing: tuple[Any, Any]) -> None:
    """Arrays of E2M1 have two values per byte, the first one in the low bits."""
    cases, _ = writing
    values, stored = cases.narrow("e2m1", 4, 8)
    codes = np.stack([stored & 15, stored >> 4], -1).reshape(4, 8)
    assert stored.shape == (4, 4)
    assert (values == codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32)).all()


def test_kernels_of_triton_are_launched_by_what_it_says_of_them(writing: tuple[Any, Any], tmp_path: Path) -> None:
    """Scratch memory, which Triton passes after the arguments, and the CTA size are not part of the case."""
    cases, modules = writing
    parameters = modules.Parameters()
    for argument in (cases.given(X), cases.made(X.astype(np.float64) * 2, "float32"), 2.0):
        parameters.add(argument)
    metadata = {"name": "k", "num_warps": 2, "num_ctas": 1, "shared": 0, "tensordesc_meta": None}
    signature = {"x": "*fp32", "y": "*fp32", "SIZE": "constexpr", "f": "fp32"}
    text = HEAD.replace(".f32 f)", ".f32 f, .param .u64 scratch, .param .u64 profile)") + BODY
    said = {"metadata": metadata, "signature": signature}
    modules.write(tmp_path / "k", cases.Case("k", None, {}), modules.Compiled(text, "k", parameters, 0, triton=said))
    assert judge(tmp_path / "k").clean


def test_launches_are_data(writing: tuple[Any, Any], tmp_path: Path) -> None:
    written(writing, tmp_path, HEAD + BODY, X)
    (launch,) = json.loads((tmp_path / "doubled.sm_90a" / "launch.json").read_text(encoding="utf-8"))
    assert launch["grid"] == [1, 1, 1]
    assert launch["block"] == [64, 1, 1]
    assert launch["arguments"][2] == {"number": 2.0, "kind": "float32"}
