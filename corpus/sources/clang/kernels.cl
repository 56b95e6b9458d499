// SPDX-License-Identifier: Apache-2.0
// OpenCL C for the same back end: other address space names and kernel attributes.

__constant float coefficients[4] = {0.25f, 0.5f, -0.25f, 1.0f};

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void filter(__global float *out, __global const float *in, __local float *window, int count) {
    const int i = __nvvm_read_ptx_sreg_tid_x();
    window[i] = i < count ? in[i] : 0.0f;
    __nvvm_bar_sync(0);
    float sum = 0.0f;
    for (int k = 0; k < 4; ++k) sum += coefficients[k] * window[(i + k) & 63];
    out[i] = sum;
}

__kernel void select_rows(__global float4 *out, __global const float4 *in, __constant int *rows, double threshold) {
    const int i = __nvvm_read_ptx_sreg_ctaid_x();
    float4 v = in[rows[i]];
    if ((double)(v.x + v.y) > threshold) v = v.wzyx;
    out[i] = v;
}

__kernel void count_bits(__global uint *data, __global ulong *wide, __global uchar *bytes) {
    const int i = __nvvm_read_ptx_sreg_tid_x();
    data[i] = __builtin_popcount(data[i]) + __builtin_clz(data[i] | 1) + (uint)(wide[i] >> 33);
    bytes[i] = (uchar)(bytes[i] * 3 + 1);
}
