"""Bulk copies and reductions of contiguous bytes: groups, mbarriers, multicast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .ptx_text import execute
from .test_async_copy import each_schedule

pytestmark = pytest.mark.hopper

BEFORE = ".shared .align 128 .b8 s[2048];\n.shared .align 8 .b64 bar;"
PARAMETERS = ".param .u64 out, .param .u64 x"
HEAD = """
ld.param.u64 %rd2, [x];
mov.u32 %r2, s;
mov.u32 %r3, bar;
mad.lo.u32 %r1, %r0, 4, %r2;
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
"""
LOAD = """
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 512, [bar];
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
"""
STORE = """
fence.proxy.async.shared::cta;
bar.sync 0;
@%p0 {copy} [%rd0], [%r2], 512{tail};
@%p0 cp.async.bulk.commit_group;
@%p0 cp.async.bulk.wait_group{read} 0;
"""


def through(body: str, out: np.ndarray[Any, Any], x: np.ndarray[Any, Any], **options: Any) -> np.ndarray[Any, Any]:
    """Run a kernel body in a CTA of 128 threads on 128 words, and assert that it has no finding."""
    result = execute(HEAD + body, out, x, block=128, parameters=PARAMETERS, before=BEFORE, **options)
    assert [str(finding) for finding in result.findings] == []
    return out


@each_schedule
@pytest.mark.parametrize("read", ["", ".read"])
def test_bytes_go_there_and_back(schedule: dict[str, Any], read: str) -> None:
    body = LOAD + "ld.shared.u32 %r5, [%r1];\nadd.u32 %r5, %r5, 1;\nst.shared.u32 [%r1], %r5;\n"
    body += STORE.format(copy="cp.async.bulk.global.shared::cta.bulk_group", tail="", read=read)
    x = np.random.default_rng(0).integers(0, 1 << 31, 128, np.uint32)
    assert (through(body, np.zeros(128, np.uint32), x, **schedule) == x + 1).all()


@each_schedule
@pytest.mark.parametrize(
    ("name", "dtype", "combine"),
    [
        ("add.u32", np.uint32, np.add),
        ("min.s32", np.int32, np.minimum),
        ("max.u32", np.uint32, np.maximum),
        ("and.b32", np.uint32, np.bitwise_and),
        ("add.f32", np.float32, np.add),
        ("add.noftz.f16", np.float16, np.add),
        ("max.f16", np.float16, np.fmax),
        ("add.f64", np.float64, np.add),
    ],
)
def test_a_reduction_combines_each_element(schedule: dict[str, Any], name: str, dtype: Any, combine: np.ufunc) -> None:
    body = LOAD + STORE.format(copy=f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{name}", tail="", read="")
    random = np.random.default_rng(0)
    x, out = (random.integers(-100, 100, 512 // np.dtype(dtype).itemsize).astype(dtype) for _ in range(2))
    expected = combine(out, x)
    assert (through(body, out.copy(), x, **schedule) == expected).all()


def test_a_byte_mask_keeps_some_bytes() -> None:
    body = "mov.u16 %h1, 0x0F03;\n" + LOAD
    body += STORE.format(copy="cp.async.bulk.global.shared::cta.bulk_group.cp_mask", tail=", %h1", read="")
    x = np.random.default_rng(0).integers(1, 255, 512).astype(np.uint8)
    kept = np.array([0x0F03 >> byte & 1 for byte in range(16)], np.bool_)
    found = through(body, np.zeros(512, np.uint8), x)
    assert (found.reshape(-1, 16) == np.where(kept, x.reshape(-1, 16), 0)).all()


CLUSTER = """
mov.u32 %r10, %cluster_ctarank;
mad.lo.u32 %r11, %r10, 128, %r0;
mad.wide.u32 %rd4, %r11, 4, %rd0;
barrier.cluster.arrive;
barrier.cluster.wait;
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
barrier.cluster.arrive;
barrier.cluster.wait;
{send}
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
ld.shared.u32 %r5, [%r1+{at}];
st.global.u32 [%rd4], %r5;
barrier.cluster.arrive;
barrier.cluster.wait;
"""


def cluster(send: str, at: int, **options: Any) -> np.ndarray[Any, Any]:
    x, out = np.arange(128, dtype=np.uint32), np.zeros((4, 128), np.uint32)
    return through(CLUSTER.format(send=send, at=at), out, x, grid=4, cluster=4, **options)


@each_schedule
def test_a_multicast_copy_goes_to_every_block_in_its_mask(schedule: dict[str, Any]) -> None:
    send = """
    setp.eq.and.u32 %p2, %r10, 1, %p0;
    mov.u16 %h1, 15;
    @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
        [%r2], [%rd2], 512, [bar], %h1;
    """
    assert (cluster(send, 0, **schedule) == np.arange(128)).all()


@each_schedule
def test_a_multicast_copy_may_name_its_place_in_any_block(schedule: dict[str, Any]) -> None:
    """Destination and mbarrier offsets apply to each CTA in the mask (manual: "cp.async.bulk")."""
    send = """
    setp.eq.and.u32 %p2, %r10, 1, %p0;
    mov.u16 %h1, 15;
    mapa.shared::cluster.u32 %r14, %r2, 3;
    mapa.shared::cluster.u32 %r15, %r3, 3;
    @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
        [%r14], [%rd2], 512, [%r15], %h1;
    """
    assert (cluster(send, 0, **schedule) == np.arange(128)).all()


@each_schedule
def test_a_copy_goes_to_another_block(schedule: dict[str, Any]) -> None:
    send = """
    add.u32 %r12, %r10, 1;
    and.b32 %r12, %r12, 3;
    mad.lo.u32 %r13, %r10, 1000, %r0;
    st.shared.u32 [%r1], %r13;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    add.u32 %r14, %r2, 1024;
    mapa.shared::cluster.u32 %r14, %r14, %r12;
    mapa.shared::cluster.u32 %r15, %r3, %r12;
    @%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r14], [%r2], 512, [%r15];
    """
    ranks = (np.arange(4)[:, None] - 1) % 4
    assert (cluster(send, 1024, **schedule) == ranks * 1000 + np.arange(128)).all()


@pytest.mark.parametrize(
    ("faulty", "rule"),
    [
        (LOAD.replace("[%rd2], 512", "[%rd2+8], 256"), "misaligned"),
        (LOAD.replace("[%rd2], 512", "[%rd2+16], 512"), "out-of-bounds"),
        (LOAD.replace("[%r2], [%rd2], 512", "[%r2+1600], [%rd2], 512"), "out-of-bounds"),
        (LOAD.replace("bra WAIT;", "bra WAIT;\nret;").replace("mbarrier.try_wait", "//"), "unfinished-copy"),
        (
            STORE.format(copy="cp.async.bulk.global.shared::cta.bulk_group", tail="", read=""),
            "uninitialized-memory",
        ),
        (LOAD + STORE.split("@%p0 cp.async.bulk.wait", maxsplit=1)[0].format(
            copy="cp.async.bulk.global.shared::cta.bulk_group", tail=""), "unfinished-copy"),
    ],
)  # fmt: skip
def test_a_fault_is_a_finding(faulty: str, rule: str) -> None:
    faulty = faulty.replace("// %p1", "setp.eq.u32 %p1, %r0, %r0; //") if rule == "unfinished-copy" else faulty
    faulty = faulty.replace("//.parity", "setp.eq.u32 %p1, %r0, %r0; //")
    x, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    result = execute(HEAD + faulty, out, x, block=128, parameters=PARAMETERS, before=BEFORE)
    assert rule in {finding.rule for finding in result.findings}


def test_reads_of_one_buffer_by_many_warps_are_kept_apart() -> None:
    body = """
    .shared .align 128 .b8 s[1024];
    mov.u32 %r1, s;
    mad.lo.u32 %r2, %r0, 4, %r1;
    st.shared.u32 [%r2], %r0;
    fence.proxy.async;
    bar.sync 0;
    and.b32 %r3, %r0, 31;
    shr.u32 %r4, %r0, 5;
    mul.wide.u32 %rd3, %r4, 64;
    add.s64 %rd2, %rd0, %rd3;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 64;
    cp.async.bulk.commit_group;
    setp.ne.u32 %p2, %r4, WARP;
    @%p2 cp.async.bulk.wait_group 0;
    bar.sync 0;
    setp.eq.u32 %p3, %r0, 1;
    @%p3 st.shared.u32 [%r2], 9;
    cp.async.bulk.wait_group 0;
    """
    out = np.zeros(256, np.uint32)
    assert execute(body.replace("WARP", "99"), out, block=256).clean
    for warp in range(1, 8):
        (finding,) = execute(body.replace("WARP", str(warp)), out, block=256).findings
        assert finding.rule == "early-reuse"


READS = {
    "weak": "ld.shared.u32 %r5, [%r1];",
    "volatile": "ld.volatile.shared.u32 %r5, [%r1];",
    "relaxed": "ld.relaxed.cta.shared.u32 %r5, [%r1];",
    "acquire": "ld.acquire.gpu.shared.u32 %r5, [%r1];",
}


@each_schedule
@pytest.mark.parametrize("read", READS)
def test_what_warps_still_read_is_not_overwritten(schedule: dict[str, Any], read: str) -> None:
    body = HEAD + f"st.shared.u32 [%r1], %r0;\nfence.proxy.async;\n{READS[read]}\nSYNC\n{LOAD}"
    x = np.arange(128, dtype=np.uint32)

    def rules(sync: str) -> list[str]:
        text = body.replace("SYNC", sync)
        run = execute(text, x, x, block=128, parameters=PARAMETERS, before=BEFORE, **schedule)
        return [finding.rule for finding in run.findings]

    assert rules("bar.sync 0;") == []
    assert {"early-reuse", "read-before-wait"} & set(rules(""))  # without bar.sync, some reads may follow the copy


@each_schedule
@pytest.mark.parametrize("read", ["ld.relaxed.gpu.global.u32", "ld.global.u32"])
def test_what_is_added_in_bulk_is_morally_strong_with_no_read(schedule: dict[str, Any], read: str) -> None:
    """Bulk reductions use the async proxy, reads the generic one. Manual: "Morally Strong Operations"."""
    added = STORE.format(copy="cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32", tail="", read="")
    body = f"st.shared.u32 [%r1], %r0;\nmad.wide.u32 %rd3, %r0, 4, %rd0;\n{added}"
    polled = body.replace("@%p0 cp.reduce", f"{read} %r5, [%rd3];\n@%p0 cp.reduce")
    x = np.arange(128, dtype=np.uint32)
    findings = execute(HEAD + polled, x, x, block=128, parameters=PARAMETERS, before=BEFORE, **schedule).findings
    assert findings
    assert {each.rule for each in findings} <= {"early-reuse", "read-before-wait"}  # reported rule varies by schedule
