// SPDX-License-Identifier: Apache-2.0
// printf, assert, trap, breakpoints, profiler triggers: calls to the system and strings of odd characters.
#include <cassert>
#include <cstdio>

extern "C" __global__ void report(const int* values, const double* weights, const char* name, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i >= 0 && count > 0);
    if (i < count) printf("%s[%d] = %d (weight %.3f, \"quoted\", 100%%, tab\t, \\ backslash)\n", name, i, values[i], weights[i]);
    if (i == 0) printf("done\n");
    if (i == 1) printf("%lld %c %p %hd %x \x7f \033[1m\n", 1LL << 40, 'c', values, static_cast<short>(3), 0xBEEFu);
}

extern "C" __global__ void guarded_division(int* out, const int* a, const int* b) {
    const int i = threadIdx.x;
    assert(b[i] != 0 && "the divisor must not be zero");
    out[i] = a[i] / b[i];
}

extern "C" __global__ void stop_when_negative(const float* x) {
    if (x[threadIdx.x] < 0.0f) __trap();
    if (x[threadIdx.x] > 1e30f) __brkpt();
    __prof_trigger(3);
}

extern "C" __global__ void grow_list(void** heads, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        auto* node = static_cast<void**>(malloc(16 + i));
        if (node == nullptr) {
            printf("out of memory at %d\n", i);
            return;
        }
        node[0] = heads[i];
        heads[i] = node;
    }
    if (threadIdx.x == 0) free(heads[0]);
}
