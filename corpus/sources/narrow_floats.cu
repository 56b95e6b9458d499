// SPDX-License-Identifier: Apache-2.0
// 8-, 6- and 4-bit floats: conversions in both directions, saturating and not, in pairs and fours.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

extern "C" __global__ void eights(__nv_fp8_storage_t* out, float* f, const __half* h, const double* d) {
    const int i = threadIdx.x;
    out[i] = __nv_cvt_float_to_fp8(f[i], __NV_SATFINITE, __NV_E4M3);
    out[i + 32] = __nv_cvt_float_to_fp8(f[i], __NV_NOSAT, __NV_E5M2);
    out[i + 64] = __nv_cvt_halfraw_to_fp8(h[i], __NV_SATFINITE, __NV_E4M3);
    out[i + 96] = __nv_cvt_double_to_fp8(d[i], __NV_SATFINITE, __NV_E5M2);
    f[i] = __half2float(__half(__nv_cvt_fp8_to_halfraw(out[i], __NV_E4M3))) + float(__nv_fp8_e5m2(f[i]));
}

extern "C" __global__ void eights_in_pairs(__nv_fp8x2_storage_t* out, const float2* f, __half2* h, __nv_fp8x4_e4m3* four, float4* q) {
    const int i = threadIdx.x;
    out[i] = __nv_cvt_float2_to_fp8x2(f[i], __NV_SATFINITE, __NV_E4M3);
    out[i + 32] = __nv_cvt_halfraw2_to_fp8x2(h[i], __NV_SATFINITE, __NV_E5M2);
    h[i] = __half2(__nv_cvt_fp8x2_to_halfraw2(out[i], __NV_E5M2));
    four[i] = __nv_fp8x4_e4m3(q[i]);
    q[i] = float4(four[i + 1]);
}

extern "C" __global__ void sixes_and_fours(__nv_fp6x2_storage_t* six, __nv_fp4x2_storage_t* four, const float2* f, __half2* h) {
    const int i = threadIdx.x;
    six[i] = __nv_cvt_float2_to_fp6x2(f[i], __NV_E3M2, cudaRoundNearest);
    six[i + 32] = __nv_cvt_float2_to_fp6x2(f[i], __NV_E2M3, cudaRoundNearest);
    four[i] = __nv_cvt_float2_to_fp4x2(f[i], __NV_E2M1, cudaRoundNearest);
    h[i] = __half2(__nv_cvt_fp6x2_to_halfraw2(six[i], __NV_E3M2));
    h[i + 32] = __half2(__nv_cvt_fp4x2_to_halfraw2(four[i], __NV_E2M1));
}

extern "C" __global__ void scales(__nv_fp8_storage_t* out, const float* f, __nv_bfloat162* b) {
    out[threadIdx.x] = __nv_cvt_float_to_e8m0(f[threadIdx.x], __NV_SATFINITE, cudaRoundPosInf);
    b[threadIdx.x] = __nv_bfloat162(__nv_cvt_e8m0x2_to_bf162raw(out[threadIdx.x]));
}
