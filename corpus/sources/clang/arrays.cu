// SPDX-License-Identifier: Apache-2.0
// Maps, reductions and tables, as emitted by clang.
#include "device.h"

__constant__ float weights[7] = {0.5f, -1.25f, 3e10f, 0.0f, -0.0f, 1e-40f, 7.0f};
__device__ int primes[300] = {2, 3, 5, 7, 11, 13, 17, 19, -23};
__device__ const char greeting[] = "hello \"clang\"\n";
struct Item { const char* name; long long key; double values[2]; };
__device__ Item items[2] = {{greeting, -1, {0.5, 2.5}}, {greeting + 6, 1LL << 40, {}}};

extern "C" __global__ void axpy(float* y, const float* x, float a, unsigned count) {
    for (unsigned i = global_index(); i < count; i += block::threads() * block::count()) y[i] += a * x[i];
}

extern "C" __global__ void vectors(float4v* out, const float4v* in, short8v* s, byte4v* b) {
    out[thread::x()] = in[thread::x()] * 2.0f + in[thread::x() + 1].wzyx;
    s[0] = s[1] + s[2] * s[3];
    b[0] = b[1] + b[2];
}

template <typename T, unsigned Size>
__global__ void reduce(T* out, const T* in) {
    __shared__ T partial[Size];
    partial[thread::x()] = in[global_index()];
    for (unsigned width = Size / 2; width; width /= 2) {
        block::synchronise();
        if (thread::x() < width) partial[thread::x()] += partial[thread::x() + width];
    }
    if (thread::x() == 0) out[block::x()] = partial[0];
}
template __global__ void reduce<float, 128>(float*, const float*);
template __global__ void reduce<unsigned char, 64>(unsigned char*, const unsigned char*);
template __global__ void reduce<long long, 32>(long long*, const long long*);

extern "C" __global__ void tables(float* out, int which) {
    const Item& item = items[which & 1];
    out[thread::x()] = weights[which % 7] + primes[thread::x()] + item.name[which] + static_cast<float>(item.values[1]) + static_cast<float>(item.key);
}

extern "C" __global__ void wide_and_double(__int128* w, double* d, bool* flags) {
    w[0] = w[1] * w[2] - (w[3] >> 70);
    d[0] = __builtin_sqrt(d[1]) + __builtin_fabs(d[2]) + static_cast<double>(static_cast<long long>(d[3]));
    flags[0] = flags[1] != flags[2] && d[4] > 0.0;
}

#if __clang_major__ >= 16
extern "C" __global__ void half_precision(_Float16* h, __bf16* b) {
    h[0] = h[1] * h[2] + static_cast<_Float16>(1.5);
    b[0] = b[1] + b[2];
}
#endif
