// Independent asynchronous operations of warps: equal instructions at the same time, on separate stages and barriers.
#include <cooperative_groups.h>
#include <cuda/ptx>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline_primitives.h>

namespace cg = cooperative_groups;

// Each warp copies and signals its own mbarrier; the preceding warp waits on it.
extern "C" __global__ void told_by_each_warp(const int4 *x, int4 *y) {
  __shared__ int4 s[4][32];
  __shared__ __mbarrier_t full[4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, next = (warp + 1) % 4;
  if (threadIdx.x == 0)
    for (int i = 0; i < 4; i++) __mbarrier_init(full + i, 64);
  __syncthreads();
  __mbarrier_token_t token = 0;
  for (int i = 0; i < 3; i++) {
    __pipeline_memcpy_async(&s[warp][lane], x + i * 128 + threadIdx.x, 16);
    __pipeline_arrive_on(full + warp);
    __mbarrier_arrive(full + warp);
    token = __mbarrier_arrive(full + next);
    while (!__mbarrier_test_wait(full + next, token)) {
    }
    y[i * 128 + threadIdx.x] = s[next][31 - lane];
    __syncthreads();
  }
}

#if __CUDA_ARCH__ >= 900
namespace ptx = cuda::ptx;

// Each warp fills two stages alternately, and reads them.
extern "C" __global__ void ring_of_each_warp(const int *x, int *y) {
  constexpr int STEPS = 6;
  __shared__ alignas(128) int s[4][2][32];
  __shared__ uint64_t full[4][2];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, total = 0;
  const int *mine = x + warp * STEPS * 32;
  if (threadIdx.x < 8) ptx::mbarrier_init(&full[0][0] + threadIdx.x, 1);
  ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  __syncthreads();
  auto fill = [&](int i) {
    uint64_t *bar = &full[warp][i % 2];
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar, 128);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[warp][i % 2], mine + i * 32, 128, bar);
  };
  if (lane == 0) {
    fill(0);
    fill(1);
  }
  for (int i = 0; i < STEPS; i++) {
    while (!ptx::mbarrier_try_wait_parity(&full[warp][i % 2], i / 2 & 1)) {
    }
    total = total * 3 + s[warp][i % 2][31 - lane];
    __syncwarp();
    if (lane == 0 && i + 2 < STEPS) fill(i + 2);
  }
  y[threadIdx.x] = total;
}

// Each warp writes a line, issues its bulk store, and overwrites the line after the store has read it.
extern "C" __global__ void lines_of_each_warp(const int *x, int *y) {
  __shared__ alignas(128) int s[4][32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = warp; i < 16; i += 4) {
    s[warp][lane] = x[i * 32 + (lane + i) % 32];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncwarp();
    if (lane == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + i * 32, s[warp], 128);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    __syncwarp();
  }
  if (lane == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

// Each warp adds its line to a common line.
extern "C" __global__ void sums_of_each_warp(const int *x, int *y) {
  __shared__ alignas(128) int s[4][32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  s[warp][lane] = x[blockIdx.x * 128 + threadIdx.x];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncwarp();
  if (lane == 0) {
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, y, s[warp], 128);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}

// Each warp sends to the next warp of the other CTA, and waits for its own data only.
extern "C" __global__ void __cluster_dims__(2) sent_by_each_warp(const int *x, int *y) {
  __shared__ int s[4][32];
  __shared__ uint64_t full[4];
  auto cluster = cg::this_cluster();
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, other = cluster.block_rank() ^ 1, next = (warp + 1) % 4;
  if (lane == 0) {
    ptx::mbarrier_init(full + warp, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, full + warp, 128);
  }
  cluster.sync();
  ptx::st_async(cluster.map_shared_rank(&s[next][lane], other), x[blockIdx.x * 128 + threadIdx.x],
                cluster.map_shared_rank(full + next, other));
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, full + warp, 0)) {
  }
  y[blockIdx.x * 128 + threadIdx.x] = s[warp][lane] * 2;
  cluster.sync();
}

// Each warp of the first CTA multicasts a line to both CTAs; each warp of both waits for its own line.
extern "C" __global__ void __cluster_dims__(2) multicast_by_each_warp(const int *x, int *y) {
  __shared__ alignas(128) int s[4][32];
  __shared__ uint64_t full[4];
  auto cluster = cg::this_cluster();
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) {
    ptx::mbarrier_init(full + warp, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, full + warp, 128);
  }
  cluster.sync();
  if (lane == 0 && cluster.block_rank() == 0)
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[warp], x + (blockIdx.x / 2 * 4 + warp) * 32, 128, full + warp,
                       uint16_t(3));
  while (!ptx::mbarrier_try_wait_parity(full + warp, 0)) {
  }
  y[blockIdx.x * 128 + threadIdx.x] = s[warp][31 - lane] + cluster.block_rank();
  cluster.sync();
}
#endif
