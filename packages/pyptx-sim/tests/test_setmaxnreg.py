"""`setmaxnreg`: registers move between warpgroups through the CTA's pool; impossible increases are reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_ir.toolchain import assemble
from pyptx_sim import run
from pyptx_sim.errors import Deadlock, ProgramError

if TYPE_CHECKING:
    from pathlib import Path

    from pyptx_sim.findings import Finding

pytestmark = pytest.mark.hopper

LIMITED = ".maxntid 384, 1, 1 .minnctapersm 1"  # for this header, ptxas 13.0 allocates 168 registers per thread
GROUPS = "shr.u32 %r2, %r1, 7;\nsetp.eq.u32 %p0, %r2, 0;\n"


def kernel(body: str, header: str = LIMITED) -> str:
    return f"""\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a) {header}
{{
.reg .pred %p<4>;
.reg .b32 %r<8>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [a];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
{GROUPS}{body}
st.global.u32 [%rd1], %r1;
ret;
}}
"""


def found(body: str, header: str = LIMITED, threads: int = 384, **options: object) -> tuple[Finding, ...]:
    out = np.zeros(threads, np.uint32)
    result = run(kernel(body, header), grid=1, block=threads, args=[out], **options)  # type: ignore[arg-type] # any option
    if not result.findings:
        np.testing.assert_array_equal(out, np.arange(threads))
    return result.findings


def roles(producer: str, consumers: str, first: str = "") -> str:
    return f"{first}@%p0 bra PRODUCE;\n{consumers}\nbra END;\nPRODUCE:\n{producer}\nEND:"


APART = "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra OTHER;\n"
DEC, INC = "setmaxnreg.dec.sync.aligned.u32 {};", "setmaxnreg.inc.sync.aligned.u32 {};"


@pytest.mark.parametrize("options", [{}, {"seed": 1}, {"seed": 2}, {"delay_async": True}])
def test_consumers_get_what_the_producer_gives_up(options: dict[str, object]) -> None:
    assert found(roles(DEC.format(24), INC.format(240)), **options) == ()


def test_an_increase_waits_until_the_pool_has_as_many() -> None:
    """The producer waits for the consumers' bar.arrive before it frees registers, so that their increase must wait."""
    body = roles("bar.sync 1, 384;\n" + DEC.format(40), "bar.arrive 1, 384;\n" + INC.format(232))
    assert found(body, seed=3) == ()


def test_an_increase_that_can_never_be_served_is_a_deadlock_with_numbers() -> None:
    (finding,) = found(roles(DEC.format(40), INC.format(240)))
    assert finding.rule == "deadlock"
    # Registers: initially 168 per thread. The producer's 4 warps free 4 x 32 x 128; one warp requests 32 x 72 more.
    (note,) = finding.notes
    assert "setmaxnreg.inc 240 blocked: the warp has 168 registers per thread and needs 2304 more in total" in note
    assert "4 warps with 40" in note
    assert finding.help is not None
    assert "setmaxnreg.dec" in finding.help


def test_without_checks_it_is_an_error() -> None:
    with pytest.raises(Deadlock, match=r"setmaxnreg\.inc 240 blocked"):
        found(roles(DEC.format(40), INC.format(240)), checks="none")


def test_blocks_have_pools_of_their_own() -> None:
    text = kernel(
        roles("mov.u32 %r3, %ctaid.x;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra END;\n" + DEC.format(24), INC.format(240))
    )
    findings = run(text, grid=2, block=384, args=[np.zeros(384, np.uint32)]).findings  # both CTAs write the same words
    (finding,) = (finding for finding in findings if finding.rule != "global-race")
    assert finding.rule == "deadlock"
    *waits, earlier = finding.notes
    assert all("of CTA (0, 0, 0)" in note for note in waits)
    assert "error[global-race] was found before" in earlier
    assert not any("of CTA (1, 0, 0)" in note for note in finding.notes)


@pytest.mark.parametrize(
    ("header", "asked", "served"),
    [
        (LIMITED, 240, True),
        (LIMITED, 248, False),
        (".maxntid 384, 1, 1 .minnctapersm 2", 104, True),  # header for 80 registers per thread
        (".maxntid 384, 1, 1 .minnctapersm 2", 112, False),
        (".maxnreg 96", 128, True),
        (".maxnreg 96", 136, False),
        (".maxnreg 200 .reqntid 384, 1, 1 .minnctapersm 1", 240, True),
    ],
)
def test_warps_begin_with_what_the_directives_allow(header: str, asked: int, *, served: bool) -> None:
    rules = {finding.rule for finding in found(roles(DEC.format(24), INC.format(asked)), header)}
    assert rules == (set() if served else {"deadlock"})


@pytest.mark.parametrize("asked", [208, 232, 240, 248])
def test_no_thread_begins_with_more_registers_than_the_largest_increase(asked: int) -> None:
    """256 threads could start with 256 registers each, but an increase to fewer registers is undefined."""
    body = roles(DEC.format(24), INC.format(asked))
    assert found(body, ".maxntid 256, 1, 1 .minnctapersm 1", threads=256) == ()


@pytest.mark.ptxas
@pytest.mark.parametrize("threads", [128, 256, 384])
@pytest.mark.parametrize("asked", [160, 208, 232, 240, 248, None])
def test_threads_begin_with_the_registers_that_ptxas_says(asked: int | None, threads: int) -> None:
    header, body = (
        f".maxntid {threads}, 1, 1 .minnctapersm 1",
        roles(DEC.format(24), INC.format(asked) if asked else ""),
    )
    taken = assemble(kernel(body, header), "sm_90a").resources["k"].registers
    findings = found(DEC.format(256) + body, header, threads)  # one finding per warp with fewer than 256 registers
    said = [int(each.message.split(" the warp has ")[1].split(":")[0]) for each in findings if "256" in each.message]
    assert set(said) == ({-(-taken // 8) * 8} - {256})


def test_without_directives_nothing_moves_as_ptxas_drops_the_instruction() -> None:
    assert found(INC.format(240), header="") == ()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (INC.format(160) + INC.format(40), "setmaxnreg.inc to 40 registers per thread, but the warp has 160"),
        (DEC.format(200), "setmaxnreg.dec to 200 registers per thread, but the warp has 168"),
        (roles("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra END;\n" + DEC.format(40), ""), "not all warps of the warpgroup"),
        (roles(APART + DEC.format(40) + "\nbra END;\nOTHER:\n" + DEC.format(48), ""),
         "not all warps of the warpgroup"),
    ],
)  # fmt: skip
def test_what_is_not_defined_is_found(body: str, says: str) -> None:
    findings = found(body)
    assert {finding.rule for finding in findings} == {"setmaxnreg"}
    assert says in findings[0].message
    assert all(finding.help for finding in findings)


NEVER = "bra PAST;\n" + INC.format(256) + "\nPAST:\n"  # setmaxnreg that never runs but sets the registers at launch


@pytest.mark.parametrize("count", [24, 160, 168, 176, 256])
@pytest.mark.parametrize(("form", "name", "bound"), [(DEC, "dec", "at most"), (INC, "inc", "at least")])
def test_the_hint_names_the_counts_that_are_defined(form: str, name: str, bound: str, count: int) -> None:
    """Each thread has 168 registers: a count within the bound that the help names has no finding, any other has one."""
    hints = [each.help for each in found(NEVER + form.format(count)) if each.rule == "setmaxnreg"]
    defined = count <= 168 if form == DEC else count >= 168
    assert hints == (
        [] if defined else [f"pass setmaxnreg.{name} a count of {bound} 168, the current count of the warp"]
    )


def test_a_warning_says_that_it_is_one_in_words_and_in_a_timeline(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    (finding,) = found(DEC.format(200), trace=trace)
    assert finding.severity == "warning"
    first = f"warning[setmaxnreg]: {finding.message}"
    assert str(finding).startswith(first)
    marks = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "finding"]
    assert {mark["name"] for mark in marks} == {first}


def test_a_warpgroup_may_set_the_same_count_at_two_places() -> None:
    body = APART + DEC.format(40) + "\nbra END;\nOTHER:\n" + DEC.format(40)
    assert found(roles(body, "")) == ()


def test_warps_without_a_whole_warpgroup_are_found() -> None:
    (finding,) = found(roles("", DEC.format(40)), ".maxnreg 64", threads=160)
    assert finding.rule == "setmaxnreg"
    assert "a warpgroup with fewer than four warps" in finding.message


@pytest.mark.parametrize("count", [16, 30, 264])
def test_a_count_that_ptxas_refuses_is_refused(count: int) -> None:
    with pytest.raises(ProgramError, match="24 to 256 in steps of 8"):
        found(DEC.format(count))
