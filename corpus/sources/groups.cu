// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: tiles, coalesced threads, the thread block, the grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void tiles(int* out, const int* in) {
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<8>(block);
    int value = in[block.thread_rank()];
    value = cg::reduce(tile, value, cg::plus<int>());
    value += cg::exclusive_scan(tile, value, cg::plus<int>());
    value += tile.shfl(value, 3) + tile.any(value > 4) + static_cast<int>(tile.ballot(value & 1)) + static_cast<int>(tile.meta_group_rank());
    tile.sync();
    out[block.thread_rank()] = value;
}

extern "C" __global__ void coalesced_increment(unsigned* counter, unsigned* slots, const int* wanted) {
    if (wanted[threadIdx.x] == 0) return;
    const auto active = cg::coalesced_threads();
    unsigned base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(counter, active.size());
    slots[threadIdx.x] = active.shfl(base, 0) + active.thread_rank();
}

extern "C" __global__ void labelled(int* out, const int* in) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto same = cg::labeled_partition(warp, in[threadIdx.x]);
    const auto split = cg::binary_partition(warp, in[threadIdx.x] > 0);
    out[threadIdx.x] = cg::reduce(same, in[threadIdx.x], cg::greater<int>()) + static_cast<int>(split.size());
}

extern "C" __global__ void iterate_grid(float* a, float* b, int steps) {
    const auto grid = cg::this_grid();
    for (int step = 0; step < steps; ++step) {
        const auto i = grid.thread_rank();
        b[i] = 0.5f * (a[i] + a[(i + 1) % grid.size()]);
        grid.sync();
        float* t = a;
        a = b;
        b = t;
    }
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(4, 1, 1) neighbours(int* out) {
    __shared__ int value;
    const auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) value = static_cast<int>(cluster.block_rank());
    cluster.sync();
    const int* remote = cluster.map_shared_rank(&value, (cluster.block_rank() + 1) % cluster.num_blocks());
    out[blockIdx.x] = *remote;
    cluster.barrier_arrive();
    cluster.barrier_wait();
}
#endif
