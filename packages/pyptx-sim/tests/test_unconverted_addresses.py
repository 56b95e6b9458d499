"""Shared memory instructions without a state space accept an unconverted shared address, with a note.

Their machine code uses the lower half of the address. All other instructions need `cvta`. Manual: "Generic Addressing".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_ir.toolchain import assemble, disassemble
from pyptx_sim import run

if TYPE_CHECKING:
    from pyptx_sim.findings import Finding

pytestmark = [pytest.mark.hopper, pytest.mark.blackwell]

SCHEDULES: tuple[dict[str, Any], ...] = ({}, {"seed": 1}, {"delay_async": True})

# Instructions, each run by one thread or warp; [G] is the generic address of shared memory.
KERNEL = """\
.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .pred %p<4>;
.reg .b32 %r<16>;
.reg .b64 %rd<8>;
.reg .b128 %q<2>;
.shared .align 128 .b8 room[4096];
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd1, %rd1, %rd2;
setp.eq.u32 %p0, %r1, 0;
mov.u32 %r2, room;
add.u32 %r3, %r2, 1024;
mad.lo.u32 %r4, %r1, 16, %r3;
st.shared.v4.u32 [%r4], {%r1, %r1, %r1, %r1};
mov.u32 %r5, ADDRESS;
CONVERT
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
BODY
st.global.u32 [%rd1], %r1;
ret;
}
"""
CONVERTED = "cvt.u64.u32 %rd3, %r5;\ncvta.shared.u64 %rd3, %rd3;"
UNCONVERTED = "cvt.u64.u32 %rd3, %r5;"
WAIT = "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;\n@!%p1 bra WAIT;\n"
ARRIVE = "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r2];\n"
FREE = "ld.shared.u32 %r9, [%r2+128];\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 32;\n"
CONVERT = "cvt.u64.u32 %rd5, %r2;\ncvta.shared.u64 %rd5, %rd5;\n"
EXPECT = "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;\n" + CONVERT
CANCEL = "@%p0 clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%rd3], [%rd5];\n"
BARRIER, ROWS, TILE = "%r2", "%r4", "%r3"
FORMS = {
    "mbarrier.arrive": (BARRIER, "@%p0 mbarrier.arrive.b64 _, [%rd3];\n" + WAIT),
    "mbarrier.arrive.expect_tx": (BARRIER, "@%p0 mbarrier.arrive.expect_tx.b64 _, [%rd3], 0;\n" + WAIT),
    "mbarrier.test_wait": (
        BARRIER, ARRIVE + "AGAIN:\nmbarrier.test_wait.parity.b64 %p2, [%rd3], 0;\n@!%p2 bra AGAIN;\n"),
    "mbarrier.try_wait": (
        BARRIER, ARRIVE + "AGAIN:\nmbarrier.try_wait.parity.b64 %p2, [%rd3], 0;\n@!%p2 bra AGAIN;\n"),
    "mbarrier.init": ("%r2 + 64", "@%p0 mbarrier.init.b64 [%rd3], 1;\n"),
    "cp.async.mbarrier.arrive": (BARRIER, "@%p0 cp.async.mbarrier.arrive.noinc.b64 [%rd3];\n" + WAIT),
    "tcgen05.commit": (
        BARRIER, "@%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd3];\n" + WAIT),
    "tcgen05.alloc": ("%r2 + 128", "tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd3], 32;\n" + FREE),
    "ldmatrix": (ROWS, "ldmatrix.sync.aligned.m8n8.x1.b16 {%r9}, [%rd3];\n"),
    "stmatrix": (ROWS, "bar.sync 0;\nstmatrix.sync.aligned.m8n8.x1.b16 [%rd3], {%r1};\n"),
    "clusterlaunchcontrol.try_cancel": ("%r2 + 256", EXPECT + CANCEL + WAIT),
}  # fmt: skip
ORDINARY = {
    "ld": (TILE, "ld.u32 %r9, [%rd3];\n"),
    "st": (TILE, "@%p0 st.u32 [%rd3], 1;\n"),
    "atom": (TILE, "@%p0 atom.add.u32 %r9, [%rd3], 1;\n"),
}


def text(address: str, body: str, convert: str) -> str:
    base, _, more = address.partition(" + ")
    compute = f"add.u32 %r5, {base}, {more or 0};"
    return KERNEL.replace("mov.u32 %r5, ADDRESS;", compute).replace("CONVERT", convert).replace("BODY", body)


def found(address: str, body: str, convert: str, **schedule: Any) -> tuple[Finding, ...]:
    out = np.zeros(32, np.uint32)
    findings = run(text(address, body, convert), grid=1, block=32, args=[out], **schedule).findings
    np.testing.assert_array_equal(out, np.arange(32))
    return findings


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_an_unconverted_address_of_shared_memory_is_a_note_and_a_converted_one_is_clean(
    form: str, schedule: dict[str, Any]
) -> None:
    findings = found(*FORMS[form], UNCONVERTED, **schedule)
    assert {(each.rule, each.severity) for each in findings} == {("generic-address", "note")}
    assert all(each.help for each in findings)
    assert found(*FORMS[form], CONVERTED, **schedule) == ()


@pytest.mark.parametrize("form", ORDINARY)
def test_an_unconverted_address_of_another_instruction_is_out_of_bounds(form: str) -> None:
    assert "out-of-bounds" in {each.rule for each in found(*ORDINARY[form], UNCONVERTED)}
    assert found(*ORDINARY[form], CONVERTED) == ()


@pytest.mark.parametrize("address", ["%r1", "%r2 + 65536"], ids=["null", "beyond"])
def test_an_address_that_is_not_in_shared_memory_stays_out_of_bounds(address: str) -> None:
    """The first KiB of shared memory has no variables, so an address in it is a null pointer."""
    findings = run(
        text(address, "mbarrier.test_wait.parity.b64 %p2, [%rd3], 0;\n", UNCONVERTED),
        grid=1, block=32, args=[np.zeros(32, np.uint32)],
    ).findings  # fmt: skip
    assert "out-of-bounds" in {each.rule for each in findings}


@pytest.mark.ptxas
@pytest.mark.parametrize("form", [*FORMS, "ld"])
def test_ptxas_accesses_shared_memory_by_the_lower_half_of_such_an_address(form: str) -> None:
    """A generic access has a memory descriptor and a 64-bit address; these instructions use 32 bits of a parameter."""
    address, body = {**FORMS, **ORDINARY}[form]
    used = text(address, body, "ld.param.u64 %rd3, [out];").replace("[%rd1], %r1", "[%rd3], %r1").replace(
        "st.global.u32 [%rd3], %r1;", "@%p0 st.shared.u32 [room], %r9;")  # fmt: skip
    code = disassemble(assemble(used, "sm_100a").cubin)
    assert ("desc[" in code) == (form == "ld")
