"""Faults injected into kernels with ldmatrix, stmatrix and MMA; see `injected_bugs`."""

from __future__ import annotations

from .injected_bugs import swap

FOUR = "{%r10, %r11, %r12, %r13}"
ROWS = "shl.b32 %r7, %r6, 4;\nadd.u32 %r8, %r3, %r7;"  # %r8: shared memory address of the lane's 16-byte matrix row
FILL = f"""
{ROWS}
ld.global.u32 %r9, [%rd4];
st.shared.u32 [%r5], %r9;
@%p1 st.shared.u32 [%r5+256], %r9;
@!%p1 st.shared.u32 [%r5+256], %r9;
"""
PRODUCT = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"

MATRICES = (
    swap(
        "ldmatrix before the other warp has stored its rows",
        "shared-race",
        f"""{FILL}
        FAULT
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {FOUR}, [%r8]; // !
        st.global.u32 [%rd5], %r10;
        """,
        "",
        "bar.sync 0;",
    ),
    swap(
        "stmatrix over rows that the other warp still loads",
        "shared-race",
        f"""{FILL}
        bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {FOUR}, [%r8];
        FAULT
        @!%p1 bra done;
        stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r8], {FOUR}; // !
        done:
        """,
        "",
        "bar.sync 0;",
    ),
    swap(
        "a row address of ldmatrix that is not a multiple of 16",
        "misaligned",
        f"""{FILL}
        bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, FAULT
        """,
        "[%r8+4]; // !",
        "[%r8];",
    ),
    swap(
        "an ldmatrix of rows that no thread has written",
        "uninitialized-memory",
        f"""
        {ROWS}
        FAULT
        bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r8]; // !
        st.global.u32 [%rd5], %r10;
        """,
        "",
        "st.shared.u32 [%r5], %r1;",
    ),
    swap(
        "a row address of ldmatrix past the end of shared memory",
        "out-of-bounds",
        f"""{FILL}
        bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {FOUR}, FAULT
        """,
        "[%r8+1024]; // !",
        "[%r8];",
    ),
    swap(
        "an MMA that half of a warp executes",
        "membermask-mismatch",
        f"""
        setp.lt.u32 %p2, %r6, FAULT
        @%p2 {PRODUCT} {{%r10, %r11}}, {{%r1}}, {{%r1}}, {{%r1, %r1}}; // !
        """,
        "16;",
        "32;",
    ),
    swap(
        "an MMA in a warp of which one lane has exited",
        "membermask-mismatch",
        f"""
        setp.eq.u32 %p2, %r6, FAULT
        @%p2 exit;
        {PRODUCT} {{%r10, %r11}}, {{%r1}}, {{%r1}}, {{%r1, %r1}}; // !
        """,
        "31;",
        "32;",
    ),
    swap(
        "an accumulator register that was never written",
        "uninitialized-register",
        f"""
        FAULT
        {PRODUCT} {{%r10, %r11}}, {{%r1}}, {{%r1}}, {{%r10, %r11}}; // !
        st.global.u32 [%rd5], %r11;
        """,
        "mov.u32 %r10, 0;",
        "mov.u32 %r10, 0; mov.u32 %r11, 0;",
    ),
    swap(
        "sparse metadata whose column indices do not increase",
        "sparse-metadata",
        f"""
        mov.u32 %r20, 0;
        mov.f32 %f0, 0f00000000;
        mov.u32 %r21, FAULT
        {SPARSE} {{%f1, %f2, %f3, %f4}}, {{%r20, %r20}}, {{%r20, %r20}}, {{%f0, %f0, %f0, %f0}}, %r21, 1; // !
        """,
        "0x44444414;",
        "0xe9c84e84;",
    ),
    swap(
        "sparse metadata for tf32 with an invalid 4-bit value",
        "sparse-metadata",
        """
        mov.u32 %r20, 0;
        mov.f32 %f0, 0f00000000;
        mov.u32 %r21, FAULT
        mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4},
            {%r20, %r20}, {%r20, %r20}, {%f0, %f0, %f0, %f0}, %r21, 3;
        // !
        """,
        "0xe4e4e4e8;",
        "0xe4e4e44e;",
    ),
)
