// SPDX-License-Identifier: Apache-2.0
// Half precision and bfloat16: scalars, pairs, conversions, comparisons, fused operations.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halves(__half* out, const __half* in, float* f) {
    const int i = threadIdx.x;
    const __half a = in[i], b = in[i + 32];
    __half r = __hadd(a, b);
    r = __hfma(r, a, b);
    r = __hsub_sat(__hmul(r, a), __hneg(b));
    r = __hgt(a, b) ? __hmax(r, a) : __hmin_nan(r, b);
    r = __hdiv(r, __habs(b));
    out[i] = __hadd(hsqrt(r), hexp(hlog2(r)));
    f[i] = __half2float(r) + __half2float(hrcp(a)) + __half2int_rn(b) + __half2uint_rz(a) + __half2ll_ru(b);
    out[i + 32] = __float2half_rz(f[i + 32]);
    out[i + 64] = __ushort_as_half(0x3C00) + __int2half_rn(i) + __ull2half_rd(i);
}

extern "C" __global__ void half_pairs(__half2* out, const __half2* in, int* flags) {
    const int i = threadIdx.x;
    __half2 a = in[i], b = in[i + 32];
    out[i] = __hfma2(a, b, __hadd2(a, b));
    out[i + 32] = __hfma2_relu(__lows2half2(a, b), __highs2half2(a, b), h2tanh_approx(a));
    flags[i] = __hbeq2(a, b) + __hblt2(a, b) + static_cast<int>(__heq2_mask(a, b));
    out[i + 64] = __hmul2_sat(__half2half2(a.x), __hneg2(b));
    out[i + 96] = h2exp2(h2sin(a));
    atomicAdd(&out[i + 128], b);
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void brain_floats(__nv_bfloat16* out, const __nv_bfloat16* in, float* f) {
    const int i = threadIdx.x;
    const __nv_bfloat16 a = in[i], b = in[i + 32];
    out[i] = __hfma(a, b, __hadd(a, b));
    out[i + 32] = a < b ? __hmul(a, b) : __hsub(a, b);
    f[i] = __bfloat162float(a) + __bfloat162float(hrsqrt(b));
    out[i + 64] = __float2bfloat16_rn(f[i + 32]);
    out[i + 96] = __double2bfloat16(3.25 * i);
}

extern "C" __global__ void brain_pairs(__nv_bfloat162* out, const __nv_bfloat162* in, float2* f) {
    const int i = threadIdx.x;
    const __nv_bfloat162 a = in[i], b = in[i + 32];
    out[i] = __hfma2(a, b, __hmax2(a, b));
    f[i] = __bfloat1622float2(a);
    out[i + 32] = __floats2bfloat162_rn(f[i].x, f[i].y);
    out[i + 64] = __hmin2(__habs2(a), h2rcp(b));
    atomicAdd(&out[i + 96], a);
}

__device__ __noinline__ __half2 through_a_call(__half2 x, __nv_bfloat16 y) { return __hmul2(x, __float2half2_rn(__bfloat162float(y))); }

extern "C" __global__ void calls_with_halves(__half2* x, __nv_bfloat16* y) { x[0] = through_a_call(x[1], y[0]); }
#endif
