// Asynchronous copies: cp.async, pipelines, bulk copies, tensor maps, and distributed shared memory.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda_pipeline_primitives.h>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void primitives(const int4 *x, int4 *y) {
  __shared__ int4 s[2][64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[0][t], x + t, 16);
  __pipeline_commit();
  for (int i = 0; i < 4; i++) {
    if (i < 3) __pipeline_memcpy_async(&s[(i + 1) % 2][t], x + (i + 1) * 64 + t, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    int4 v = s[i % 2][63 - t];
    y[i * 64 + t] = make_int4(v.w, v.z, v.y, v.x);
    __syncthreads();
  }
}
extern "C" __global__ void pipeline_of_threads(const int *x, int *y) {
  __shared__ int s[2][128];
  auto pipe = cuda::make_pipeline();
  int t = threadIdx.x;
  for (int i = 0; i < 5; i++) {
    if (i < 4) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[i % 2][t], x + i * 128 + t, sizeof(int), pipe);
      pipe.producer_commit();
    }
    if (i) {
      cuda::pipeline_consumer_wait_prior<0>(pipe);
      y[(i - 1) * 128 + t] = s[(i - 1) % 2][t] + i;
      pipe.consumer_release();
    }
  }
}
extern "C" __global__ void pipeline_of_a_block(const int *x, int *y) {
  constexpr auto scope = cuda::thread_scope_block;
  __shared__ cuda::pipeline_shared_state<scope, 2> state;
  __shared__ alignas(16) int s[2][128];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int t = threadIdx.x;
  auto load = [&](int i) {
    pipe.producer_acquire();
    cuda::memcpy_async(block, s[i % 2], x + i * 128, cuda::aligned_size_t<16>(512), pipe);
    pipe.producer_commit();
  };
  load(0);
  for (int i = 0; i < 4; i++) {
    if (i < 3) load(i + 1);
    pipe.consumer_wait();
    y[i * 128 + t] = s[i % 2][127 - t];
    pipe.consumer_release();
  }
}
extern "C" __global__ void pipeline_with_roles(const int *x, int *y) {
  constexpr auto scope = cuda::thread_scope_block;
  __shared__ cuda::pipeline_shared_state<scope, 2> state;
  __shared__ alignas(16) int s[2][64];
  auto block = cg::this_thread_block();
  int t = threadIdx.x;
  auto role = t < 64 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  for (int i = 0; i < 5; i++) {
    if (t < 64) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[i % 2][t], x + i * 64 + t, sizeof(int), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      y[i * 64 + t - 64] = s[i % 2][127 - t];
      pipe.consumer_release();
    }
  }
}
extern "C" __global__ void copied_to_a_barrier(const int *x, int *y) {
  __shared__ Barrier bar;
  __shared__ alignas(16) int s[256];
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  block.sync();
  cuda::memcpy_async(block, s, x, cuda::aligned_size_t<16>(sizeof s), bar);
  bar.arrive_and_wait();
  y[threadIdx.x] = s[threadIdx.x * 2] - s[threadIdx.x * 2 + 1];
}

#if __CUDA_ARCH__ >= 900
namespace ptx = cuda::ptx;
namespace device = cuda::device::experimental;

extern "C" __global__ void bulk_copies(const int *x, int *y) {
  __shared__ alignas(128) int s[256];
  __shared__ Barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    device::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    device::cp_async_bulk_global_to_shared(s, x + blockIdx.x * 256, sizeof s, bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof s);
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = s[i] * 2 + 1;
  device::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    device::cp_async_bulk_shared_to_global(y + blockIdx.x * 256, s, sizeof s);
    device::cp_async_bulk_commit_group();
    device::cp_async_bulk_wait_group_read<0>();
  }
}
extern "C" __global__ void bulk_reductions(const int *x, int *y) {
  __shared__ alignas(128) int s[64];
  s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, y, s, sizeof s);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}
extern "C" __global__ void tiles_by_maps(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap into) {
  __shared__ alignas(1024) float s[16][32];
  __shared__ Barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    device::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Barrier::arrival_token token;
  int column = blockIdx.x * 32, row = blockIdx.y * 16;
  if (threadIdx.x == 0) {
    device::cp_async_bulk_tensor_2d_global_to_shared(s, &from, column, row, bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof s);
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  for (int i = threadIdx.x; i < 512; i += blockDim.x) s[i / 32][i % 32] += 1;
  device::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    device::cp_async_bulk_tensor_2d_shared_to_global(&into, column, row, s);
    device::cp_async_bulk_commit_group();
    device::cp_async_bulk_wait_group_read<0>();
  }
}
extern "C" __global__ void ring_of_bulk_copies(const int *x, int *y) {
  __shared__ alignas(128) int s[3][128];
  __shared__ uint64_t full[3], empty[3];
  int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 3; i++) {
      ptx::mbarrier_init(full + i, 1);
      ptx::mbarrier_init(empty + i, 128);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (t >= 128) {
    if (t == 128)
      for (int i = 0; i < 8; i++) {
        while (!ptx::mbarrier_try_wait_parity(empty + i % 3, (i / 3 & 1) ^ 1))
          ;
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, full + i % 3, 512);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[i % 3], x + i * 128, 512, full + i % 3);
      }
  } else {
    int total = 0;
    for (int i = 0; i < 8; i++) {
      while (!ptx::mbarrier_try_wait_parity(full + i % 3, i / 3 & 1))
        ;
      total += s[i % 3][t] * (i + 1);
      ptx::mbarrier_arrive(empty + i % 3);
    }
    y[t] = total;
  }
}
extern "C" __global__ void __cluster_dims__(4) cluster_sums(const int *x, int *y) {
  __shared__ int part;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) part = 0;
  __syncthreads();
  atomicAdd(&part, x[blockIdx.x * blockDim.x + threadIdx.x]);
  cluster.sync();
  if (threadIdx.x == 0) {
    int total = 0;
    for (int i = 0; i < 4; i++) total += *cluster.map_shared_rank(&part, i);
    y[blockIdx.x] = total * 10 + cluster.block_rank();
  }
  cluster.sync();
}
extern "C" __global__ void __cluster_dims__(2) cluster_histogram(const int *x, int *y, int n) {
  __shared__ int bins[32];
  auto cluster = cg::this_cluster();
  bins[threadIdx.x] = 0;
  cluster.sync();
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32)
    atomicAdd(cluster.map_shared_rank(bins, x[i] % 64 / 32) + x[i] % 32, 1);
  cluster.sync();
  atomicAdd(y + cluster.block_rank() * 32 + threadIdx.x, bins[threadIdx.x]);
}
extern "C" __global__ void __cluster_dims__(2) sent_to_the_neighbor(const int *x, int *y) {
  __shared__ int s[32];
  __shared__ uint64_t bar;
  auto cluster = cg::this_cluster();
  int t = threadIdx.x, other = cluster.block_rank() ^ 1;
  if (t == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 128);
  }
  cluster.sync();
  ptx::st_async(cluster.map_shared_rank(s + t, other), x[blockIdx.x * 32 + t], cluster.map_shared_rank(&bar, other));
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0))
    ;
  y[blockIdx.x * 32 + t] = s[t] * 2;
  cluster.sync();
}
extern "C" __global__ void __cluster_dims__(2) multicast(const int *x, int *y) {
  __shared__ alignas(128) int s[64];
  __shared__ uint64_t bar;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof s);
  }
  cluster.sync();
  if (threadIdx.x == 0 && cluster.block_rank() == 0)
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, x + blockIdx.x * 32, sizeof s, &bar, uint16_t(3));
  while (!ptx::mbarrier_try_wait_parity(&bar, 0))
    ;
  y[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x] + cluster.block_rank();
}
#endif
