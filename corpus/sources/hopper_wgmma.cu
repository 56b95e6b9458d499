// SPDX-License-Identifier: Apache-2.0
// wgmma of Hopper in its types and shapes, with producer and consumer warpgroups and setmaxnreg.

__device__ __forceinline__ unsigned long long descriptor(const void* tile) {
    const unsigned long long address = static_cast<unsigned>(__cvta_generic_to_shared(tile));
    return ((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}

#define ACCUMULATORS_8(c) "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
#define ACCUMULATORS_32(c)                                                                                                                                        \
    ACCUMULATORS_8(c), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), \
        "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31])

__device__ __forceinline__ void arrive() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }

__device__ __forceinline__ void product_64x64x16(float (&c)[32], unsigned long long a, unsigned long long b, int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0,  %1,  %2,  %3,  %4,  %5,  %6,  %7,  "
        " %8,  %9,  %10, %11, %12, %13, %14, %15, "
        " %16, %17, %18, %19, %20, %21, %22, %23, "
        " %24, %25, %26, %27, %28, %29, %30, %31},"
        " %32, %33, p, 1, 1, 0, 1;\n"
        "}\n"
        : ACCUMULATORS_32(c)
        : "l"(a), "l"(b), "r"(accumulate));
}

extern "C" __global__ void __launch_bounds__(256, 1) producer_and_consumer(const uint4* in, float* out, int steps) {
    __shared__ alignas(1024) uint4 left[2][512], right[2][512];
    const int group = threadIdx.x / 128;
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(40));
        for (int step = 0; step < steps; ++step) {
            left[step & 1][threadIdx.x] = in[step * 256 + threadIdx.x];
            right[step & 1][threadIdx.x] = in[step * 256 + threadIdx.x + 128];
            asm volatile("fence.proxy.async.shared::cta; bar.sync 1, 256;" ::: "memory");
            asm volatile("bar.sync 2, 256;" ::: "memory");
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(232));
        float c[32] = {};
        for (int step = 0; step < steps; ++step) {
            asm volatile("bar.sync 1, 256;" ::: "memory");
            arrive();
#pragma unroll
            for (int k = 0; k < 4; ++k) product_64x64x16(c, descriptor(&left[step & 1][k * 2]), descriptor(&right[step & 1][k * 2]), step | k);
            commit();
            wait<0>();
            asm volatile("bar.sync 2, 256;" ::: "memory");
        }
        for (int i = 0; i < 32; ++i) out[i * 128 + threadIdx.x - 128] = c[i];
    }
}

extern "C" __global__ void types(float* f, int* s, unsigned* h, unsigned long long a, unsigned long long b) {
    float c[8];
    for (int i = 0; i < 8; ++i) c[i] = f[i];
    arrive();
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, -1, 1, 0, 0;" : ACCUMULATORS_8(c) : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, -1;" : ACCUMULATORS_8(c) : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e5m2 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1;" : ACCUMULATORS_8(c) : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, 1, 1, 1, 0;" : ACCUMULATORS_8(c) : "r"(h[0]), "r"(h[1]), "r"(h[2]), "r"(h[3]), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8.satfinite {%0, %1, %2, %3}, %4, %5, 1;" : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3]) : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%0, %1, %2, %3}, %4, %5, 1;" : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3]) : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, %2, %3, 0, 1, 1, 1, 1;" : "+r"(h[4]), "+r"(h[5]) : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, %10, 0, 1, 1, 1, 0, 0;" : ACCUMULATORS_8(c) : "l"(a), "l"(b), "r"(h[6]));
    commit();
    wait<1>();
    wait<0>();
    for (int i = 0; i < 8; ++i) f[i] = c[i];
}
