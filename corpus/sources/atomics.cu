// SPDX-License-Identifier: Apache-2.0
// Atomic intrinsics at the three scopes, in global, shared and generic memory.

template <typename T>
__device__ void integers(T* p, T v) {
    atomicAdd(p, v); atomicExch(p, v); atomicMin(p, v); atomicMax(p, v); atomicAnd(p, v); atomicOr(p, v); atomicXor(p, v);
    if (atomicCAS(p, v, v + 1) == v) atomicAdd_block(p, v);
    atomicMax_system(p, v);
    atomicCAS_system(p, v, v + 2);
    atomicExch_block(p, v);
}

extern "C" __global__ void global_integers(int* a, unsigned* b, unsigned long long* c, long long* d) {
    integers(a, 3);
    integers(b, 5u);
    integers(c, 7ull);
    atomicMin(d, -2ll);
    atomicMax(d, 9ll);
    atomicInc(b, 31u);
    atomicDec(b + 1, 63u);
    b[2] = atomicSub(b + 3, 1u) + atomicInc(b + 4, 8u);
}

extern "C" __global__ void shared_integers(unsigned* out) {
    __shared__ unsigned narrow[32];
    __shared__ unsigned long long wide[32];
    integers(&narrow[threadIdx.x & 3], 1u);
    integers(&wide[threadIdx.x & 3], 1ull);
    __syncthreads();
    out[threadIdx.x] = narrow[threadIdx.x] + static_cast<unsigned>(wide[threadIdx.x]);
}

extern "C" __global__ void floats(float* f, double* d, float* returned) {
    atomicAdd(f, 1.5f);
    returned[0] = atomicAdd(f + 1, -0.5f);
    atomicAdd(d, 2.5);
    atomicAdd_system(d, 3.5);
    atomicAdd_block(f, 0.25f);
    atomicExch(f + 2, 8.0f);
}

extern "C" __global__ void compare_and_swap_loops(float* maximum, unsigned short* narrow) {
    int* bits = reinterpret_cast<int*>(maximum);
    int seen = *bits;
    while (__int_as_float(seen) < 10.0f) {
        const int expected = seen;
        seen = atomicCAS(bits, expected, __float_as_int(10.0f));
        if (seen == expected) break;
    }
    atomicCAS(narrow, static_cast<unsigned short>(1), static_cast<unsigned short>(2));
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void vectors_and_wide(float4* f, float2* g, unsigned long long* out) {
    atomicAdd(f, make_float4(1, 2, 3, 4));
    const float2 before = atomicAdd(g, make_float2(5, 6));
    out[0] = static_cast<unsigned long long>(before.x);
    asm volatile("{ .reg .b128 a, b; mov.b128 a, {%1, %1}; atom.global.b128.exch b, [%0], a; atom.acq_rel.gpu.global.cas.b128 b, [%0], a, b; }" ::"l"(out), "l"(out[1]) : "memory");
}
#endif

extern "C" __global__ void ticket_lock(unsigned* lock, volatile unsigned* data) {
    if (threadIdx.x == 0) {
        const unsigned ticket = atomicAdd(lock, 1u);
        while (atomicAdd(lock + 1, 0u) != ticket) __nanosleep(20);
        __threadfence();
        data[0] = data[0] + 1;
        __threadfence();
        atomicAdd(lock + 1, 1u);
    }
}
