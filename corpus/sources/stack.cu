// SPDX-License-Identifier: Apache-2.0
// Local memory: arrays indexed at run time, alloca, variable arguments, big frames, pointers that escape.
#include <cstdarg>

__device__ __noinline__ void fill(int* values, int count, int seed) {
    for (int i = 0; i < count; ++i) values[i] = seed = seed * 1103515245 + 12345;
}

extern "C" __global__ void sort_locally(int* out, int seed) {
    int values[24];
    fill(values, 24, seed + threadIdx.x);
    for (int i = 1; i < 24; ++i) {
        const int moved = values[i];
        int j = i - 1;
        for (; j >= 0 && values[j] > moved; --j) values[j + 1] = values[j];
        values[j + 1] = moved;
    }
    for (int i = 0; i < 24; ++i) out[threadIdx.x * 24 + i] = values[i];
}

extern "C" __global__ void allocated_on_the_stack(int* out, int count) {
    int* values = static_cast<int*>(__builtin_alloca(count * sizeof(int)));
    fill(values, count, 7);
    out[threadIdx.x] = values[threadIdx.x % count];
}

__device__ __noinline__ double sum_of(int count, ...) {
    va_list arguments;
    va_start(arguments, count);
    double total = 0.0;
    for (int i = 0; i < count; ++i) total += i & 1 ? va_arg(arguments, double) : va_arg(arguments, int);
    va_end(arguments);
    return total;
}

extern "C" __global__ void variable_arguments(double* out, int a, double b) { out[0] = sum_of(4, a, b, a + 1, b * 2.0); }

struct Big { double values[40]; };
__device__ __noinline__ Big doubled(Big in) {
    for (double& v : in.values) v *= 2.0;
    return in;
}
extern "C" __global__ void big_frames(Big* data) { data[0] = doubled(doubled(data[1])); }

extern "C" __global__ void byte_copies(void* out, const void* in) {
    char buffer[100];
    memcpy(buffer, in, sizeof buffer);
    buffer[threadIdx.x] ^= 0x55;
    memcpy(out, buffer, sizeof buffer);
    memset(static_cast<char*>(out) + 100, 0xA5, 37);
}
