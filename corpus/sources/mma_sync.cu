// SPDX-License-Identifier: Apache-2.0
// mma.sync, ldmatrix, stmatrix, movmatrix and cp.async written by hand, as in a tuned GEMM for Ampere and Ada.

__device__ __forceinline__ unsigned shared_address(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void copy_async_16(unsigned to, const void* from, bool inside) {
    const int bytes = inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

__device__ __forceinline__ void load_a(unsigned (&a)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(address));
}

__device__ __forceinline__ void load_b(unsigned (&b)[2], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(address));
}

#define MMA_F32(shape, types)                                                                                                   \
    asm volatile("mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

extern "C" __global__ void __launch_bounds__(128) gemm_stages(const unsigned short* a_global, const unsigned short* b_global, float* out, int depth) {
    __shared__ __align__(128) unsigned short a_tile[3][64 * 32], b_tile[3][32 * 64];
    float c[4] = {0, 0, 0, 0};
    for (int stage = 0; stage < 2; ++stage) {
        copy_async_16(shared_address(&a_tile[stage][threadIdx.x * 8]), a_global + stage * 2048 + threadIdx.x * 8, true);
        copy_async_16(shared_address(&b_tile[stage][threadIdx.x * 8]), b_global + stage * 2048 + threadIdx.x * 8, stage * 32 < depth);
        asm volatile("cp.async.commit_group;\n" ::: "memory");
    }
    for (int step = 0; step < depth / 32; ++step) {
        asm volatile("cp.async.wait_group %0;\n" ::"n"(1) : "memory");
        __syncthreads();
        unsigned a[4], b[2];
        load_a(a, shared_address(&a_tile[step % 3][(threadIdx.x & 31) * 32]));
        load_b(b, shared_address(&b_tile[step % 3][(threadIdx.x & 31) * 64]));
        MMA_F32("m16n8k16", "f32.f16.f16.f32");
        MMA_F32("m16n8k16", "f32.bf16.bf16.f32");
        const int next = (step + 2) % 3;
        copy_async_16(shared_address(&a_tile[next][threadIdx.x * 8]), a_global + next * 2048, step + 2 < depth / 32);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = c[i];
}

extern "C" __global__ void other_types(const unsigned* in, float* out, double* d, int* s) {
    unsigned a[4] = {in[0], in[1], in[2], in[3]}, b[2] = {in[4], in[5]};
    float c[4] = {out[0], out[1], out[2], out[3]};
    MMA_F32("m16n8k8", "f32.tf32.tf32.f32");
#if __CUDA_ARCH__ >= 890
    MMA_F32("m16n8k32", "f32.e4m3.e5m2.f32");
#endif
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(d[0]), "+d"(d[1]) : "d"(d[2]), "d"(d[3]));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %4, %5}, {%0, %1, %2, %3}, %10, 0x0;"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(in[6]));
    for (int i = 0; i < 4; ++i) out[i] = c[i];
}
#endif

extern "C" __global__ void turing(const unsigned* in, unsigned* out, float* f) {
    __shared__ __align__(16) unsigned tile[128];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    unsigned r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(shared_address(tile)));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(r));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+r"(out[0]), "+r"(out[1]) : "r"(r), "r"(in[1]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};" : "+r"(out[2]), "+r"(out[3]) : "r"(r), "r"(in[2]), "r"(in[3]));
    f[threadIdx.x] = __uint_as_float(r);
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(shared_address(tile)), "r"(r), "r"(out[0]) : "memory");
#endif
}
