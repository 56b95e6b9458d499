// GEMMs: WMMA in all its types, and tiles in shared memory.
#include <mma.h>

using namespace nvcuda;

template <typename In, typename Out, typename Kind, int M, int N, int K>
__device__ void multiplied(const In *a, const In *b, Out *c, int n, int k) {
  int row = blockIdx.y * M, column = blockIdx.x * N;
  wmma::fragment<wmma::matrix_a, M, N, K, Kind, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, M, N, K, Kind, wmma::row_major> y;
  wmma::fragment<wmma::accumulator, M, N, K, Out> total;
  wmma::fill_fragment(total, Out(0));
  for (int i = 0; i < k; i += K) {
    wmma::load_matrix_sync(x, a + row * k + i, k);
    wmma::load_matrix_sync(y, b + i * n + column, n);
    wmma::mma_sync(total, x, y, total);
  }
  wmma::store_matrix_sync(c + row * n + column, total, n, wmma::mem_row_major);
}
extern "C" __global__ void wmma_half(const half *a, const half *b, float *c, int n, int k) {
  multiplied<half, float, half, 16, 16, 16>(a, b, c, n, k);
}
extern "C" __global__ void wmma_half_sums(const half *a, const half *b, half *c, int n, int k) {
  multiplied<half, half, half, 32, 8, 16>(a, b, c, n, k);
}
extern "C" __global__ void wmma_bfloat16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n, int k) {
  multiplied<__nv_bfloat16, float, __nv_bfloat16, 16, 16, 16>(a, b, c, n, k);
}
extern "C" __global__ void wmma_int8(const signed char *a, const signed char *b, int *c, int n, int k) {
  multiplied<signed char, int, signed char, 8, 32, 16>(a, b, c, n, k);
}
extern "C" __global__ void wmma_tf32(const float *a, const float *b, float *c, int n, int k) {
  multiplied<float, float, wmma::precision::tf32, 16, 16, 8>(a, b, c, n, k);
}
extern "C" __global__ void wmma_double(const double *a, const double *b, double *c, int n, int k) {
  multiplied<double, double, double, 8, 8, 4>(a, b, c, n, k);
}
extern "C" __global__ void wmma_through_shared(const half *a, const half *b, float *c, int n, int k) {
  __shared__ half s[2][32][24], r[2][16][40];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> total;
  wmma::fill_fragment(total, 0.0f);
  int t = threadIdx.x, w = t / 32;
  for (int i = 0; i < k; i += 16) {
    int stage = i / 16 % 2;
    for (int e = t; e < 512; e += 128) {
      s[stage][e / 16][e % 16] = a[(blockIdx.y * 32 + e / 16) * k + i + e % 16];
      r[stage][e / 32][e % 32] = b[(i + e / 32) * n + blockIdx.x * 32 + e % 32];
    }
    __syncthreads();
    wmma::load_matrix_sync(x, &s[stage][w / 2 * 16][0], 24);
    wmma::load_matrix_sync(y, &r[stage][0][w % 2 * 16], 40);
    wmma::mma_sync(total, x, y, total);
  }
  for (int i = 0; i < total.num_elements; i++) total.x[i] *= 2;
  wmma::store_matrix_sync(c + (blockIdx.y * 32 + w / 2 * 16) * n + blockIdx.x * 32 + w % 2 * 16, total, n,
                          wmma::mem_row_major);
}
extern "C" __global__ void sgemm(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float s[16][17], r[16][17];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float total = 0;
  for (int i = 0; i < k; i += 16) {
    s[y][x] = a[row * k + i + x];
    r[y][x] = b[(i + y) * n + column];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; j++) total += s[y][j] * r[j][x];
    __syncthreads();
  }
  c[row * n + column] = total;
}
