"""`pyptx_sim.run`: arguments, options, results and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_ir.plugins.rows import Frame
from pyptx_ir.syntax import PtxSyntaxError, parse
from pyptx_sim import Uninitialized, run
from pyptx_sim.errors import KernelTrap, LaunchError, MemoryFault, SimulationError, StepLimitExceeded

from .ptx_text import BODY_LINE, execute, module, words

SCALARS = {"u8": 200, "s8": -3, "u16": 60_000, "s16": -7, "u32": 4_000_000_000, "s32": -5, "u64": 1 << 63, "s64": -9}


@pytest.mark.parametrize("ptx_type", SCALARS)
@pytest.mark.parametrize("wrap", [int, np.int64], ids=["int", "NumPy scalar"])
def test_a_scalar_is_packed_with_its_parameters_type(ptx_type: str, wrap: Any) -> None:
    value = SCALARS[ptx_type]
    if value >= 1 << 63 and wrap is np.int64:
        wrap = np.uint64
    body = f"ld.param.{ptx_type} %rd2, [x]; setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u64 [%rd0], %rd2;"
    out = np.zeros(1, np.int64 if value < 0 else np.uint64)
    execute(body, out, wrap(value), parameters=f".param .u64 out, .param .{ptx_type} x")
    assert out[0] == value


def test_a_float_parameter_takes_any_number() -> None:
    body = (
        "ld.param.f32 %f1, [x]; ld.param.f64 %fd1, [y]; cvt.f64.f32 %fd2, %f1; "
        "add.f64 %fd1, %fd1, %fd2; st.global.f64 [%rd0], %fd1;"
    )
    out = np.zeros(1)
    execute(body, out, np.float32(1.5), 2, parameters=".param .u64 out, .param .f32 x, .param .f64 y", block=1)
    assert out[0] == 3.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "expected 2 arguments, got 0(.|\n)*each parameter: .u64 out, .u32 n"),
        ((np.zeros(1), np.zeros(2)), r"parameter n: expected a \.u32 of 4 bytes, got an array"),
        ((np.zeros(1), 1.5), "n: expected an int for .u32, got the float 1.5"),
        ((np.zeros(1), 1 << 32), "4294967296 is out of range for .u32"),
        ((np.zeros(1), "7"), "parameter n: expected .*, got str"),
        ((np.zeros(1), b"12345"), "parameter n: expected 4 bytes, got 5"),
    ],
)
def test_arguments_that_do_not_fit_are_errors(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        execute("", *arguments, parameters=".param .u64 out, .param .u32 n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block": 2048}, "2048 threads, limit 1024"),
        ({"block": (0, 1, 1)}, "block must be"),
        ({"grid": (1, 2, 3, 4)}, "grid must be"),
        ({"grid": 3, "cluster": 2}, "not a multiple of cluster"),
        ({"cluster": 32, "grid": 32}, "32 CTAs, limit 16"),
        ({"shared_bytes": -1}, "shared_bytes must not be negative, got -1"),
        ({"checks": "everything"}, "unknown check 'everything'(.|\n)*out-of-bounds"),
    ],
)
def test_launch_parameters_that_no_gpu_takes_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        execute("", np.zeros(1), **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("{\n", ".reqntid 64\n{\n"), r"requires CTAs of \(64,\) threads"),
        (("{\n", ".maxntid 16, 1, 1\n{\n"), "allows at most 16 threads per CTA"),
        (("{\n", ".reqnctapercluster 2\n{\n"), "grid (.|\n)*is not a multiple of cluster"),
        (
            ("ret;\n}", ".shared .align 4 .b8 s[50000];\nret;\n}"),
            "declares 50000 bytes of static shared memory, limit 49152",
        ),
    ],
)
def test_a_launch_that_the_entry_does_not_allow_is_an_error(change: tuple[str, str], message: str) -> None:
    text = module("").replace(*change, 1)
    with pytest.raises(LaunchError, match=message):
        run(text, grid=1, block=32, args=[np.zeros(1)])


def test_more_shared_memory_than_the_target_has_is_an_error() -> None:
    before = ".extern .shared .align 16 .b8 s[];"
    assert execute("mov.u32 %r1, s;", np.zeros(1), before=before, shared_bytes=232_448).clean
    with pytest.raises(LaunchError, match="needs 232464 bytes of shared memory per CTA, limit 232448"):
        execute("mov.u32 %r1, s;", np.zeros(1), before=before, shared_bytes=232_464)


def test_buffers_are_changed_in_place_by_their_layout() -> None:
    body = "setp.lt.u32 %p1, %r0, 6; @%p1 st.global.u32 [%rd1], %r0;"
    out = np.zeros((3, 2), np.uint32, order="F")
    execute(body, out)
    assert out.tolist() == [[0, 3], [1, 4], [2, 5]]
    wide = np.zeros((3, 4), np.uint32)
    execute(body, wide[:, ::2])
    assert wide.tolist() == [[0, 1, 2, 3], [4, 5, 0, 0], [0, 0, 0, 0]]


def test_an_array_that_is_passed_twice_is_one_buffer() -> None:
    body = (
        "ld.param.u64 %rd2, [x]; mad.wide.u32 %rd2, %r0, 4, %rd2; st.global.u32 [%rd1], %r0; "
        "ld.global.u32 %r1, [%rd2]; add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;"
    )
    out = np.zeros(32, np.uint32)
    assert execute(body, out, out, parameters=".param .u64 out, .param .u64 x").findings == ()
    assert out.tolist() == [t + 1 for t in range(32)]


def test_a_read_only_array_may_be_read_and_not_written() -> None:
    out = np.arange(32, dtype=np.uint32)
    out.flags.writeable = False
    assert execute("ld.global.u32 %r1, [%rd1];", out).clean
    with pytest.raises(LaunchError, match="wrote to read-only array out"):
        execute("add.u32 %r1, %r0, 1; st.global.u32 [%rd1], %r1;", out)


def test_text_and_tree_run_alike_and_bad_text_is_a_syntax_error() -> None:
    text = module("st.global.u32 [%rd1], %r0;")
    out = np.zeros(32, np.uint32)
    assert run(parse(text), grid=1, block=32, args=[out]) == run(text, grid=1, block=32, args=[out])
    with pytest.raises(PtxSyntaxError):
        run(text.replace("ret;", "ret"), grid=1, block=32, args=[out])


def test_statistics_count_warp_instructions() -> None:
    result = execute(
        "add.u32 %r1, %r0, 1;\nsetp.eq.u32 %p1, %r0, 40;\n@%p1 add.u32 %r1, %r1, 1;", np.zeros(1), grid=3, block=33
    )
    statistics = result.statistics
    assert (statistics.warps, statistics.ctas, statistics.waves) == (6, 3, 1)
    assert statistics.instructions == 6 * (3 + 3 + 1)


def test_an_endless_loop_stops_at_the_step_limit() -> None:
    body = "mov.u32 %r1, 0;\nagain:\nadd.u32 %r1, %r1, 1;\nbra again;"
    with pytest.raises(
        StepLimitExceeded, match=rf"step limit of 1000 exceeded(.|\n)*PTX line {BODY_LINE + 3}(.|\n)*raise step_limit"
    ):
        execute(body, np.zeros(1), step_limit=1000)


def test_a_trap_names_the_thread_and_keeps_what_was_written() -> None:
    out = np.zeros(32, np.uint32)
    body = "st.global.u32 [%rd1], %r0;\nbar.sync 0;\nsetp.eq.u32 %p1, %r0, 3;\n@%p1 trap;"
    with pytest.raises(
        KernelTrap, match=rf"thread \(3, 0, 0\) of CTA \(0, 0, 0\) executed trap(.|\n)*PTX line {BODY_LINE + 3}"
    ):
        execute(body, out)
    assert out.tolist() == list(range(32))


def test_a_finding_points_at_the_users_python_line() -> None:
    origin = (Frame("kernel.py", 12, "rms_norm"), Frame("main.py", 3, "main"))
    body = "ld.global.u32 %r1, [%rd0+4096];"
    (finding,) = execute(body, np.zeros(1), origins={BODY_LINE: origin}, names=["X"]).findings
    assert (finding.line, finding.origin) == (BODY_LINE, origin)
    assert "argument 0 'X'" in finding.message
    assert "kernel.py:12" in str(finding)
    with pytest.raises(MemoryFault, match=r"kernel\.py:12"):
        execute(body, np.zeros(1), origins={BODY_LINE: origin}, checks="none")


def test_findings_are_counted_once_for_each_rule_and_instruction() -> None:
    body = (
        "mov.u32 %r1, 0;\nagain:\nld.global.u32 %r2, [%rd0+4096];\nadd.u32 %r1, %r1, 1;\n"
        "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra again;"
    )
    (finding,) = execute(body, np.zeros(1)).findings
    assert finding.count == 5 * 32


def test_only_the_rules_that_are_asked_for_report() -> None:
    body = "add.u32 %r1, %r2, 1; st.global.u32 [%rd1], %r1; ld.global.u32 %r3, [%rd0+4096];"
    assert [finding.rule for finding in execute(body, np.zeros(32)).findings] == [
        "uninitialized-register",
        "out-of-bounds",
    ]
    assert [finding.rule for finding in execute(body, np.zeros(32), checks=["out-of-bounds"]).findings] == [
        "out-of-bounds"
    ]


@pytest.mark.parametrize("seed", range(4))
def test_every_seed_gives_a_clean_kernel_the_same_result(seed: int) -> None:
    body = """
    .shared .align 4 .b8 s[512];
    mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1; xor.b32 %r3, %r0, 127; mad.lo.u32 %r3, %r3, 4, %r1;
    mov.u32 %r4, 0;
    loop:
    add.u32 %r5, %r0, %r4; st.shared.u32 [%r2], %r5; bar.sync 0; ld.shared.u32 %r6, [%r3]; bar.sync 0;
    add.u32 %r4, %r4, %r6; and.b32 %r4, %r4, 7; add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 5; @%p1 bra loop;
    st.global.u32 [%rd1], %r4;
    """
    body = "mov.u32 %r7, 0;" + body
    out, again = np.zeros(128, np.uint32), np.zeros(128, np.uint32)
    assert execute(body, out, block=128).clean
    assert execute(body, again, block=128, seed=seed).clean
    assert (out == again).all()


def test_ctas_that_wait_for_each_other_are_all_given_room() -> None:
    body = """
    setp.ne.u32 %p1, %r0, 0; @%p1 exit;
    atom.global.add.release.gpu.u32 %r1, [%rd0], 1;
    mov.u32 %r2, %nctaid.x;
    wait: ld.global.acquire.gpu.u32 %r1, [%rd0]; setp.lt.u32 %p2, %r1, %r2; @%p2 bra wait;
    mov.u32 %r3, %ctaid.x; add.u32 %r3, %r3, 1; mad.wide.u32 %rd2, %r3, 4, %rd0; st.global.u32 [%rd2], %r1;
    """
    out = np.zeros(601, np.uint32)
    result = execute(body, out, grid=600, checks=["deadlock"])
    assert result.clean
    assert result.statistics.waves == 1
    assert set(out.tolist()) == {600}


def test_a_fault_of_the_engine_itself_names_the_instruction() -> None:
    with pytest.raises(SimulationError):
        execute("ld.global.u32 %r1, [%rd0+-1000000000];", np.zeros(1), checks="none")


def test_an_uninitialized_output_needs_no_initial_value() -> None:
    out = np.zeros(32, np.uint32)
    assert execute("st.global.u32 [%rd1], %r0;", Uninitialized(out)).clean
    assert out.tolist() == list(range(32))


def test_a_pack_may_hold_a_part_that_nothing_ever_writes() -> None:
    body = """
    mov.b64 %rd5, {%r0, %r50};
    cvt.u32.u64 %r1, %rd5;
    st.global.u32 [%rd1], %r1;
    """
    assert words(body).tolist() == list(range(32))


def test_a_stored_vector_may_hold_a_part_that_nothing_ever_writes() -> None:
    body = "mul.wide.u32 %rd5, %r0, 8; add.u64 %rd5, %rd5, %rd0; st.global.v2.u32 [%rd5], {%r0, %r50};"
    out = np.ones(64, np.uint32)
    assert execute(body, out).findings == ()
    assert out[::2].tolist() == list(range(32))


def test_a_register_that_nothing_ever_writes_is_found_where_it_stands_alone() -> None:
    found = execute("st.global.u32 [%rd1], %r50;", np.zeros(32, np.uint32)).findings
    assert [finding.rule for finding in found] == ["uninitialized-register"]


def test_a_pack_of_a_register_written_on_another_path_is_found() -> None:
    body = """
    setp.lt.u32 %p1, %r0, 16;
    @%p1 mov.u32 %r50, 1;
    mov.b64 %rd5, {%r0, %r50};
    shl.b32 %r51, %r0, 3; cvt.u64.u32 %rd6, %r51; add.u64 %rd6, %rd6, %rd0; st.global.u64 [%rd6], %rd5;
    """
    found = execute(body, np.zeros(64, np.uint32)).findings
    assert [(finding.rule, finding.count) for finding in found] == [("uninitialized-register", 16)]


@pytest.mark.parametrize(("mask", "found"), [("7", 0), ("0xf", 1), ("0", 0), ("8", 1)])
def test_a_load_is_judged_by_the_bytes_that_its_pragma_says_are_used(mask: str, found: int) -> None:
    body = f"""
    .local .align 4 .b8 frame[4];
    st.local.u16 [frame], 7;
    st.local.u8 [frame+2], 7;
    .pragma "used_bytes_mask {mask}";
    ld.local.u32 %r2, [frame];
    st.global.u32 [%rd1], %r2;
    """
    findings = execute(body, np.zeros(32, np.uint32)).findings
    assert [finding.rule for finding in findings] == ["uninitialized-memory"] * found


def test_the_used_bytes_hold_for_one_load_only() -> None:
    body = """
    .local .align 4 .b8 frame[8];
    .pragma "used_bytes_mask 0";
    ld.local.u32 %r2, [frame];
    st.global.u32 [%rd1], %r2;
    ld.local.u32 %r3, [frame+4];
    st.global.u32 [%rd1], %r3;
    """
    assert [finding.count for finding in execute(body, np.zeros(32, np.uint32)).findings] == [32]
