// SPDX-License-Identifier: Apache-2.0
// A register-tiled single-precision GEMM: unrolled loops, vector loads, hundreds of live registers.

template <int BlockM, int BlockN, int BlockK, int ThreadM, int ThreadN>
__global__ void __launch_bounds__((BlockM / ThreadM) * (BlockN / ThreadN)) gemm(int m, int n, int k, float alpha, const float* __restrict__ a, const float* __restrict__ b, float beta, float* c) {
    constexpr int threads = (BlockM / ThreadM) * (BlockN / ThreadN);
    __shared__ float left[BlockK][BlockM], right[BlockK][BlockN];
    const int row = blockIdx.y * BlockM, column = blockIdx.x * BlockN;
    const int thread_row = threadIdx.x / (BlockN / ThreadN) * ThreadM, thread_column = threadIdx.x % (BlockN / ThreadN) * ThreadN;
    float sum[ThreadM][ThreadN] = {};
    for (int depth = 0; depth < k; depth += BlockK) {
        for (int i = threadIdx.x; i < BlockM * BlockK / 4; i += threads) {
            const float4 v = *reinterpret_cast<const float4*>(a + (row + i / (BlockK / 4)) * k + depth + i % (BlockK / 4) * 4);
            left[i % (BlockK / 4) * 4][i / (BlockK / 4)] = v.x;
            left[i % (BlockK / 4) * 4 + 1][i / (BlockK / 4)] = v.y;
            left[i % (BlockK / 4) * 4 + 2][i / (BlockK / 4)] = v.z;
            left[i % (BlockK / 4) * 4 + 3][i / (BlockK / 4)] = v.w;
        }
        for (int i = threadIdx.x; i < BlockK * BlockN / 4; i += threads)
            *reinterpret_cast<float4*>(&right[i / (BlockN / 4)][i % (BlockN / 4) * 4]) = *reinterpret_cast<const float4*>(b + (depth + i / (BlockN / 4)) * n + column + i % (BlockN / 4) * 4);
        __syncthreads();
#pragma unroll
        for (int inner = 0; inner < BlockK; ++inner) {
            float x[ThreadM], y[ThreadN];
#pragma unroll
            for (int i = 0; i < ThreadM; ++i) x[i] = left[inner][thread_row + i];
#pragma unroll
            for (int j = 0; j < ThreadN; ++j) y[j] = right[inner][thread_column + j];
#pragma unroll
            for (int i = 0; i < ThreadM; ++i)
#pragma unroll
                for (int j = 0; j < ThreadN; ++j) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ThreadM; ++i)
#pragma unroll
        for (int j = 0; j < ThreadN; ++j) {
            float& out = c[(row + thread_row + i) * n + column + thread_column + j];
            out = alpha * sum[i][j] + beta * out;
        }
}

template __global__ void gemm<64, 64, 8, 4, 4>(int, int, int, float, const float*, const float*, float, float*);
template __global__ void gemm<128, 64, 8, 8, 8>(int, int, int, float, const float*, const float*, float, float*);
