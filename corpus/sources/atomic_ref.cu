// SPDX-License-Identifier: Apache-2.0
// The C++ memory model: every order at every scope, fences, flags, and barriers of libcu++.
#include <cuda/atomic>
#include <cuda/std/bit>

template <cuda::thread_scope Scope, typename T>
__device__ T orders(T* where, T value) {
    cuda::atomic_ref<T, Scope> ref(*where);
    T sum = ref.load(cuda::memory_order_relaxed) + ref.load(cuda::memory_order_acquire) + ref.load(cuda::memory_order_seq_cst);
    ref.store(value, cuda::memory_order_relaxed);
    ref.store(value, cuda::memory_order_release);
    ref.store(value, cuda::memory_order_seq_cst);
    sum += ref.fetch_add(value, cuda::memory_order_relaxed) + ref.exchange(value, cuda::memory_order_acq_rel);
    sum += ref.fetch_max(value, cuda::memory_order_acquire) + ref.fetch_min(value, cuda::memory_order_release);
    T expected = value;
    ref.compare_exchange_strong(expected, sum, cuda::memory_order_acq_rel, cuda::memory_order_relaxed);
    ref.compare_exchange_weak(expected, value);
    cuda::atomic_thread_fence(cuda::memory_order_acq_rel, Scope);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, Scope);
    return sum + expected;
}

extern "C" __global__ void at_every_scope(int* a, unsigned long long* b) {
    a[8] = orders<cuda::thread_scope_block>(a, 1) + orders<cuda::thread_scope_device>(a + 1, 2) + orders<cuda::thread_scope_system>(a + 2, 3);
    b[8] = orders<cuda::thread_scope_device>(b, 1ull) + orders<cuda::thread_scope_system>(b + 1, 2ull);
}

extern "C" __global__ void logical(unsigned* a) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> ref(*a);
    ref.fetch_and(7u);
    ref.fetch_or(8u, cuda::memory_order_relaxed);
    ref.fetch_xor(9u, cuda::memory_order_release);
    a[1] = ref.fetch_sub(1u, cuda::memory_order_acquire);
}

extern "C" __global__ void hand_over(cuda::atomic<int, cuda::thread_scope_device>* flag, float* data, float* out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = 1.0f;
        __syncthreads();
        if (threadIdx.x == 0) flag->store(1, cuda::memory_order_release);
    } else {
        while (flag->load(cuda::memory_order_acquire) == 0) {
        }
        out[threadIdx.x] = data[threadIdx.x];
    }
}

extern "C" __global__ void float_and_narrow(float* f, unsigned char* c, double* d) {
    cuda::atomic_ref<float, cuda::thread_scope_block> ref(*f);
    ref.fetch_add(0.5f, cuda::memory_order_relaxed);
    cuda::atomic_ref<unsigned char, cuda::thread_scope_device> narrow(*c);
    narrow.fetch_add(1);
    cuda::atomic_ref<double, cuda::thread_scope_device> wide(*d);
    wide.exchange(1.0);
}
