// Message passing with relaxed mbarrier arrivals and waits: separate fences order the accesses.
#include <cooperative_groups.h>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

template <class Scope>
__device__ void relaxed_wait(Scope scope, uint64_t *bar, int phase) {
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_relaxed, scope, bar, phase & 1)) {
  }
}

// A buffer that 32 threads fill and 96 read, repeatedly; acq_rel fences.
extern "C" __global__ void handed_on(const int *x, int *y) {
  __shared__ alignas(8) uint64_t full, empty;
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t == 0) {
    ptx::mbarrier_init(&full, 32);
    ptx::mbarrier_init(&empty, 96);
  }
  __syncthreads();
  for (int i = 0; i < 5; i++) {
    if (t < 32) {
      if (i) {
        relaxed_wait(ptx::scope_cta, &empty, i - 1);
        ptx::fence(ptx::sem_acq_rel, ptx::scope_cta);
      }
      s[t] = x[i * 32 + t];
      ptx::fence(ptx::sem_acq_rel, ptx::scope_cta);
      ptx::mbarrier_arrive(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &full);
    } else {
      relaxed_wait(ptx::scope_cta, &full, i);
      ptx::fence(ptx::sem_acq_rel, ptx::scope_cta);
      y[i * 96 + t - 32] = s[(t + i) % 32] + t / 32;
      ptx::fence(ptx::sem_acq_rel, ptx::scope_cta);
      ptx::mbarrier_arrive(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &empty);
    }
  }
}

// Two halves of a CTA exchange their values; release and acquire fences, and waits with the state of an arrival.
extern "C" __global__ void swapped(const int *x, int *y) {
  __shared__ alignas(8) uint64_t bar;
  __shared__ int s[2][128];
  int t = threadIdx.x, v = x[t];
  if (t == 0) ptx::mbarrier_init(&bar, 128);
  __syncthreads();
  for (int i = 0; i < 4; i++) {
    s[i % 2][t] = v;
    ptx::fence(ptx::sem_release, ptx::scope_cta);
    uint64_t state = ptx::mbarrier_arrive(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &bar, 1);
    while (!ptx::mbarrier_test_wait(ptx::sem_relaxed, ptx::scope_cta, &bar, state)) {
    }
    ptx::fence(ptx::sem_acquire, ptx::scope_cta);
    v = s[i % 2][(t + 64) % 128] * 3 + i;
  }
  y[t] = v;
}

// Each CTA of a cluster writes to the shared memory of the next one and arrives there. A CTA may be several steps
// ahead of the next one, so each step has its own mbarrier.
extern "C" __global__ void __cluster_dims__(4) passed_around(const int *x, int *y) {
  __shared__ alignas(8) uint64_t bar[3];
  __shared__ int s[3][64];
  auto cluster = cg::this_cluster();
  int t = threadIdx.x, rank = cluster.block_rank(), v = x[blockIdx.x * 64 + t];
  if (t == 0) {
    for (int i = 0; i < 3; i++) ptx::mbarrier_init(bar + i, 64);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  cluster.sync();
  for (int i = 0; i < 3; i++) {
    *cluster.map_shared_rank(&s[i][63 - t], (rank + 1) % 4) = v + rank;
    ptx::fence(ptx::sem_release, ptx::scope_cluster);
    uint64_t *there = cluster.map_shared_rank(bar + i, (rank + 1) % 4);
    ptx::mbarrier_arrive(ptx::sem_relaxed, ptx::scope_cluster, ptx::space_cluster, there);
    relaxed_wait(ptx::scope_cluster, bar + i, 0);
    ptx::fence(ptx::sem_acquire, ptx::scope_cluster);
    v = s[i][t];
  }
  y[blockIdx.x * 64 + t] = v;
  cluster.sync();
}
