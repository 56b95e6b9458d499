// SPDX-License-Identifier: Apache-2.0
// Cache operators, eviction hints, prefetches, policies, fences and named barriers.

extern "C" __global__ void cached(float4* out, const float4* in, const double* d, const unsigned char* b) {
    const int i = threadIdx.x;
    float4 a = __ldcg(in + i), c = __ldcs(in + i + 32), e = __ldca(in + i + 64), f = __ldlu(in + i + 96), g = __ldcv(in + i + 128), h = __ldg(in + i + 160);
    a.x += c.y + e.z + f.w + g.x + h.y + static_cast<float>(__ldg(d + i)) + __ldg(b + i);
    __stwb(out + i, a);
    __stcg(out + i + 32, c);
    __stcs(out + i + 64, e);
    __stwt(out + i + 96, f);
}

extern "C" __global__ void fenced(volatile int* a, int* b) {
    a[0] = 1;
    __threadfence_block();
    a[1] = 2;
    __threadfence();
    a[2] = 3;
    __threadfence_system();
    b[0] = a[3];
    asm volatile("fence.sc.gpu; fence.acq_rel.sys; membar.cta; fence.proxy.alias;" ::: "memory");
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async; fence.proxy.async.shared::cta; fence.mbarrier_init.release.cluster; fence.acq_rel.cluster;" ::: "memory");
#endif
}

extern "C" __global__ void named_barriers(int* x) {
    const int role = threadIdx.x / 64;
    if (role == 0) {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        x[threadIdx.x] = 1;
        asm volatile("barrier.sync.aligned 2, 128; bar.arrive 3, 128;" ::: "memory");
    } else {
        asm volatile("bar.arrive %0, %1;" ::"r"(1), "r"(128) : "memory");
        asm volatile("barrier.cta.sync 2, 128; bar.sync 3, 128;" ::: "memory");
    }
    unsigned count;
    asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, 0; barrier.red.popc.u32 %0, 4, 128, !p; @p bar.red.or.pred p, 5, p; }" : "=r"(count) : "r"(x[0]));
    x[1] = count;
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void policies(float* out, const float* in) {
    unsigned long long first, normal;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 0.5;" : "=l"(first));
    asm volatile("createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %0, [%1], 65536, 131072;" : "=l"(normal) : "l"(in));
    float v, w;
    asm volatile("ld.global.L1::evict_last.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(in), "l"(first));
    asm volatile("ld.global.nc.L1::evict_first.L2::cache_hint.L2::256B.f32 %0, [%1], %2;" : "=f"(w) : "l"(in + 1), "l"(normal));
    asm volatile("st.global.L1::no_allocate.L2::cache_hint.f32 [%0], %1, %2;" ::"l"(out), "f"(v + w), "l"(first) : "memory");
    asm volatile("prefetch.global.L1 [%0]; prefetch.global.L2::evict_last [%0]; prefetchu.L1 [%0]; discard.global.L2 [%0], 128; applypriority.global.L2::evict_normal [%0], 128;" ::"l"(out) : "memory");
}
#endif

extern "C" __global__ void spaces(const void* pointer, int* out) {
    out[0] = __isGlobal(pointer) + 2 * __isShared(pointer) + 4 * __isConstant(pointer) + 8 * __isLocal(pointer);
    out[1] = static_cast<int>(__cvta_generic_to_shared(pointer)) + static_cast<int>(__cvta_generic_to_global(pointer));
}
