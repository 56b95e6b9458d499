// SPDX-License-Identifier: Apache-2.0
// Calls, recursion, switches, stack objects, atomics and inline assembly, as emitted by clang.
#include "device.h"

struct Wide { int a; double b; short c[5]; };

__device__ __noinline__ Wide make(int a, Wide w, float2v v) { return {a + w.a, w.b * v.x, {w.c[4], 1, 2, 3, static_cast<short>(v.y)}}; }
__device__ __noinline__ unsigned long long fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
using Unary = float (*)(float);
__device__ __noinline__ float negate(float x) { return -x; }
__device__ __noinline__ float halve(float x) { return 0.5f * x; }
__device__ Unary unary[2] = {negate, halve};

extern "C" __global__ void __launch_bounds__(256, 2) calls(Wide* out, unsigned long long* f, float* x, int which) {
    out[0] = make(which, out[1], float2v{x[0], x[1]});
    f[0] = fibonacci(thread::x() & 15);
    x[2] = unary[which & 1](x[3]);
}

extern "C" __global__ void dispatch(int* x, int n) {
    int local[20];
    for (int i = 0; i < n; ++i) {
        switch (x[i]) {
            case 0: local[i % 20] = 5; break;
            case 1: local[(i + 1) % 20] = x[i + 1]; continue;
            case 2: local[i % 20] ^= 0x55; break;
            case 3: return;
            case 4: local[0] += n; break;
            case 5: local[1] *= n; break;
            case 6: local[2] /= n; break;
            default: local[3] = i;
        }
        x[i] = local[(i * 7) % 20];
    }
}

extern "C" __global__ void atomics(int* a, float* f, unsigned long long* w) {
    __atomic_fetch_add(a, 1, __ATOMIC_RELAXED);
    __atomic_fetch_or(a + 1, 4, __ATOMIC_SEQ_CST);
    int expected = 3;
    __atomic_compare_exchange_n(a + 2, &expected, 5, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    w[0] = __nvvm_atom_max_gen_ull(w + 1, 77ull) + __atomic_exchange_n(w + 2, 1ull, __ATOMIC_RELAXED);
    f[0] = __nvvm_atom_add_gen_f(f + 1, 2.0f);
    __nvvm_membar_gl();
    a[3] = __nvvm_shfl_sync_bfly_i32(-1, a[4], 1, 31) + __nvvm_vote_ballot_sync(-1, a[5] > 0);
}

extern "C" __global__ void assembly(unsigned* x) {
    unsigned r;
    asm volatile("{ .reg .pred p; .reg .u32 t; setp.eq.u32 p, %1, 0; @p bra skip; add.u32 t, %1, 1; mov.u32 %0, t;\nskip: }" : "=r"(r) : "r"(x[0]));
    asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(r) : "r"(x[1]), "n"(12));
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    x[2] = r;
}

extern "C" __global__ void by_value(Wide w, const char* text, char tag, float4v v, Wide* out) {
    Wide copy = w;
    copy.c[tag & 3] = text[0];
    copy.b += v.z;
    *out = copy;
}
