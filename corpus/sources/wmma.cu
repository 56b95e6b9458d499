// SPDX-License-Identifier: Apache-2.0
// Matrix fragments through nvcuda::wmma in its shapes, types and layouts.
#include <mma.h>

using namespace nvcuda;

template <int M, int N, int K, typename Input, typename Sum, typename LayoutA, typename LayoutB>
__global__ void product(const Input* a, const Input* b, Sum* c, int steps) {
    wmma::fragment<wmma::matrix_a, M, N, K, Input, LayoutA> left;
    wmma::fragment<wmma::matrix_b, M, N, K, Input, LayoutB> right;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    wmma::fill_fragment(sum, Sum(0));
    for (int step = 0; step < steps; ++step) {
        wmma::load_matrix_sync(left, a + step * K, 64);
        wmma::load_matrix_sync(right, b + step * K, 64);
        wmma::mma_sync(sum, left, right, sum);
    }
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + sum.x[i];
    wmma::store_matrix_sync(c, sum, 64, wmma::mem_row_major);
}

#define INSTANTIATE(M, N, K, I, S, LA, LB) template __global__ void product<M, N, K, I, S, wmma::LA, wmma::LB>(const I*, const I*, S*, int)
INSTANTIATE(16, 16, 16, __half, float, row_major, col_major);
INSTANTIATE(32, 8, 16, __half, __half, col_major, row_major);
INSTANTIATE(8, 32, 16, __half, float, row_major, row_major);
INSTANTIATE(16, 16, 16, signed char, int, row_major, col_major);
INSTANTIATE(32, 8, 16, unsigned char, int, col_major, col_major);
#if __CUDA_ARCH__ >= 800
INSTANTIATE(16, 16, 16, __nv_bfloat16, float, row_major, col_major);
INSTANTIATE(8, 8, 4, double, double, row_major, col_major);

extern "C" __global__ void tensor_floats(const float* a, const float* b, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
    wmma::load_matrix_sync(sum, c, 16, wmma::mem_col_major);
    wmma::load_matrix_sync(left, a, 8);
    wmma::load_matrix_sync(right, b, 8);
    for (int i = 0; i < left.num_elements; ++i) left.x[i] = wmma::__float_to_tf32(left.x[i]);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_col_major);
}
#endif

extern "C" __global__ void sub_byte(const void* a, const void* b, int* c) {
    wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::s4, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> sum;
    wmma::load_matrix_sync(left, a, 32);
    wmma::load_matrix_sync(right, b, 32);
    wmma::fill_fragment(sum, 1);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
}
