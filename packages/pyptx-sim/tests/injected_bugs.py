"""Faults injected into small kernels; each case has the kernel with and without its fault.

A case is the body of an entry. By default it runs with one CTA of 64 threads (two warps) on two arrays of 64 words,
`a` (initialized) and `b` (zeros). `// !` marks the faulty line. The body can use:

    %r1 tid   %r2 ctaid   %r3 &s   %r5 &s[tid]   %rd1 a   %rd2 b   %rd4 &a[tid]   %rd5 &b[tid]   %r6 lane   %p1 tid < 32
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

PROLOGUE = """\
.version 8.5
.target sm_90a
.address_size 64
.const .align 4 .u32 table[4] = {1, 2, 3, 4};
.visible .entry k(.param .u64 a, .param .u64 b)
{
.reg .pred %p<9>;
.reg .b32 %r<40>;
.reg .b64 %rd<20>;
.reg .f32 %f<10>;
.shared .align 16 .b8 s[1024];
.local .align 8 .b8 frame[64];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
cvta.to.global.u64 %rd1, %rd1;
cvta.to.global.u64 %rd2, %rd2;
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r6, %laneid;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
mov.u32 %r3, s;
shl.b32 %r4, %r1, 2;
add.u32 %r5, %r3, %r4;
setp.lt.u32 %p1, %r1, 32;
"""


@dataclass(frozen=True, slots=True)
class Injected:
    """Injected fault: the rule that reports it, and the kernel bodies with and without the fault."""

    title: str
    rule: str
    faulty: str
    mended: str
    blocks: int = 1
    threads: int = 64

    def text(self, body: str) -> str:
        """Return the PTX module whose entry has this body."""
        return PROLOGUE + dedent(body).strip() + "\nret;\n}\n"

    def marked_line(self) -> int:
        """Return the line number (from 1) of the mark `// !` in the faulty module."""
        (line,) = [i for i, row in enumerate(self.text(self.faulty).splitlines(), 1) if "// !" in row]
        return line


def swap(title: str, rule: str, body: str, faulty: str, mended: str, **options: int) -> Injected:
    """Return a test case whose two kernel bodies have `faulty` and `mended` in place of `FAULT`."""
    body = dedent(body)
    return Injected(title, rule, body.replace("FAULT", faulty), body.replace("FAULT", mended), **options)


MEMORY = (
    swap(
        "a load past the end of an array",
        "out-of-bounds",
        "ld.global.u32 %r10, FAULT\nst.global.u32 [%rd5], %r10;",
        "[%rd4+4]; // !",
        "[%rd4];",
    ),
    swap(
        "a store below the buffer `b`", "out-of-bounds", "st.global.u32 FAULT", "[%rd5+-4], %r1; // !", "[%rd5], %r1;"
    ),
    swap(
        "a vector store across the end of an array",
        "out-of-bounds",
        "setp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\nst.global.v4.u32 FAULT",
        "[%rd2+248], {%r1, %r1, %r1, %r1}; // !",
        "[%rd2+240], {%r1, %r1, %r1, %r1};",
    ),
    swap(
        "an atomic past an array", "out-of-bounds", "red.global.add.u32 FAULT", "[%rd2+4096], 1; // !", "[%rd2+252], 1;"
    ),
    swap(
        "a load from address zero",
        "out-of-bounds",
        "mov.u64 %rd9, FAULT",
        "0;\nld.global.u32 %r10, [%rd9]; // !",
        "%rd1;\nld.global.u32 %r10, [%rd9];",
    ),
    swap(
        "a generic load past the end of every array",
        "out-of-bounds",
        "cvta.global.u64 %rd9, %rd4;\nFAULT",
        "ld.u32 %r10, [%rd9+1024]; // !",
        "ld.u32 %r10, [%rd9];",
    ),
    swap(
        "a store past the end of shared memory",
        "out-of-bounds",
        "FAULT",
        "st.shared.u32 [%r5+1020], %r1; // !",
        "st.shared.u32 [%r5+512], %r1;",
    ),
    swap(
        "a load before the start of shared memory",
        "out-of-bounds",
        "st.shared.u32 [%r5], %r1;\nFAULT",
        "ld.shared.u32 %r10, [%r5+-8]; // !",
        "ld.shared.u32 %r10, [%r5];",
    ),
    swap(
        "a load past the end of a constant array",
        "out-of-bounds",
        "mov.u64 %rd9, table;\nand.b32 %r10, %r1, 3;\nmul.wide.u32 %rd10, %r10, 4;\nadd.s64 %rd9, %rd9, %rd10;\nFAULT",
        "ld.const.u32 %r11, [%rd9+64]; // !",
        "ld.const.u32 %r11, [%rd9];",
    ),
    swap(
        "a store past the end of local memory",
        "out-of-bounds",
        "mov.u64 %rd9, frame;\nFAULT",
        "st.local.u32 [%rd9+4096], %r1; // !",
        "st.local.u32 [%rd9+60], %r1;",
    ),
    swap(
        "a load at a misaligned address",
        "misaligned",
        "FAULT\nst.global.u32 [%rd5], %r10;",
        "ld.global.u32 %r10, [%rd1+2]; // !",
        "ld.global.u32 %r10, [%rd1+4];",
    ),
    swap(
        "a vector load at an address aligned for one word only",
        "misaligned",
        "FAULT",
        "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1+4]; // !",
        "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1+16];",
    ),
    swap(
        "a 64-bit store to shared memory at a 4-byte aligned address",
        "misaligned",
        "mov.u64 %rd9, 1;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\nFAULT",
        "st.shared.u64 [%r3+4], %rd9; // !",
        "st.shared.u64 [%r3+8], %rd9;",
    ),
    swap(
        "an atomic at a misaligned address",
        "misaligned",
        "FAULT",
        "red.global.add.u32 [%rd2+2], 1; // !",
        "red.global.add.u32 [%rd2+4], 1;",
    ),
)

UNINITIALISED = (
    swap(
        "a register never written",
        "uninitialized-register",
        "FAULT",
        "add.u32 %r10, %r11, 1; // !\nst.global.u32 [%rd5], %r10;",
        "mov.u32 %r11, 0;\nadd.u32 %r10, %r11, 1;\nst.global.u32 [%rd5], %r10;",
    ),
    swap(
        "a register written on one path only",
        "uninitialized-register",
        "setp.lt.u32 %p2, %r6, 16;\nFAULT",
        "@%p2 mov.u32 %r11, 1;\nadd.u32 %r10, %r11, 1; // !\nst.global.u32 [%rd5], %r10;",
        "selp.u32 %r11, 1, 0, %p2;\nadd.u32 %r10, %r11, 1;\nst.global.u32 [%rd5], %r10;",
    ),
    swap(
        "an address register never written",
        "uninitialized-register",
        "FAULT",
        "st.global.u32 [%rd12], %r1; // !",
        "mov.u64 %rd12, %rd5;\nst.global.u32 [%rd12], %r1;",
    ),
    swap(
        "a predicate register never written",
        "uninitialized-register",
        "FAULT",
        "selp.u32 %r10, 1, 0, %p5; // !\nst.global.u32 [%rd5], %r10;",
        "setp.eq.u32 %p5, %r1, 0;\nselp.u32 %r10, 1, 0, %p5;\nst.global.u32 [%rd5], %r10;",
    ),
    swap(
        "a load of shared memory that no thread has written",
        "uninitialized-memory",
        "FAULT",
        "ld.shared.u32 %r10, [%r5]; // !\nst.global.u32 [%rd5], %r10;",
        "st.shared.u32 [%r5], %r1;\nld.shared.u32 %r10, [%r5];\nst.global.u32 [%rd5], %r10;",
    ),
    swap(
        "words of shared memory written by even threads only",
        "uninitialized-memory",
        "and.b32 %r10, %r1, 1;\nsetp.eq.u32 %p2, %r10, 0;\nFAULT",
        "@%p2 st.shared.u32 [%r5], %r1;\nld.shared.u32 %r11, [%r5]; // !\nst.global.u32 [%rd5], %r11;",
        "@%p2 st.shared.u32 [%r5], %r1;\n@%p2 ld.shared.u32 %r11, [%r5];\n@%p2 st.global.u32 [%rd5], %r11;",
    ),
    swap(
        "local memory read before it is written",
        "uninitialized-memory",
        "mov.u64 %rd9, frame;\nFAULT",
        "ld.local.u32 %r10, [%rd9+8]; // !\nst.global.u32 [%rd5], %r10;",
        "st.local.u32 [%rd9+8], %r1;\nld.local.u32 %r10, [%rd9+8];\nst.global.u32 [%rd5], %r10;",
    ),
)

BARRIERS = (
    swap(
        "a barrier that odd lanes skip",
        "barrier-divergence",
        "and.b32 %r10, %r1, 1;\nsetp.eq.u32 %p2, %r10, 1;\nFAULT",
        "@%p2 bra over;\nbar.sync 0; // !\nover:",
        "bar.sync 0;",
    ),
    swap(
        "a barrier that one warp skips by returning",
        "barrier-divergence",
        "FAULT",
        "@%p1 ret;\nbar.sync 0; // !",
        "bar.sync 0;\n@%p1 ret;",
    ),
    swap(
        "two warps that wait at different barriers",
        "deadlock",
        "FAULT",
        "@%p1 bra first;\nbar.sync 1;\nbra over;\nfirst:\nbar.sync 2; // !\nover:",
        "@%p1 bra first;\nbar.sync 1;\nbra over;\nfirst:\nbar.sync 1;\nover:",
    ),
    swap(
        "a barrier for more threads than arrive",
        "deadlock",
        "@!%p1 bra over;\nFAULT\nover:",
        "bar.sync 1, 64; // !",
        "bar.sync 1, 32;",
    ),
    swap(
        "a consumer waits at another barrier than its producer arrives at",
        "deadlock",
        "@%p1 bra consumer;\nbar.arrive 1, 64;\nbra over;\nconsumer:\nFAULT\nover:",
        "bar.sync 2, 64; // !",
        "bar.sync 1, 64;",
    ),
    swap(
        "words written after the bar.arrive that should release them",
        "shared-race",
        "@!%p1 bra consumer;\nFAULT\nbra over;\nconsumer:\nbar.sync 1, 64;\nld.shared.u32 %r11, [%r5+-128]; // !\nover:",
        "bar.arrive 1, 64;\nst.shared.u32 [%r5], %r1;",
        "st.shared.u32 [%r5], %r1;\nbar.arrive 1, 64;",
    ),
    swap(
        "words read after a bar.arrive, which does not wait for their writer",
        "shared-race",
        "@!%p1 bra consumer;\nbar.FAULT 1, 64;\nld.shared.u32 %r11, [%r5+128]; // !\nbra over;\nconsumer:\n"
        "st.shared.u32 [%r5], %r1;\nbar.sync 1, 64;\nover:",
        "arrive",
        "sync",
    ),
    swap(
        "a bar.arrive and a bar.sync with different thread counts",
        "barrier-divergence",
        "@%p1 bra consumer;\nbar.arrive 1, 64;\nbra over;\nconsumer:\nFAULT\nover:",
        "bar.sync 1, 96; // !",
        "bar.sync 1, 64;",
    ),
    swap(
        "a warp that arrives twice in one phase of a barrier",
        "barrier-divergence",
        "@%p1 bra consumer;\nFAULT\nbra over;\nconsumer:\nbar.sync 1, 64;\nbar.sync 2, 64;\nover:",
        "bar.arrive 2, 64;\nbar.arrive 2, 64; // !",
        "bar.arrive 1, 64;\nbar.arrive 2, 64;",
    ),
    swap(
        "a lane that executes bar.warp.sync with the membermask of other lanes",
        "membermask-mismatch",
        "FAULT",
        "bar.warp.sync 0x0000ffff; // !",
        "bar.warp.sync -1;",
    ),
    swap(
        "lanes that execute elect.sync with the membermask of other lanes",
        "membermask-mismatch",
        "FAULT",
        "elect.sync %r10|%p2, 0x0000ffff; // !",
        "elect.sync %r10|%p2, -1;",
    ),
    swap(
        "a polled flag that no thread sets",
        "deadlock",
        "FAULT\nspin:\nld.volatile.global.u32 %r10, [%rd2];\nsetp.eq.u32 %p2, %r10, 0;\n@%p2 bra spin;",
        "// !",
        "mov.u32 %r11, 1;\nred.global.add.u32 [%rd2], %r11;",
    ),
)

RACES = (
    swap(
        "a shared exchange without a barrier",
        "shared-race",
        "st.shared.u32 [%r5], %r1;\nFAULT",
        "xor.b32 %r10, %r4, 252;\nadd.u32 %r10, %r3, %r10;\nld.shared.u32 %r11, [%r10]; // !",
        "bar.sync 0;\nxor.b32 %r10, %r4, 252;\nadd.u32 %r10, %r3, %r10;\nld.shared.u32 %r11, [%r10];",
    ),
    swap(
        "a shared row overwritten while others read it",
        "shared-race",
        "st.shared.u32 [%r5], %r1;\nbar.sync 0;\nxor.b32 %r10, %r4, 252;\nadd.u32 %r10, %r3, %r10;\nld.shared.u32 %r11, [%r10];\nFAULT",
        "st.shared.u32 [%r5], %r11; // !",
        "bar.sync 0;\nst.shared.u32 [%r5], %r11;",
    ),
    swap(
        "a loop with one barrier where it needs two",
        "shared-race",
        "mov.u32 %r20, 0;\nagain:\nFAULT\nbar.sync 0;\nxor.b32 %r10, %r4, 252;\nadd.u32 %r10, %r3, %r10;\nld.shared.u32 %r11, [%r10];\nadd.u32 %r20, %r20, 1;\nsetp.lt.u32 %p2, %r20, 3;\n@%p2 bra again;",
        "st.shared.u32 [%r5], %r20; // !",
        "bar.sync 0;\nst.shared.u32 [%r5], %r20;",
    ),
    swap(
        "two warps that store to one address",
        "shared-race",
        "shl.b32 %r10, %r6, 2;\nadd.u32 %r10, %r3, %r10;\nFAULT",
        "st.shared.u32 [%r10], %r1; // !",
        "@%p1 st.shared.u32 [%r10], %r1;",
    ),
    swap(
        "a named barrier at which only one warp waits",
        "shared-race",
        "st.shared.u32 [%r5], %r1;\nFAULT\nxor.b32 %r10, %r4, 252;\nadd.u32 %r10, %r3, %r10;\nld.shared.u32 %r11, [%r10]; // !",
        "@%p1 bar.sync 1, 32;",
        "bar.sync 1, 64;",
    ),
    swap(
        "a plain store that races with atomics",
        "shared-race",
        "setp.eq.u32 %p2, %r1, 0;\n@%p2 st.shared.u32 [%r3], 0;\nFAULT\natom.shared.add.u32 %r10, [%r3], 1;",
        "// !",
        "bar.sync 0;",
    ),
    swap(
        "another lane's word read without bar.warp.sync",
        "lane-race",
        "st.shared.u32 [%r5], %r1;\nFAULT",
        "xor.b32 %r10, %r4, 4;\nadd.u32 %r10, %r3, %r10;\nld.shared.u32 %r11, [%r10]; // !",
        "bar.warp.sync -1;\nxor.b32 %r10, %r4, 4;\nadd.u32 %r10, %r3, %r10;\nld.shared.u32 %r11, [%r10];",
    ),
    swap(
        "a word overwritten before another lane has read it",
        "lane-race",
        "st.shared.u32 [%r5], %r1;\nbar.sync 0;\nxor.b32 %r10, %r4, 4;\nadd.u32 %r10, %r3, %r10;\nld.shared.u32 %r11, [%r10];\nFAULT",
        "st.shared.u32 [%r5], %r11; // !",
        "bar.warp.sync -1;\nst.shared.u32 [%r5], %r11;",
    ),
    swap(
        "all lanes store to one word",
        "lane-race",
        "setp.eq.u32 %p2, %r1, 0;\nFAULT",
        "@%p1 st.shared.u32 [%r3], %r1; // !",
        "@%p2 st.shared.u32 [%r3], %r1;",
    ),
    swap(
        "half a warp synchronizes, and reads from the other half",
        "lane-race",
        "st.shared.u32 [%r5], %r1;\nsetp.lt.u32 %p2, %r6, 16;\n@!%p2 bra over;\nbar.warp.sync 0x0000ffff;\nFAULT\nover:",
        "ld.shared.u32 %r11, [%r5+64]; // !",
        "xor.b32 %r10, %r4, 4;\nadd.u32 %r10, %r3, %r10;\nld.shared.u32 %r11, [%r10];",
    ),
    swap(
        "two CTAs that store to one array",
        "global-race",
        "FAULT",
        "st.global.u32 [%rd5], %r2; // !",
        "setp.eq.u32 %p2, %r2, 0;\n@%p2 st.global.u32 [%rd5], %r2;",
        blocks=2,
    ),
    swap(
        "words written and read through the non-coherent cache",
        "noncoherent-read",
        "st.global.u32 [%rd5], %r1;\nbar.sync 0;\nFAULT",
        "ld.global.nc.u32 %r10, [%rd5]; // !",
        "ld.global.u32 %r10, [%rd5];",
    ),
    swap(
        "words written after a read through the non-coherent cache",
        "noncoherent-read",
        "FAULT\nbar.sync 0;\nst.global.u32 [%rd5], %r1;",
        "ld.global.nc.u32 %r10, [%rd5]; // !",
        "ld.global.u32 %r10, [%rd5];",
    ),
    swap(
        "words of global memory exchanged without a barrier",
        "global-race",
        "st.global.u32 [%rd5], %r1;\nsub.s64 %rd9, %rd2, %rd3;\nFAULT",
        "ld.global.u32 %r10, [%rd9+252]; // !",
        "bar.sync 0;\nld.global.u32 %r10, [%rd9+252];",
    ),
    swap(
        "a counter that is not atomic",
        "global-race",
        "setp.ne.u32 %p2, %r6, 0;\n@%p2 ret;\nFAULT",
        "ld.global.u32 %r10, [%rd2];\nadd.u32 %r10, %r10, 1;\nst.global.u32 [%rd2], %r10; // !",
        "red.global.add.u32 [%rd2], 1;",
    ),
    swap(
        "the first and the last of many CTAs store to one word",
        "global-race",
        "setp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\nsetp.eq.u32 %p3, %r2, 0;\nsetp.eq.or.u32 %p4, %r2, 599, %p3;\nFAULT",
        "@%p4 st.global.u32 [%rd2], %r2; // !",
        "@%p4 red.global.add.u32 [%rd2], %r2;",
        blocks=600,
    ),
    swap(
        "data written before an atomic flag, without a fence",
        "global-race",
        """
        setp.ne.u32 %p2, %r1, 0;
        @%p2 ret;
        setp.eq.u32 %p3, %r2, 0;
        @!%p3 bra receive;
        st.global.u32 [%rd2+8], 7;
        FAULT
        atom.global.exch.b32 %r10, [%rd2], 1;
        ret;
        receive:
        atom.global.or.b32 %r10, [%rd2], 0;
        setp.eq.u32 %p4, %r10, 0;
        @%p4 bra receive;
        membar.gl;
        ld.global.u32 %r11, [%rd2+8];
        """,
        "// !",
        "membar.gl;",
        blocks=2,
        threads=32,
    ),
)

# Warp-level instructions that do not order memory accesses; only `bar.warp.sync` does (manual).
ROW = "mad.lo.u32 %r13, %r1, 16, %r3;\n"
TOGETHER = {
    "a shuffle": "shfl.sync.idx.b32 %r12, %r1, 0, 31, -1;",
    "a vote": "vote.sync.ballot.b32 %r12, %p1, -1;",
    "an election": "elect.sync %r12|%p2, -1;",
    "a reduction": "redux.sync.add.u32 %r12, %r1, -1;",
    "a match": "match.any.sync.b32 %r12, %r1, -1;",
    "a load of a matrix": ROW + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12}, [%r13+256];",
    "a store of a matrix": ROW + "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r13+256], {%r1};",
    "a product": "mov.b32 %r12, 0;\nmov.f32 %f0, 0f00000000;\nmma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
    "{%f1, %f2, %f3, %f4}, {%r12, %r12}, {%r12}, {%f0, %f0, %f0, %f0};",
}
UNORDERED = tuple(
    swap(
        f"another lane's word read after {what}, which does not order memory",
        "lane-race",
        f"st.shared.u32 [%r5], %r1;\n{instruction}\nxor.b32 %r10, %r4, 4;\nadd.u32 %r10, %r3, %r10;\nFAULT",
        "ld.shared.u32 %r11, [%r10]; // !",
        "bar.warp.sync -1;\nld.shared.u32 %r11, [%r10];",
    )
    for what, instruction in TOGETHER.items()
)

ONE_EACH = "setp.ne.u32 %p2, %r6, 0;\n@%p2 ret;\n"  # code after which only lane 0 of each of the two warps continues

MESSAGE = """
setp.ne.u32 %p2, %r1, 0;
@%p2 ret;
setp.eq.u32 %p3, %r2, 0;
@!%p3 bra receive;
st.global.u32 [%rd2+8], 7; // !
FAULT
ret;
receive:
ld.acquire.gpu.global.u32 %r10, [%rd2];
setp.eq.u32 %p4, %r10, 0;
@%p4 bra receive;
ld.global.u32 %r11, [%rd2+8];
"""


def message(title: str, faulty: str, mended: str) -> Injected:
    """Return a test case: message passing between two CTAs; the faulty store of the flag does not release the data."""
    return swap(title, "global-race", MESSAGE, faulty, mended, blocks=2, threads=32)


# Two strong accesses do not race; a strong and a weak access do, unless both read. Manual: "Memory Consistency Model".
STRONG = (
    swap(
        "a plain store concurrent with a volatile load",
        "global-race",
        ONE_EACH + "@%p1 ld.volatile.global.u32 %r10, [%rd2];\nFAULT",
        "@!%p1 st.global.u32 [%rd2], 1; // !",
        "@!%p1 ld.global.u32 %r11, [%rd2];",
    ),
    swap(
        "a volatile load concurrent with a plain store",
        "global-race",
        ONE_EACH + "@!%p1 FAULT\n@%p1 ld.volatile.global.u32 %r10, [%rd2];",
        "st.global.u32 [%rd2], 1; // !",
        "st.volatile.global.u32 [%rd2], 1;",
    ),
    swap(
        "a plain load concurrent with a volatile store",
        "shared-race",
        "st.shared.u32 [%r5], %r1;\nbar.sync 0;\n" + ONE_EACH + "@%p1 st.volatile.shared.u32 [%r3], 1;\n@!%p1 FAULT",
        "ld.shared.u32 %r10, [%r3]; // !",
        "ld.relaxed.cta.shared.u32 %r10, [%r3];",
    ),
    swap(
        "a warp that polls a word and then stores to it",
        "lane-race",
        "@!%p1 ret;\nld.volatile.global.u32 %r10, [%rd2];\nld.global.u32 %r11, [%rd2];\nsetp.eq.u32 %p2, %r1, 0;\nFAULT",
        "@%p2 st.global.u32 [%rd2], 1; // !",
        "bar.warp.sync -1;\n@%p2 st.global.u32 [%rd2], 1;",
    ),
    message(
        "a flag set by a relaxed store",
        "st.relaxed.gpu.global.u32 [%rd2], 1;",
        "st.release.gpu.global.u32 [%rd2], 1;",
    ),
    message(
        "a flag set by a volatile store",
        "st.volatile.global.u32 [%rd2], 1;",
        "membar.gl;\nst.volatile.global.u32 [%rd2], 1;",
    ),
    message(
        "a flag set by a relaxed atomic",
        "atom.relaxed.gpu.global.add.u32 %r9, [%rd2], 1;",
        "atom.acq_rel.gpu.global.add.u32 %r9, [%rd2], 1;",
    ),
    message(
        "a flag set by an acquiring atomic",
        "atom.acquire.gpu.global.exch.b32 %r9, [%rd2], 1;",
        "red.release.gpu.global.add.u32 [%rd2], 1;",
    ),
    message(
        "a fence after the store to the flag, not before it",
        "st.relaxed.gpu.global.u32 [%rd2], 1;\nfence.acq_rel.gpu;",
        "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd2], 1;",
    ),
    message(
        "a fence before a load and a weak store to the flag",
        "fence.acq_rel.gpu;\nld.relaxed.gpu.global.u32 %r9, [%rd2];\nst.global.u32 [%rd2], 1;",
        "fence.sc.gpu;\nst.relaxed.gpu.global.u32 [%rd2], 1;",
    ),
)

WIDE = "atom.global.add.u64 %rd9, [%rd2], %rd10;"
WIDE_SHARED = WIDE.replace("global", "shared").replace("%rd2", "%r3")
NARROW_SHARED = "atom.shared.add.u32 %r10, [%r3], 1; // !"


def sizes(title: str, faulty: str, mended: str, other: str = WIDE) -> Injected:
    """Return a case of accesses by thread 0 of CTA 0 to words that thread 0 of CTA 1 updates."""
    body = (
        f"setp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\nsetp.eq.u32 %p3, %r2, 0;\nmov.u64 %rd10, 1;\n@!%p3 {other}\n@%p3 FAULT"
    )
    return swap(title, "global-race", body, faulty, mended, blocks=2)


def sizes_inside(title: str, rule: str, thread: int) -> Injected:
    """Return a case of accesses by thread 0 to words in shared memory that another thread of its CTA updates."""
    body = (
        f"setp.eq.u32 %p3, %r1, 0;\nsetp.eq.u32 %p4, %r1, {thread};\nmov.u64 %rd10, 1;\n@%p3 st.shared.u64 [%r3], 0;\n"
        f"bar.sync 0;\n@%p4 {WIDE_SHARED}\n@%p3 FAULT"
    )
    return swap(title, rule, body, NARROW_SHARED, WIDE_SHARED)


# Morally strong operations that overlap must overlap completely. Manual: "Morally strong operations".
SIZES = (
    sizes("atomics of two sizes on one word", "atom.global.add.u32 %r10, [%rd2], 1; // !", WIDE),
    sizes(
        "an atomic on the upper half of another atomic's word",
        "atom.global.add.u32 %r10, [%rd2+4], 1; // !",
        "atom.global.add.u32 %r10, [%rd2+8], 1;",
    ),
    sizes(
        "reductions of two sizes on one word",
        "red.global.add.u32 [%rd2], 1; // !",
        "red.global.add.u64 [%rd2], %rd10;",
        "red.global.add.u64 [%rd2], %rd10;",
    ),
    sizes(
        "a strong store to half of an atomic's word",
        "st.relaxed.gpu.global.u32 [%rd2], 1; // !",
        "st.relaxed.gpu.global.u64 [%rd2], %rd10;",
    ),
    sizes_inside("atomics of two sizes by two warps", "shared-race", 32),
    sizes_inside("atomics of two sizes by two lanes", "lane-race", 1),
)


def lock(take: str = "acquire", fence: str = "", give: str = "release") -> str:
    """Return a case of a critical section: thread 0 of each CTA increments a word that a lock protects."""
    return f"""
    setp.ne.u32 %p2, %r1, 0;
    @%p2 ret;
    again:
    atom.{take}.gpu.global.cas.b32 %r10, [%rd2], 0, 1;
    setp.ne.u32 %p3, %r10, 0;
    @%p3 bra again;
    {fence}
    ld.global.u32 %r11, [%rd2+128]; // !
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd2+128], %r11;
    st.{give}.gpu.global.u32 [%rd2], 0;
    """


# A thread that takes a lock acquires the release by its previous holder. Manual: "Release and Acquire Patterns".
LOCKS = (
    swap("a lock acquired by a relaxed atomic", "global-race", lock(take="FAULT"), "relaxed", "acquire", blocks=4),
    swap(
        "a lock acquired by a relaxed atomic, with a fence of CTA scope",
        "global-race",
        lock(take="relaxed", fence="FAULT"),
        "fence.acq_rel.cta;",
        "fence.acq_rel.gpu;",
        blocks=4,
    ),
    swap("a lock released by a relaxed store", "global-race", lock(give="FAULT"), "relaxed", "release", blocks=4),
)

INSIDE = """
setp.ne.u32 %p2, %r6, 0;
@%p2 ret;
@!%p1 bra receive;
st.global.u32 [%rd2+8], 7; // !
FAULT
ret;
receive:
ld.acquire.cta.global.u32 %r10, [%rd2];
setp.eq.u32 %p4, %r10, 0;
@%p4 bra receive;
ld.global.u32 %r11, [%rd2+8];
"""
RAISED = "st.relaxed.gpu.global.u32 [%rd2], 1;"

# A fence orders only the threads of its scope. Manual: "Memory Consistency Model", "Scope".
SCOPES = (
    message("a fence of CTA scope between CTAs", f"fence.acq_rel.cta;\n{RAISED}", f"fence.acq_rel.gpu;\n{RAISED}"),
    message("a fence of cluster scope between clusters", f"fence.sc.cluster;\n{RAISED}", f"fence.sc.sys;\n{RAISED}"),
    message("a membar of CTA scope between CTAs", f"membar.cta;\n{RAISED}", f"membar.gl;\n{RAISED}"),
    message(
        "a flag set by a release of CTA scope",
        "st.release.cta.global.u32 [%rd2], 1;",
        "fence.acq_rel.cta;\nst.release.gpu.global.u32 [%rd2], 1;",
    ),
    swap(
        "a counter of several CTAs, updated at CTA scope",
        "global-race",
        "setp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\nFAULT",
        "atom.relaxed.cta.global.add.u32 %r10, [%rd2], 1; // !",
        "atom.relaxed.gpu.global.add.u32 %r10, [%rd2], 1;",
        blocks=3,
    ),
    swap(
        "a plain store to a counter that atomics of CTA scope update",
        "global-race",
        "setp.ne.u32 %p2, %r6, 0;\n@%p2 ret;\nFAULT\natom.relaxed.cta.global.add.u32 %r10, [%rd2], 1;",
        "st.global.u32 [%rd2], 1; // !",
        "st.relaxed.cta.global.u32 [%rd2], 1;",
    ),
    swap("a relaxed flag without a fence, in one CTA", "global-race", INSIDE, RAISED, f"fence.acq_rel.cta;\n{RAISED}"),
)

# A case: a write races with an earlier reader, but is ordered after the last reader.
READERS = (
    swap(
        "a store ordered after the last reader, but not after the first",
        "global-race",
        """
        setp.ne.u32 %p2, %r6, 0;
        @%p2 ret;
        setp.eq.u32 %p3, %r2, 0;
        @%p3 bra first;
        setp.ge.u32 %p4, %r1, 64;
        FAULT
        ld.acquire.gpu.global.u32 %r11, [%rd2+8];
        setp.eq.u32 %p5, %r11, 0;
        @%p5 bra second;
        @!%p4 ld.global.u32 %r10, [%rd2];
        @!%p4 st.global.u32 [%rd2], 1; // !
        ret;
        first:
        ld.global.u32 %r10, [%rd2];
        st.relaxed.gpu.global.u32 [%rd2+8], 1;
        """,
        "second:",
        "second: mov.pred %p4, 1;",
        blocks=2,
        threads=32,
    ),
    swap(
        "a store ordered after one reading lane, but not after another",
        "lane-race",
        """
        @!%p1 ret;
        setp.eq.u32 %p2, %r6, 3;
        setp.eq.u32 %p3, %r6, 5;
        setp.eq.u32 %p4, %r6, 7;
        shr.u32 %r20, %r6, 2;
        setp.eq.u32 %p5, %r20, 1;
        @%p2 ld.global.u32 %r10, [%rd2];
        @%p5 bar.warp.sync 0xf0;
        @%p3 ld.global.u32 %r11, [%rd2];
        @%p5 bar.warp.sync 0xf0;
        FAULT
        @%p4 st.global.u32 [%rd2], 1; // !
        """,
        "",
        "bar.warp.sync -1;",
    ),
)

INJECTED = (*MEMORY, *UNINITIALISED, *BARRIERS, *RACES, *UNORDERED, *STRONG, *SIZES, *LOCKS, *SCOPES, *READERS)
