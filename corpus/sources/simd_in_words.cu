// SPDX-License-Identifier: Apache-2.0
// Dot products of bytes, SIMD within a word, and the video instructions.

extern "C" __global__ void dot_products(int* out, const int* a, const unsigned* b) {
    const int i = threadIdx.x;
    int sum = __dp4a(a[i], a[i + 32], 5);
    sum += static_cast<int>(__dp4a(b[i], b[i + 32], 7u)) + __dp2a_lo(a[i], a[i + 1], sum) + __dp2a_hi(a[i], a[i + 2], sum);
    out[i] = sum;
}

extern "C" __global__ void packed_bytes(unsigned* out, const unsigned* a) {
    const unsigned x = a[threadIdx.x], y = a[threadIdx.x + 32];
    out[0] = __vadd4(x, y) + __vsub2(x, y) + __vabsdiffu4(x, y) + __vavgu2(x, y) + __vmaxs4(x, y) + __vminu2(x, y);
    out[1] = __vcmpeq4(x, y) + __vsetltu2(x, y) + __vaddss4(x, y) + __vsubus2(x, y) + __vneg4(x) + __vsads4(x, y) + __vhaddu4(x, y);
    out[2] = __viaddmax_s32(static_cast<int>(x), static_cast<int>(y), 3) + __vimax3_u32(x, y, 9u) + __vimin_s16x2_relu(x, y) + __vibmax_u32(x, y, nullptr == a ? nullptr : reinterpret_cast<bool*>(out + 8));
}

extern "C" __global__ void video(int* out, const int* a, const unsigned* b) {
    int r = a[0];
    asm volatile("vadd.s32.s32.s32.sat %0, %1.b0, %2.h1;" : "=r"(r) : "r"(r), "r"(a[1]));
    asm volatile("vsub.s32.u32.s32.add %0, %1.h0, %2.b3, %1;" : "+r"(r) : "r"(r), "r"(a[2]));
    asm volatile("vabsdiff.s32.u32.u32.max %0, %1, %2, %1;" : "+r"(r) : "r"(b[0]), "r"(b[1]));
    asm volatile("vmad.s32.s32.u32.sat.shr7 %0, %1.b1, %2.b2, %0;" : "+r"(r) : "r"(a[3]), "r"(b[2]));
    asm volatile("vset.s32.s32.lt %0, %1, %2;" : "=r"(r) : "r"(r), "r"(a[4]));
    asm volatile("vshl.u32.u32.u32.wrap %0, %1, %2;" : "=r"(r) : "r"(r), "r"(b[3]));
    asm volatile("vadd4.s32.s32.s32.sat %0, %1, %2, %1;" : "=r"(r) : "r"(r), "r"(a[5]));
    asm volatile("vavrg2.u32.u32.u32 %0.h10, %1, %2, %1;" : "=r"(r) : "r"(r), "r"(a[6]));
    asm volatile("vset4.u32.u32.ge %0, %1, %2, %1;" : "=r"(r) : "r"(r), "r"(a[7]));
    out[0] = r;
}
