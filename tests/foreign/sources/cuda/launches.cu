// Grid-wide barriers (cooperative launch), and programmatic dependent launch.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// Steps of a relaxation: each reads the results of all CTAs in the previous step.
extern "C" __global__ void relaxed(int *from, int *to, int n, int steps) {
    cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < steps; ++step) {
        for (int i = grid.thread_rank(); i < n; i += grid.size())
            to[i] = (from[(i + n - 1) % n] + 2 * from[i] + from[(i + 1) % n]) % 1000;
        int *next = from;
        from = to, to = next;
        grid.sync();
    }
}

// CTA sums, then the offset of each CTA: a scan with one grid barrier.
extern "C" __global__ void scanned(const int *x, int *sums, int *out) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    __shared__ int of_warps[4];
    int i = grid.thread_rank(), sum = cg::reduce(warp, x[i], cg::plus<int>());
    if (warp.thread_rank() == 0) of_warps[warp.meta_group_rank()] = sum;
    block.sync();
    if (block.thread_rank() == 0) sums[blockIdx.x] = of_warps[0] + of_warps[1] + of_warps[2] + of_warps[3];
    grid.sync();
    int before = 0;
    for (int each = 0; each < blockIdx.x; ++each) before += sums[each];
    for (int each = 0; each <= block.thread_rank(); ++each) before += x[blockIdx.x * blockDim.x + each];
    out[i] = before;
}

// Split grid barrier: a CTA does independent work between its arrival and its wait.
extern "C" __global__ void split_barrier(int *x, int *out) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    x[i] = 3 * i;
    auto token = grid.barrier_arrive();
    int own = i * i % 17;
    grid.barrier_wait(std::move(token));
    out[i] = own + x[grid.size() - 1 - i];
}

// Breadth-first search, level by level, until no CTA finds a new vertex.
extern "C" __global__ void levels(const int *first, const int *edges, int *level, int *changed, int vertices) {
    cg::grid_group grid = cg::this_grid();
    for (int depth = 0;; ++depth) {
        for (int v = grid.thread_rank(); v < vertices; v += grid.size())
            if (atomicAdd(&level[v], 0) == depth)
                for (int e = first[v]; e < first[v + 1]; ++e)
                    if (atomicCAS(&level[edges[e]], -1, depth + 1) == -1) atomicExch(&changed[depth], 1);
        grid.sync();
        if (!changed[depth]) return;
    }
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void produced(const float *x, float *y) {
    cudaTriggerProgrammaticLaunchCompletion();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] * 0.5f;
}

// Reads its weights while the prerequisite grid still runs, and that grid's output after the wait.
extern "C" __global__ void consumed(const float *y, const float *weights, float *out) {
    __shared__ float sums[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float weight = weights[i];
    cudaGridDependencySynchronize();
    sums[threadIdx.x] = weight * y[gridDim.x * blockDim.x - 1 - i];
    for (int step = 32; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
#endif
