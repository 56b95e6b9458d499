// SPDX-License-Identifier: Apache-2.0
// Inline assembly as people write it: several statements a line, nested blocks with registers and labels of their own,
// comments and tabs inside the text, operands of every constraint.

__device__ __forceinline__ unsigned rotate_and_mask(unsigned value, unsigned count) {
    unsigned result;
    asm("{ .reg .u32 t; shf.l.wrap.b32 t, %1, %1, %2; and.b32 %0, t, 0x00FF00FF; }" : "=r"(result) : "r"(value), "r"(count));
    return result;
}

__device__ __forceinline__ int first_set_or(int value, int otherwise) {
    int result;
    asm volatile(
        "{\n\t"
        ".reg .pred p;\n\t"
        ".reg .b32 %%low, %%reversed;\n\t"
        "neg.s32 %%low, %1;   and.b32 %%low, %%low, %1; // lowest set bit\n\t"
        "brev.b32 %%reversed, %%low;\n\t"
        "setp.ne.s32 p, %1, 0;\n\t"
        "@p  clz.b32 %0, %%reversed;\n\t"
        "@!p mov.b32 %0, %2;\n\t"
        "}"
        : "=r"(result)
        : "r"(value), "r"(otherwise));
    return result;
}

__device__ __forceinline__ unsigned count_down(unsigned start) {
    unsigned steps;
    asm volatile(
        "{ .reg .u32 left; .reg .pred more;\n"
        "  mov.u32 left, %1; mov.u32 %0, 0;\n"
        "again:\n"
        "  setp.eq.u32 more, left, 0;\n"
        "  @more bra done;\n"
        "  sub.u32 left, left, 1; add.u32 %0, %0, 1; bra again;\n"
        "done:\n"
        "}"
        : "=&r"(steps)
        : "r"(start));
    return steps;
}

__device__ __forceinline__ unsigned long long timed_nanosleep(unsigned duration) {
    unsigned long long begin, end;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    asm volatile("nanosleep.u32 %0;" ::"r"(duration) : "memory");
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end)::"memory");
    return end - begin;
}

extern "C" __global__ void nested_scopes(unsigned* data) {
    const unsigned i = threadIdx.x;
    data[i] = rotate_and_mask(data[i], i) + first_set_or(static_cast<int>(data[i]), -1) + count_down(i) + count_down(data[i] & 7);
}

extern "C" __global__ void wide_operands(double* d, float* f, unsigned short* h, unsigned long long* w, unsigned char* b) {
    double square;
    asm("mul.rn.f64 %0, %1, %1;" : "=d"(square) : "d"(d[0]));
    d[0] = square;
    float root;
    asm("sqrt.approx.ftz.f32 \t%0,\t%1;" : "=f"(root) : "f"(f[0]));
    f[0] = root;
    unsigned short sum;
    asm("add.u16 %0, %1, %2;" : "=h"(sum) : "h"(h[0]), "n"(17));
    h[0] = sum;
    unsigned long long packed;
    asm("mov.b64 %0, {%1, %2};" : "=l"(packed) : "r"(b[0] + 0u), "r"(b[1] + 0u));
    w[0] = packed;
    unsigned low, high;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(w[1]));
    w[1] = low ^ high;
    asm("add.f32 %0, %0, 0f3F800000; mul.f32 %0, %0, 0fBF000000; fma.rn.f32 %0, %0, 0f7F7FFFFF, %0;" : "+f"(f[1]));
}

extern "C" __global__ void carries(unsigned* a, const unsigned* b) {
    unsigned r0, r1, r2, r3;
    asm("add.cc.u32  %0, %4, %8;\n\t"
        "addc.cc.u32 %1, %5, %9;\n\t"
        "addc.cc.u32 %2, %6, %10;\n\t"
        "addc.u32    %3, %7, %11;"
        : "=&r"(r0), "=&r"(r1), "=&r"(r2), "=&r"(r3)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
    asm("mad.lo.cc.u32 %0, %1, %2, %0; madc.hi.u32 %1, %2, %2, 0; sub.cc.u32 %0, %0, 1; subc.u32 %1, %1, 0;" : "+r"(r0), "+r"(r1) : "r"(r2));
    a[0] = r0;
    a[1] = r1;
    a[2] = r2;
    a[3] = r3;
}

extern "C" __global__ void predicates_and_selects(int* x) {
    int r;
    asm("{ .reg .pred p, q, s; setp.lt.and.s32 p|q, %1, %2, !s; }" ::"r"(x[0]), "r"(x[0]), "r"(x[1]));
    asm("{.reg .pred p,q;setp.gt.s32 p,%1,0;setp.leu.f32 q,0f00000000,0f80000000;and.pred p,p,q;not.pred q,p;xor.pred p,p,q;selp.s32 %0,%1,-1,p;}" : "=r"(r) : "r"(x[2]));
    asm volatile("slct.s32.f32 %0, %0, %1, 0f3F000000;" : "+r"(r) : "r"(x[3]));
    asm volatile("set.ge.u32.s32 %0, %0, %1; /* a block comment */ lop3.b32 %0, %0, %1, 0x5A5A, 0xE8;" : "+r"(r) : "r"(x[4]));
    asm volatile("bfe.s32 %0, %0, 4, 8; bfi.b32 %0, %0, %1, 8, 8; prmt.b32 %0, %0, %1, 0x3201; prmt.b32.f4e %0, %0, %1, 2;" : "+r"(r) : "r"(x[5]));
    asm volatile("bfind.shiftamt.u32 %0, %0; popc.b32 %0, %0; fns.b32 %0, %0, 0, 1; szext.clamp.s32 %0, %0, 8; bmsk.clamp.b32 %0, %0, 8;" : "+r"(r));
    x[6] = r;
}

extern "C" __global__ void addresses(char* base, int offset) {
    unsigned value;
    asm volatile("ld.global.u32 %0, [%1+16];" : "=r"(value) : "l"(base));
    asm volatile("st.global.u32 [%0+-4], %1;" ::"l"(base + offset), "r"(value) : "memory");
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, _, _, _}, [%1];" : "=r"(value) : "l"(base));
    asm volatile("{ .reg .b64 a; cvta.to.global.u64 a, %0; prefetch.global.L2 [a]; red.global.add.u32 [a+8], 1; }" ::"l"(base) : "memory");
    asm volatile("{ .shared .align 4 .b8 scratch[64]; st.shared.u32 [scratch+60], %0; .local .align 8 .u64 slot; st.local.u64 [slot], 0xFFFFFFFFFFFFFFFFU; }" ::"r"(value) : "memory");
    *reinterpret_cast<unsigned*>(base + offset) = value;
}
