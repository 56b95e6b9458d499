// SPDX-License-Identifier: Apache-2.0
// The double-precision math library: polynomials inlined, slow paths as functions, reduction tables in memory.

extern "C" __global__ void trigonometry(double* x) { x[threadIdx.x] = sin(x[threadIdx.x]) * cos(x[threadIdx.x + 32]) + tan(x[threadIdx.x + 64]); }
extern "C" __global__ void exponentials(double* x) { x[threadIdx.x] = exp(x[threadIdx.x]) + log(x[threadIdx.x + 32]) + pow(x[threadIdx.x], 1.7); }
extern "C" __global__ void roots_and_quotients(double* x) { x[threadIdx.x] = sqrt(x[threadIdx.x]) / x[threadIdx.x + 32] + rsqrt(x[threadIdx.x + 64]) + cbrt(x[threadIdx.x]); }
extern "C" __global__ void special(double* x) { x[threadIdx.x] = erf(x[threadIdx.x]) + tgamma(x[threadIdx.x + 32]) + atan2(x[threadIdx.x], x[threadIdx.x + 64]); }
extern "C" __global__ void rounding(double* x, long long* n) {
    const double v = x[threadIdx.x];
    x[threadIdx.x] = floor(v) + nearbyint(v) + __dadd_rz(v, 1.0) + __dmul_ru(v, 3.0) + __fma_rd(v, v, 1.0) + __drcp_rn(v) + __ddiv_rd(v, 7.0) + __dsqrt_rz(v);
    n[threadIdx.x] = llrint(v) + __double2ll_rd(v) + __double_as_longlong(v) + __double2hiint(v) + __double2loint(v);
}
