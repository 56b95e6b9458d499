// SPDX-License-Identifier: Apache-2.0
// Fifth-generation tensor cores: tensor memory, its copies, MMA of every kind, in one CTA and in CTA pairs.

__device__ __forceinline__ unsigned address_of(const void* pointer) {
    unsigned address;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }" : "=r"(address) : "l"(pointer));
    return address;
}

extern "C" __global__ void __launch_bounds__(128) tensor_memory(unsigned* out) {
    __shared__ unsigned base_slot;
    __shared__ alignas(8) unsigned long long barrier;
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(address_of(&base_slot)), "r"(128) : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
    __syncthreads();
    const unsigned base = base_slot;
    unsigned r[16];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(base));
    asm volatile("tcgen05.ld.sync.aligned.16x64b.x2.b32 {%0, %1}, [%2];" : "=r"(r[4]), "=r"(r[5]) : "r"(base + 4));
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.pack::16b.b32 {%0, %1, %2, %3}, [%4];" : "=r"(r[6]), "=r"(r[7]), "=r"(r[8]), "=r"(r[9]) : "r"(base + 8));
    asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%0, %1}, [%2], 16;" : "=r"(r[10]), "=r"(r[11]) : "r"(base + 16));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.st.sync.aligned.32x32b.x2.b32 [%0], {%1, %2};" ::"r"(base + 32), "r"(r[0]), "r"(r[5]) : "memory");
    asm volatile("tcgen05.st.sync.aligned.16x128b.x1.unpack::16b.b32 [%0], {%1, %2};" ::"r"(base + 64), "r"(r[6]), "r"(r[11]) : "memory");
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(base) : "memory");
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(address_of(&barrier)) : "memory");
    if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(base), "r"(128));
    out[threadIdx.x] = r[0] + r[4] + r[8] + r[10];
}

#define MMA_KIND(kind, a, b, d, descriptor, flag) \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, p; }" ::"r"(d), "l"(a), "l"(b), "r"(descriptor), "r"(flag) : "memory")

extern "C" __global__ void products(unsigned d, unsigned long long a, unsigned long long b, unsigned descriptor, unsigned flag, unsigned scale) {
    if (threadIdx.x == 0) {
        MMA_KIND("f16", a, b, d, descriptor, flag);
        MMA_KIND("tf32", a, b, d, descriptor, flag);
        MMA_KIND("f8f6f4", a, b, d, descriptor, flag);
        asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0;\n\ttcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, {%5, %5, %5, %5}, p;\n\t}" ::"r"(d), "r"(d + 64), "l"(b), "r"(descriptor), "r"(flag), "r"(0) : "memory");
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%4], [%4+4], p; }" ::"r"(d), "l"(a), "l"(b), "r"(descriptor), "r"(scale), "r"(flag) : "memory");
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, %2, %3, [%4], [%4+4], p; }" ::"r"(d), "l"(a), "l"(b), "r"(descriptor), "r"(scale), "r"(flag) : "memory");
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; tcgen05.mma.sp.cta_group::1.kind::f16 [%0], %1, %2, [%4], %3, p; }" ::"r"(d), "l"(a), "l"(b), "r"(descriptor), "r"(scale), "r"(flag) : "memory");
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::fill [%0], %1, %2, %3, p, 0; }" ::"r"(d), "l"(a), "l"(b), "r"(descriptor), "r"(flag) : "memory");
        asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1; tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1; tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16.b6x16_p32 [%0], %1;" ::"r"(d), "l"(a) : "memory");
    }
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) pairs_of_blocks(unsigned d, unsigned long long a, unsigned long long b, unsigned descriptor) {
    __shared__ unsigned slot;
    __shared__ alignas(8) unsigned long long barrier;
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 256;" ::"r"(address_of(&slot)) : "memory");
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 1; tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, {%4, %4, %4, %4, %4, %4, %4, %4}, p; }" ::"r"(d), "l"(a), "l"(b), "r"(descriptor), "r"(0) : "memory");
    asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(address_of(&barrier)), "h"(static_cast<unsigned short>(3)) : "memory");
    asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 256;" ::"r"(slot));
}
