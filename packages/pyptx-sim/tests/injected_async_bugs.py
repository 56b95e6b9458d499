"""Faults injected into asynchronous kernels; each case has the kernel with and without its fault.

A case is the body of an entry that runs with `blocks` CTAs (one cluster) of 64 threads. Its arguments are two arrays of
256 words, `a` (initialized) and `b` (zeros), and a tensor map of `a` as 16 x 16 words with 8 x 8 boxes. `// !` marks
the faulty line. The body can use:

    %r1 tid   %r2 rank   %r3 &s   %r4 &s[tid]   %r5 &bar   %r6 the other rank   %r7 &s[63 - tid]   %p0 tid == 0
    %rd1 a   %rd2 b   %rd3 tensor map   %rd4 &a[tid]   %rd5 &b[tid]   %h1 3
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

PROLOGUE = """\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .align 64 .b8 m[128])
{
.reg .pred %p<9>;
.reg .b16 %h<4>;
.reg .b32 %r<40>;
.reg .b64 %rd<20>;
.shared .align 1024 .b8 s[4096];
.shared .align 8 .b64 bar[4];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
mov.b64 %rd3, m;
cvta.param.u64 %rd3, %rd3;
mov.u32 %r1, %tid.x;
mov.u32 %r2, %cluster_ctarank;
mul.wide.u32 %rd6, %r1, 4;
add.s64 %rd4, %rd1, %rd6;
add.s64 %rd5, %rd2, %rd6;
mov.u32 %r3, s;
mad.lo.u32 %r4, %r1, 4, %r3;
sub.u32 %r8, 63, %r1;
mad.lo.u32 %r7, %r8, 4, %r3;
mov.u32 %r5, bar;
xor.b32 %r6, %r2, 1;
mov.u16 %h1, 3;
setp.eq.u32 %p0, %r1, 0;
"""


@dataclass(frozen=True, slots=True)
class Injected:
    """Injected fault: the rule that reports it, and the kernel bodies with and without the fault."""

    title: str
    rule: str
    faulty: str
    mended: str
    blocks: int = 1

    def text(self, body: str) -> str:
        """Return the PTX module whose entry has this body."""
        return PROLOGUE + dedent(body).strip() + "\nret;\n}\n"

    def marked_line(self) -> int:
        """Return the line number (from 1) of the mark `// !` in the faulty module."""
        (line,) = [i for i, row in enumerate(self.text(self.faulty).splitlines(), 1) if "// !" in row]
        return line


def swap(title: str, rule: str, body: str, faulty: str, mended: str, blocks: int = 1) -> Injected:
    """Return a test case whose two kernel bodies have `faulty` and `mended` in place of `FAULT`."""
    body = dedent(body)
    return Injected(title, rule, body.replace("FAULT", faulty), body.replace("FAULT", mended), blocks)


def wait(parity: int = 0, label: str = "W", place: str = "bar", mark: str = "") -> str:
    return f"{label}:\nmbarrier.try_wait.parity.shared.b64 %p1, [{place}], {parity};{mark}\n@!%p1 bra {label};\n"


INIT = "@%p0 mbarrier.init.shared.b64 [bar], 1;\n@%p0 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
COPY = "cp.async.ca.shared.global [%r4], [%rd4], 4;"
BULK = "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
LOAD = "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n" + BULK + "[%r3], [%rd1], 256, [bar];\n"
TILE = (
    "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
    "[%r3], [%rd3, {0, 0}], [bar];\n"
)
STORE = "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 256;"
BOX = "@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {8, 8}], [%r3];"
DONE = "@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group 0;\n"
FENCE = "fence.proxy.async.shared::cta;\n"
USE = "ld.shared.u32 %r10, [%r4];"
SYNC = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
REMOTE = (
    INIT + "fence.mbarrier_init.release.cluster;\n" + SYNC + "mapa.shared::cluster.u32 %r20, %r5, %r6;\n"
    "mapa.shared::cluster.u32 %r21, %r4, %r6;\n"
)

COPIES = (
    swap("a cp.async destination read before any wait", "read-before-wait",
         COPY + "\nFAULT" + USE + "\ncp.async.wait_all;", USE + " // !\n", "cp.async.wait_all;\n"),
    swap("a cp.async destination read by a thread that waited only for its own copies", "read-before-wait",
         COPY + "\ncp.async.wait_all;\nFAULT", "ld.shared.u32 %r10, [%r7]; // !",
         "bar.sync 0;\nld.shared.u32 %r10, [%r7];"),
    swap("cp.async copies that no thread commits to a group", "read-before-wait",
         COPY + "\nFAULT\ncp.async.wait_group 0;\n" + USE + "\ncp.async.wait_all;", "// !", "cp.async.commit_group;"),
    swap("a cp.async.wait_group that leaves the group of the copies outstanding", "read-before-wait",
         COPY + "\ncp.async.commit_group;\ncp.async.wait_group FAULT\ncp.async.wait_all;",
         "1;\nld.shared.u32 %r10, [%r4]; // !", "0;\nld.shared.u32 %r10, [%r4];"),
    swap("a store to the destination of an outstanding cp.async", "read-before-wait", "FAULT",
         COPY + "\nst.shared.u32 [%r4], %r1; // !\ncp.async.wait_all;",
         COPY + "\ncp.async.wait_all;\nst.shared.u32 [%r4], %r1;"),
    swap("a store to the source of an outstanding cp.async", "early-reuse", "FAULT",
         COPY + "\nst.global.u32 [%rd4], %r1; // !\ncp.async.wait_all;",
         COPY + "\ncp.async.wait_all;\nst.global.u32 [%rd4], %r1;"),
    swap("a cp.async over shared memory that other threads still read", "early-reuse",
         "st.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r10, [%r7];\nFAULT\ncp.async.wait_all;",
         COPY + " // !", "bar.sync 0;\n" + COPY),
    swap("two outstanding cp.async to one destination", "read-before-wait", COPY + "\nFAULT\ncp.async.wait_all;",
         COPY + " // !", "cp.async.wait_all;\n" + COPY),
    swap("an mbarrier arrival that does not wait for the thread's cp.async copies", "read-before-wait",
         INIT.replace("[bar], 1", "[bar], 64") + COPY + "\nFAULT" + wait() + USE + " // !\ncp.async.wait_all;",
         "mbarrier.arrive.shared.b64 _, [bar];\n", "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"),
    swap("a read of another warp's copies after a wait at the own warp's mbarrier only", "read-before-wait",
         "@%p0 mbarrier.init.shared.b64 [bar+8], 32;\n" + INIT.replace("[bar], 1", "[bar], 32") + COPY
         + "\nshr.u32 %r30, %r1, 5;\nmad.lo.u32 %r30, %r30, 8, %r5;\n"
         "cp.async.mbarrier.arrive.noinc.shared.b64 [%r30];\n" + wait()
         + "FAULTld.shared.u32 %r10, [%r7]; // !\ncp.async.wait_all;", "", wait(label="X", place="bar+8")),
    swap("a thread that exits before its cp.async completes", "unfinished-copy", "FAULT", COPY + " // !",
         COPY + "\ncp.async.wait_all;"),
)  # fmt: skip

LOADS = (
    swap("bulk-copied bytes read too early", "read-before-wait", INIT + LOAD + "FAULT" + wait(), USE + " // !\n", ""),
    swap("a wait for the wrong parity", "read-before-wait",
         INIT + LOAD + "mov.u32 %r9, FAULT;\nV:\nmbarrier.try_wait.parity.shared.b64 %p1, [bar], %r9;\n@!%p1 bra V;\n"
         + USE + " // !\n" + wait(), "1", "0"),
    swap("bytes of a tensor copy read before the wait", "read-before-wait",
         INIT + "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n" + TILE + "FAULT" + wait(),
         USE + " // !\n", ""),
    swap("fewer bytes expected than copied", "deadlock", INIT + LOAD.replace("[bar], 256;", "[bar], FAULT;")
         + wait(mark=" // !"), "128", "256"),
    swap("more bytes expected than copied", "deadlock", INIT + LOAD.replace("[bar], 256;", "[bar], FAULT;")
         + wait(mark=" // !"), "512", "256"),
    swap("a tx-count that lacks the bytes of the second copy", "read-before-wait",
         INIT + "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], FAULT;\n" + BULK + "[%r3], [%rd1], 128, [bar];\n"
         + BULK + "[%r3+128], [%rd1+128], 128, [bar];\n" + wait() + USE + " // !\n", "128", "256"),
    swap("a bulk copy over shared memory that other threads still read", "early-reuse",
         INIT + LOAD + wait() + "ld.shared.u32 %r10, [%r7];\nFAULT"
         "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n"
         + BULK + "[%r3], [%rd1], 256, [bar]; // !\n" + wait(1, "X"), "", "bar.sync 0;\n"),
    swap("a bulk copy of written global words after a proxy fence for shared memory only", "missing-proxy-fence",
         INIT + "st.global.u32 [%rd4], %r1;\nFAULT\nbar.sync 0;\n"
         "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n" + BULK + "[%r3], [%rd1], 256, [bar]; // !\n"
         + wait(), "fence.proxy.async.shared::cta;", "fence.proxy.async.global;"),
    swap("a bulk copy over written shared words without a proxy fence", "missing-proxy-fence",
         INIT + "st.shared.u32 [%r4], %r1;\nFAULT\nbar.sync 0;\n"
         "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n" + BULK + "[%r3], [%rd1], 256, [bar]; // !\n"
         + wait(), "", "fence.proxy.async;"),
    swap("a bulk copy that no thread waits for", "unfinished-copy", INIT + "FAULT",
         "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n" + BULK + "[%r3], [%rd1], 256, [bar]; // !",
         LOAD + wait()),
    swap("a tensor copy of another rank than its tensor map", "tensor-map",
         INIT + "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\nFAULT" + wait(),
         TILE.replace("2d", "3d").replace("{0, 0}", "{0, 0, 0}").replace(";\n", "; // !\n"), TILE),
    swap("a bulk copy from an address that is not a multiple of 16", "misaligned", INIT + "FAULT" + wait(),
         LOAD.replace("[%rd1], 256, [bar];", "[%rd1+8], 256, [bar]; // !"), LOAD),
)  # fmt: skip

STORES = (
    swap("a bulk store of written words without a proxy fence", "missing-proxy-fence",
         "st.shared.u32 [%r4], %r1;\nFAULTbar.sync 0;\n" + STORE + " // !\n" + DONE, "", FENCE),
    swap("a bulk store of words that cp.async wrote, without a proxy fence", "missing-proxy-fence",
         COPY + "\ncp.async.wait_all;\nFAULTbar.sync 0;\n" + STORE + " // !\n" + DONE, "", FENCE),
    swap("a tensor store of words that cp.async wrote, without a proxy fence", "missing-proxy-fence",
         COPY + "\ncp.async.wait_all;\nFAULTbar.sync 0;\n" + BOX + " // !\n" + DONE, "", FENCE),
    swap("a proxy fence before the wait for the cp.async copies, not after it", "missing-proxy-fence",
         COPY + "\nFAULTbar.sync 0;\n" + STORE + " // !\n" + DONE, FENCE + "cp.async.wait_all;\n",
         "cp.async.wait_all;\n" + FENCE),
    swap("a tensor store of written words without a proxy fence", "missing-proxy-fence",
         "st.shared.u32 [%r4], %r1;\nFAULTbar.sync 0;\n" + BOX + " // !\n" + DONE, "", FENCE),
    swap("a proxy fence for the wrong state space", "missing-proxy-fence",
         "st.shared.u32 [%r4], %r1;\nFAULTbar.sync 0;\n" + BOX + " // !\n" + DONE,
         "fence.proxy.async.global;\n", FENCE),
    swap("a bulk store before the other warp has written its words", "shared-race",
         "st.shared.u32 [%r4], %r1;\n" + FENCE + "FAULT" + STORE + " // !\n" + DONE, "bar.warp.sync -1;\n",
         "bar.sync 0;\n"),
    swap("a bulk reduction of written words without a proxy fence", "missing-proxy-fence",
         "st.shared.u32 [%r4], %r1;\nFAULTbar.sync 0;\n"
         "@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r3], 256; // !\n" + DONE,
         "", FENCE),
    swap("a buffer overwritten while a bulk store reads it", "early-reuse",
         "st.shared.u32 [%r4], %r1;\n" + FENCE + "bar.sync 0;\n" + STORE + "\n@%p0 cp.async.bulk.commit_group;\nFAULT"
         "bar.sync 0;\nst.shared.u32 [%r4], %r1; // !\n@%p0 cp.async.bulk.wait_group 0;\n",
         "", "@%p0 cp.async.bulk.wait_group.read 0;\n"),
    swap("a bulk store's destination read after a wait for the source reads only", "read-before-wait",
         "st.shared.u32 [%r4], %r1;\n" + FENCE + "bar.sync 0;\n" + STORE + "\n@%p0 cp.async.bulk.commit_group;\n"
         "@%p0 cp.async.bulk.wait_groupFAULT 0;\n@%p0 ld.global.u32 %r10, [%rd2]; // !\n", ".read", ""),
    swap("a bulk store of words that other lanes may still write", "lane-race",
         "st.shared.u32 [%r4], %r1;\n" + FENCE + "FAULT" + STORE.replace("256", "128") + " // !\n" + DONE,
         "", "bar.warp.sync -1;\n"),
    swap("a CTA that exits while a bulk store reads its shared memory", "unfinished-copy",
         "st.shared.u32 [%r4], %r1;\n" + FENCE + "bar.sync 0;\nFAULT",
         STORE + " // !\n@%p0 cp.async.bulk.commit_group;",
         STORE + "\n@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group.read 0;"),
)  # fmt: skip

BARRIERS = (
    swap("an mbarrier used before its init", "mbarrier-uninitialized",
         "FAULT\n@%p0 mbarrier.arrive.shared.b64 _, [bar]; // !", "", "@%p0 mbarrier.init.shared.b64 [bar], 1;"),
    swap("an mbarrier initialized twice", "mbarrier-reinit", INIT + "FAULT",
         "@%p0 mbarrier.init.shared.b64 [bar], 1; // !", "@%p0 mbarrier.init.shared.b64 [bar+8], 1;"),
    swap("an mbarrier.init not ordered before the other warp's arrivals", "mbarrier-init-race",
         "@%p0 mbarrier.init.shared.b64 [bar], 64; // !\nFAULTmbarrier.arrive.shared.b64 _, [bar];\n" + wait(),
         "bar.warp.sync -1;\n", "bar.sync 0;\n"),
    swap("no proxy fence between mbarrier.init and a bulk copy", "missing-proxy-fence",
         "@%p0 mbarrier.init.shared.b64 [bar], 1; // !\nFAULTbar.sync 0;\n" + LOAD + wait(), "",
         "@%p0 fence.proxy.async.shared::cta;\n"),
    swap("an mbarrier invalidated before other threads have waited", "mbarrier-inval",
         INIT + "@%p0 mbarrier.arrive.shared.b64 _, [bar];\n" + wait()
         + "FAULT@%p0 mbarrier.inval.shared.b64 [bar]; // !",
         "", "bar.sync 0;\n"),
    swap("an mbarrier.try_wait whose result no instruction reads", "unchecked-mbarrier-wait",
         INIT + "@%p0 mbarrier.arrive.shared.b64 _, [bar];\nW:\n"
         "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; // !\nFAULT", "", "@!%p1 bra W;\n"),
    swap("an arrival count below the number of arrivals", "mbarrier-phase",
         INIT.replace("[bar], 1", "[bar], FAULT") + "mbarrier.arrive.shared.b64 _, [bar]; // !\nbar.sync 0;\n" + wait(),
         "16", "64"),
    swap("an arrival count above the number of arrivals", "deadlock",
         INIT.replace("[bar], 1", "[bar], FAULT") + "mbarrier.arrive.shared.b64 _, [bar];\n" + wait(mark=" // !"),
         "65", "64"),
    swap("an arrival with a count above the pending count", "mbarrier-arrival-count", INIT + "FAULT",
         "@%p0 mbarrier.arrive.shared.b64 _, [bar], 2; // !", "@%p0 mbarrier.arrive.shared.b64 _, [bar], 1;"),
    swap("a tx-count above the limit of an mbarrier", "mbarrier-tx-count",
         INIT + "@%p0 mbarrier.expect_tx.shared.b64 FAULT", "[bar], 2000000; // !", "[bar], 2000;"),
    swap("an mbarrier.test_wait with the state of an earlier phase", "mbarrier-phase",
         INIT + "@%p0 mbarrier.arrive.shared.b64 %rd10, [bar];\n" + wait() + "bar.sync 0;\n"
         "@%p0 mbarrier.arrive.shared.b64 %rd11, [bar];\n" + wait(1, "X")
         + "@%p0 mbarrier.test_wait.shared.b64 %p2, [bar], FAULT\n@%p0 selp.u32 %r10, 1, 0, %p2;",
         "%rd10; // !", "%rd11;"),
    swap("an mbarrier invalidated while threads wait at it", "mbarrier-inval",
         INIT + "setp.ge.u32 %p3, %r1, 32;\n@%p3 bra WAITS;\nmov.u32 %r30, 0;\nSPIN:\nadd.u32 %r30, %r30, 1;\n"
         "setp.lt.u32 %p4, %r30, 40;\n@%p4 bra SPIN;\nFAULT\n@%p0 mbarrier.arrive.shared.b64 _, [bar];\nbra END;\n"
         "WAITS:\n" + wait() + "END:\n", "@%p0 mbarrier.inval.shared.b64 [bar]; // !\n@%p0 mbarrier.init.shared.b64 "
         "[bar], 1;", ""),
    swap("an mbarrier overwritten by an ordinary store", "mbarrier-as-data",
         INIT + "@%p0 st.shared.u32 [FAULT], %r1; // !\nbar.sync 0;\n", "bar+4", "bar+8"),
    swap("an mbarrier read by an ordinary load", "mbarrier-as-data",
         "@%p0 st.shared.v2.b64 [bar], {%rd1, %rd2};\nbar.sync 0;\n" + INIT
         + "ld.shared.b64 %rd10, [FAULT]; // !\n", "bar", "bar+8"),
    swap("a vector store that overlaps an mbarrier", "mbarrier-as-data",
         INIT.replace("[bar]", "[bar+8]") + "@%p0 st.shared.vFAULT; // !\nbar.sync 0;\n",
         "4.u32 [bar], {%r1, %r1, %r1, %r1}", "2.u32 [bar], {%r1, %r1}"),
    swap("a store over an mbarrier that no thread has invalidated", "mbarrier-as-data",
         INIT + "@%p0 mbarrier.arrive.shared.b64 _, [bar];\n" + wait() + "bar.sync 0;\n"
         "FAULT@%p0 st.shared.u64 [bar], %rd1; // !\n", "", "@%p0 mbarrier.inval.shared.b64 [bar];\n"),
    swap("a bulk copy whose destination overlaps its own mbarrier", "mbarrier-as-data",
         INIT + "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32;\n"
         + BULK + "[FAULT], [%rd1], 32, [bar]; // !\n" + wait(), "s+4080", "s+4064"),
)  # fmt: skip

CLUSTERS = (
    swap("an arrival at a peer CTA's mbarrier that may be uninitialized", "mbarrier-init-race",
         "@%p0 mbarrier.init.shared.b64 [bar], 1; // !\nFAULTmapa.shared::cluster.u32 %r20, %r5, %r6;\n"
         "@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20];\n" + SYNC,
         "bar.sync 0;\n",
         "fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n",
         blocks=2),
    swap("no fence.mbarrier_init between mbarrier.init and a peer CTA's arrival", "mbarrier-init-race",
         "@%p0 mbarrier.init.shared.b64 [bar], 1; // !\nFAULTbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n"
         "mapa.shared::cluster.u32 %r20, %r5, %r6;\n"
         "@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20];\n" + SYNC,
         "", "fence.mbarrier_init.release.cluster;\n", blocks=2),
    swap("a peer CTA's words read without a cluster barrier", "shared-race",
         REMOTE + "st.shared.u32 [%r4], %r1;\nFAULTld.shared::cluster.u32 %r10, [%r21]; // !\n" + SYNC,
         "bar.sync 0;\n", SYNC, blocks=2),
    swap("words stored to a peer CTA before a relaxed cluster barrier", "shared-race",
         REMOTE + "st.shared::cluster.u32 [%r21], %r1;\nbarrier.cluster.arriveFAULT;\nbarrier.cluster.wait;\n"
         + USE + " // !\n" + SYNC, ".relaxed", ".release", blocks=2),
    swap("a store to a CTA that may not have started", "cluster-cta-not-started",
         "mapa.shared::cluster.u32 %r21, %r4, %r6;\nFAULTst.shared::cluster.u32 [%r21], %r1; // !\n" + SYNC,
         "", SYNC, blocks=2),
    swap("an arrival at the mbarrier of a CTA that may not have started", "cluster-cta-not-started",
         INIT + "fence.mbarrier_init.release.cluster;\nmapa.shared::cluster.u32 %r20, %r5, %r6;\nFAULT"
         "@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20]; // !\n" + SYNC,
         "", SYNC, blocks=2),
    swap("a multicast to a CTA that may not have started", "cluster-cta-not-started",
         INIT + "fence.mbarrier_init.release.cluster;\nFAULT"
         "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\nsetp.eq.and.u32 %p3, %r2, 0, %p0;\n"
         "@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
         "[%r3], [%rd1], 256, [bar], %h1; // !\n" + wait() + SYNC, "", SYNC, blocks=2),
    swap("a lane that writes to a CTA whose start only another lane has observed", "cluster-cta-not-started",
         "mapa.shared::cluster.u32 %r21, %r4, %r6;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra ZERO;\n"
         "@%p0 st.relaxed.gpu.global.u32 [%rd2], 1;\nbra END;\nZERO:\n@!%p0 bra MET;\n"
         "POLL:\nld.relaxed.gpu.global.u32 %r10, [%rd2];\nsetp.eq.u32 %p3, %r10, 0;\n@%p3 bra POLL;\nMET:\n"
         "FAULTsetp.eq.u32 %p4, %r1, 1;\n@%p4 st.shared::cluster.u32 [%r21], %r1; // !\nEND:\n" + SYNC,
         "", "bar.warp.sync -1;\n", blocks=2),
    swap("a read of shared memory of a peer CTA that may have exited", "cluster-cta-exited",
         REMOTE + "st.shared.u32 [%r4], %r1;\n" + SYNC + "ld.shared::cluster.u32 %r10, [%r21]; // !\nFAULT",
         "", SYNC, blocks=2),
    swap("an arrival at the mbarrier of a peer CTA that may have exited", "cluster-cta-exited",
         REMOTE + "@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20]; // !\nFAULT",
         "", SYNC, blocks=2),
    swap("an arrival by one of two lanes at the mbarrier of a CTA that may have exited", "cluster-cta-exited",
         "@%p0 mbarrier.init.shared.b64 [bar+8], 8;\n@%p0 mbarrier.init.shared.b64 [bar+16], 1;\n" + REMOTE
         + "setp.eq.u32 %p2, %r1, 1;\n@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20+8]; // !\n"
         "FAULT@%p2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20+8];\n"
         "@%p2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20+16];\n" + wait(place="bar+16"),
         "", "bar.warp.sync -1;\n", blocks=2),
    swap("a barrier.cluster.wait without a preceding arrival", "barrier-divergence",
         "FAULTbarrier.cluster.wait; // !\n", "", "barrier.cluster.arrive;\n", blocks=2),
    swap("two barrier.cluster.arrive before one wait", "barrier-divergence",
         "barrier.cluster.arrive;\nFAULTbarrier.cluster.arrive; // !\nbarrier.cluster.wait;\n", "",
         "barrier.cluster.wait;\n", blocks=2),
    swap("st.async words read after a wait that does not expect their bytes", "read-before-wait",
         REMOTE + "@%p0 mbarrier.arriveFAULT\nst.async.shared::cluster.mbarrier::complete_tx::bytes.u32 "
         "[%r21], %r1, [%r20];\n" + wait() + USE + " // !\n" + SYNC,
         ".shared.b64 _, [bar];", ".expect_tx.shared.b64 _, [bar], 256;", blocks=2),
    swap("a multicast over words that the peer CTA still reads", "early-reuse",
         REMOTE + "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\nst.shared.u32 [%r4], %r1;\n"
         "fence.proxy.async;\n" + SYNC + "ld.shared.u32 %r10, [%r7];\nFAULTsetp.eq.and.u32 %p3, %r2, 0, %p0;\n"
         "@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
         "[%r3], [%rd1], 256, [bar], %h1; // !\n" + wait() + SYNC, "bar.sync 0;\n", SYNC, blocks=2),
    swap("a bulk copy that signals another CTA's mbarrier", "mbarrier-wrong-cta",
         REMOTE + "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n" + SYNC
         + BULK + "[%r3], [%rd1], 256, [FAULT]; // !\n" + wait() + SYNC, "%r20", "%r5", blocks=2),
)  # fmt: skip

INJECTED = (*COPIES, *LOADS, *STORES, *BARRIERS, *CLUSTERS)
