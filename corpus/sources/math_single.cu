// SPDX-License-Identifier: Apache-2.0
// The single-precision math library, function by function, and the fast intrinsics.

#define UNARY(name) extern "C" __global__ void s_##name(float* x) { x[threadIdx.x] = name##f(x[threadIdx.x]); }
UNARY(sin) UNARY(cos) UNARY(tan) UNARY(asin) UNARY(atan) UNARY(sinh) UNARY(tanh) UNARY(exp) UNARY(exp2) UNARY(expm1) UNARY(log) UNARY(log2) UNARY(log1p)
UNARY(sqrt) UNARY(cbrt) UNARY(rsqrt) UNARY(floor) UNARY(ceil) UNARY(round) UNARY(rint) UNARY(trunc) UNARY(fabs) UNARY(erf) UNARY(erfc) UNARY(tgamma) UNARY(lgamma) UNARY(j0) UNARY(normcdf)

extern "C" __global__ void binary_functions(float* x, const float* y) {
    const int i = threadIdx.x;
    float r = powf(x[i], y[i]) + atan2f(x[i], y[i]) + fmodf(x[i], y[i]) + hypotf(x[i], y[i]);
    r += fmaxf(x[i], y[i]) - fminf(x[i], y[i]) + copysignf(x[i], y[i]) + fdimf(x[i], y[i]) + nextafterf(x[i], y[i]) + remainderf(x[i], y[i]);
    int exponent;
    r += frexpf(x[i], &exponent) + ldexpf(r, exponent) + logbf(r) + ilogbf(r);
    float whole, sine, cosine;
    r += modff(r, &whole);
    sincospif(r, &sine, &cosine);
    x[i] = r + whole + sine * cosine + isnan(r) + isinf(r) + signbit(r);
}

extern "C" __global__ void fast_intrinsics(float* x, const float* y) {
    const int i = threadIdx.x;
    float r = __sinf(x[i]) + __cosf(x[i]) + __expf(x[i]) + __exp10f(x[i]) + __logf(x[i]) + __log10f(x[i]) + __powf(x[i], y[i]) + __fdividef(x[i], y[i]) + __saturatef(x[i]);
    r += __fadd_rd(x[i], y[i]) + __fmul_ru(x[i], y[i]) + __fmaf_rz(x[i], y[i], r) + __frcp_rn(x[i]) + __fsqrt_ru(x[i]) + __fdiv_rz(x[i], y[i]) + __frsqrt_rn(x[i]) + __tanf(x[i]) + __tanhf(x[i]);
    x[i] = r;
}
