// SPDX-License-Identifier: Apache-2.0
// Device functions that are not inlined: noinline, recursion, function pointers, tables of them, big results.

struct Complex {
    double re, im;
};

struct Basis {
    float3 x, y, z;
    int handedness;
};

__device__ __noinline__ Complex multiply(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

__device__ __noinline__ Basis orthogonal(float3 n) {
    const float s = copysignf(1.0f, n.z), a = -1.0f / (s + n.z), b = n.x * n.y * a;
    return {{1.0f + s * n.x * n.x * a, s * b, -s * n.x}, {b, s + n.y * n.y * a, -n.y}, n, s > 0 ? 1 : -1};
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ bool is_odd(int n);
__device__ __noinline__ bool is_even(int n) { return n == 0 ? true : is_odd(n - 1); }
__device__ __noinline__ bool is_odd(int n) { return n == 0 ? false : is_even(n - 1); }

using Activation = float (*)(float, float);
__device__ __noinline__ float leaky(float x, float slope) { return x > 0 ? x : slope * x; }
__device__ __noinline__ float softsign(float x, float scale) { return x / (scale + fabsf(x)); }
__device__ __noinline__ float square(float x, float) { return x * x; }

__device__ Activation activation_table[3] = {leaky, softsign, square};
__constant__ Activation constant_activation = square;

extern "C" __global__ void complex_powers(Complex* values, int power) {
    Complex result = {1.0, 0.0};
    for (int i = 0; i < power; ++i) result = multiply(result, values[threadIdx.x]);
    values[threadIdx.x] = result;
}

extern "C" __global__ void frames(const float3* normals, Basis* out) { out[threadIdx.x] = orthogonal(normals[threadIdx.x]); }

extern "C" __global__ void recursions(unsigned* out, int n) {
    out[0] = ackermann(2, threadIdx.x);
    out[1] = is_even(n);
}

extern "C" __global__ void through_pointers(float* x, int which, Activation passed) {
    const int i = threadIdx.x;
    x[i] = activation_table[which](x[i], 0.1f);
    x[i] += constant_activation(x[i], 0.0f);
    if (passed) x[i] *= passed(x[i], 2.0f);
}

__device__ __noinline__ void swap_through(int* a, int& b, long long* __restrict__ wide, const char* text) {
    const int t = *a;
    *a = b;
    b = t;
    *wide += text[0];
}

extern "C" __global__ void pointers_to_stack(int* out, long long* wide) {
    int a = out[0], b = out[1];
    swap_through(&a, b, wide, "swap");
    out[0] = a;
    out[1] = b;
}

__device__ __noinline__ char narrow_results(signed char a, unsigned short b, bool c) { return static_cast<char>(c ? a : b); }
__device__ __noinline__ long4 wide_result(long long a) { return make_long4(a, a + 1, a + 2, a + 3); }

extern "C" __global__ void odd_signatures(char* c, long4* w) {
    c[0] = narrow_results(c[1], static_cast<unsigned short>(c[2]), c[3] != 0);
    w[0] = wide_result(w[1].x);
}
