"""Injected faults: missing order between lanes, and too narrow scopes of mbarrier operations.

`injected_async_bugs` describes the cases.
"""

from __future__ import annotations

from .injected_async_bugs import BULK, COPY, DONE, INIT, REMOTE, STORE, SYNC, USE, swap, wait

MEET = "bar.warp.sync -1;\n"
ARRIVE = "@%p0 mbarrier.arrive.shared.b64 _, [bar];\n"
LEADER = "and.b32 %r9, %r1, 31;\nsetp.eq.u32 %p2, %r9, 0;\n"
SECOND = "setp.ge.u32 %p3, %r1, 32;\n@%p3 bra SECOND;\n"
# The second warp waits at the mbarrier and reads words that the first warp has written.
READS = "bra END;\nSECOND:\n" + wait() + "ld.shared.u32 %r10, [%r7]; // !\nEND:\n"
# The first warp has read a buffer in shared memory; thread 32, of the second warp, refills it with a bulk copy.
FILLED = "mbarrier.arrive.expect_tx.shared.b64 _, [bar+8], 256;\n"
REFILL = (
    "bra END;\nSECOND:\nsetp.ne.u32 %p4, %r1, 32;\n@%p4 bra END;\n" + wait() + FILLED
    + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 256, [bar+8]; // !\n"
    + wait(place="bar+8", label="X") + "END:\n"
)  # fmt: skip
TWO = INIT.replace(
    "bar.sync", "@%p0 mbarrier.init.shared.b64 [bar+8], 1;\nfence.mbarrier_init.release.cluster;\nbar.sync"
)
FLAG = "bra END;\nSECOND:\nP:\nld.acquire.gpu.global.u32 %r10, [%rd2+512];\nsetp.ne.u32 %p4, %r10, 1;\n@%p4 bra P;\n"
TAKES = FLAG + "ld.global.u32 %r11, [%rd5+-128]; // !\nEND:\n"
RAISED = "@%p0 st.global.u32 [%rd2+512], 0;\nbar.sync 0;\n" + SECOND + "st.global.u32 [%rd5], %r1;\n"

LANES = (
    swap("one lane arrives for lanes that have written, without bar.warp.sync", "shared-race",
         INIT + SECOND + "st.shared.u32 [%r4], %r1;\nFAULT" + ARRIVE + READS, "", MEET),
    swap("one lane's arrive.expect_tx for lanes that have written, without bar.warp.sync", "shared-race",
         INIT + SECOND + "st.shared.u32 [%r4], %r1;\nFAULT"
         "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n" + BULK + "[%r3+512], [%rd1], 256, [bar];\n"
         + READS, "", MEET),
    swap("an arrival for other lanes before bar.warp.sync, not after it", "shared-race",
         INIT + SECOND + "st.shared.u32 [%r4], %r1;\nFAULT" + READS, ARRIVE + MEET, MEET + ARRIVE),
    swap("an arrival for 16 lanes after a bar.warp.sync with 15 lanes in its membermask", "shared-race",
         INIT + SECOND + "st.shared.u32 [%r4], %r1;\nsetp.lt.u32 %p5, %r1, 16;\n@%p5 bar.warp.sync FAULT;\n" + ARRIVE
         + READS.replace("[%r7]", "[%r4-128]").replace("ld.", "setp.lt.u32 %p5, %r1, 48;\n@%p5 ld."),
         "0x00007fff", "0x0000ffff"),
    swap("one lane releases a buffer that other lanes still read", "early-reuse",
         TWO + "st.shared.u32 [%r4], %r1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n" + SECOND
         + "ld.shared.u32 %r10, [%r4];\nFAULT" + ARRIVE + REFILL, "", MEET),
    swap("one lane's bulk copy overwrites words that other lanes still read", "early-reuse",
         INIT + "st.shared.u32 [%r4], %r1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n" + SECOND
         + "xor.b32 %r11, %r4, 4;\nld.shared.u32 %r10, [%r11];\nFAULT"
         "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n" + BULK + "[%r3], [%rd1], 128, [bar]; // !\n"
         "bra END;\nSECOND:\nEND:\n" + wait(), "", MEET),
    swap("an arrival for a whole warp after the copies of one lane only", "read-before-wait",
         INIT + SECOND + COPY + "\nFAULTcp.async.wait_all;\n" + READS,
         "@%p0 cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n", "cp.async.wait_all;\n" + MEET + ARRIVE),
    swap("one lane per warp waits for the cp.async groups of other lanes", "read-before-wait",
         LEADER + COPY + "\ncp.async.commit_group;\nFAULTcp.async.wait_group 0;\n" + MEET + USE
         + " // !\ncp.async.wait_all;", "@%p2 ", ""),
    swap("one lane per warp executes cp.async.wait_all for copies of other lanes", "read-before-wait",
         LEADER + COPY + "\nFAULTcp.async.wait_all;\nbar.sync 0;\n" + USE + " // !\ncp.async.wait_all;", "@%p2 ", ""),
    swap("one diverged lane per warp waits for the cp.async groups of other lanes", "read-before-wait",
         LEADER + COPY + "\ncp.async.commit_group;\nFAULTcp.async.wait_group 0;\nMET:\nbar.sync 0;\n" + USE
         + " // !\ncp.async.wait_all;", "@!%p2 bra MET;\n", ""),
    swap("one lane waits at an mbarrier, other lanes read without bar.warp.sync", "shared-race",
         INIT + SECOND + "st.shared.u32 [%r4], %r1;\n" + MEET + ARRIVE + "bra END;\nSECOND:\n"
         "setp.ne.u32 %p4, %r1, 32;\n@%p4 bra BEHIND;\n" + wait()
         + "BEHIND:\nFAULTld.shared.u32 %r10, [%r7]; // !\nEND:\n", "", MEET),
    swap("one lane waits for a bulk copy, other lanes read without bar.warp.sync", "read-before-wait",
         INIT + "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n" + BULK + "[%r3], [%rd1], 256, [bar];\n"
         + SECOND + wait(label="V") + "bra END;\nSECOND:\nsetp.ne.u32 %p4, %r1, 32;\n"
         "@%p4 bra BEHIND;\n" + wait() + "BEHIND:\nFAULTld.shared.u32 %r10, [%r7]; // !\nEND:\n", "", MEET),
    swap("one lane waits for its bulk store, other lanes overwrite the source", "early-reuse",
         "st.shared.u32 [%r4], %r1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n" + SECOND
         + STORE.replace("256", "128") + "\n" + DONE + "FAULTst.shared.u32 [%r4], %r1; // !\nSECOND:\n", "", MEET),
    swap("one lane executes the proxy fence for writes of other lanes", "missing-proxy-fence",
         "st.shared.u32 [%r4], %r1;\nFAULT fence.proxy.async.shared::cta;\nbar.sync 0;\n" + STORE + " // !\n" + DONE,
         "@%p0", ""),
    swap("one lane sets a flag for writes of other lanes, without bar.warp.sync", "global-race",
         RAISED + "FAULT@%p0 st.release.gpu.global.u32 [%rd2+512], 1;\n" + TAKES, "", MEET),
    swap("one lane adds to a counter for writes of other lanes, without bar.warp.sync", "global-race",
         RAISED + "FAULT@%p0 red.release.gpu.global.add.u32 [%rd2+512], 1;\n" + TAKES, "", MEET),
    swap("fences of all lanes before bar.warp.sync, not after it, and one lane's flag", "global-race",
         RAISED + "FAULT@%p0 st.relaxed.gpu.global.u32 [%rd2+512], 1;\n" + TAKES,
         "fence.acq_rel.gpu;\n" + MEET, MEET + "fence.acq_rel.gpu;\n"),
    swap("two halves of a warp that do not synchronize with each other", "lane-race",
         SECOND + "setp.ge.u32 %p5, %r1, 16;\nselp.b32 %r12, 0xffff0000, 0x0000ffff, %p5;\n@%p5 bra UPPER;\n"
         "st.shared.u32 [%r4], %r1;\nbar.warp.sync FAULT;\nbra END;\n"
         "UPPER:\nbar.warp.sync FAULT;\nSECOND:\n@%p3 bra END;\nld.shared.u32 %r10, [%r4+-64]; // !\nEND:\n",
         "%r12", "-1"),
    swap("one lane polls a flag, other lanes read without bar.warp.sync", "global-race",
         RAISED + MEET + "@%p0 st.release.gpu.global.u32 [%rd2+512], 1;\nbra END;\nSECOND:\nsetp.ne.u32 %p5, %r1, 32;\n"
         "@%p5 bra BEHIND;\nP:\nld.acquire.gpu.global.u32 %r10, [%rd2+512];\nsetp.ne.u32 %p4, %r10, 1;\n@%p4 bra P;\n"
         "BEHIND:\nFAULTld.global.u32 %r11, [%rd5+-128]; // !\nEND:\n", "", MEET),
)  # fmt: skip

# A CTA stores to the shared memory of its peer CTA and arrives at the peer's mbarrier. The peer waits and reads.
SENDS = REMOTE + "st.shared::cluster.u32 [%r21], %r1;\nbar.sync 0;\n"
ASKS = "Q:\nmbarrier.try_wait.parity{}.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra Q;\nld.shared.u32 %r10, [%r4]; // !\n"
SCOPES = (
    swap("words stored to a peer CTA before an arrival of CTA scope", "shared-race",
         SENDS + "@%p0 mbarrier.arriveFAULT.shared::cluster.b64 _, [%r20];\n" + ASKS.format(".acquire.cluster") + SYNC,
         "", ".release.cluster", blocks=2),
    swap("a peer CTA's words read after a wait of CTA scope", "shared-race",
         SENDS + "@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20];\n" + ASKS.format("FAULT") + SYNC,
         "", ".acquire.cluster", blocks=2),
    swap("a peer CTA's words overwritten: the peer CTA arrives before it reads them", "shared-race",
         REMOTE + "st.shared.u32 [%r4], %r1;\n" + SYNC + "FAULT" + wait()
         + "st.shared::cluster.u32 [%r21], %r1;\n" + SYNC,
         "@%p0 mbarrier.arrive.shared::cluster.b64 _, [%r20];\nld.shared.u32 %r10, [%r4]; // !\n",
         "ld.shared.u32 %r10, [%r4];\nbar.sync 0;\n@%p0 mbarrier.arrive.shared::cluster.b64 _, [%r20];\n", blocks=2),
)  # fmt: skip

ORDERS = (*LANES, *SCOPES)
