// SPDX-License-Identifier: Apache-2.0
// Like hopper_copy.cu, through cuda::ptx and cuda::barrier, whose headers have their own style of inline assembly.
#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;

extern "C" __global__ void barriers(cuda::std::uint64_t* out) {
    __shared__ cuda::std::uint64_t barrier;
    if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, blockDim.x);
    __syncthreads();
    const auto state = ptx::mbarrier_arrive(&barrier);
    while (!ptx::mbarrier_try_wait(&barrier, state)) {
    }
#if __CUDA_ARCH__ >= 900
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &barrier, 256);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cta, &barrier, 0)) {
    }
    ptx::barrier_cluster_arrive(ptx::sem_release);
    ptx::barrier_cluster_wait(ptx::sem_acquire);
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
#endif
    ptx::fence(ptx::sem_acq_rel, ptx::scope_gpu);
    out[0] = state;
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void copies(const void* map, int* global) {
    __shared__ alignas(128) int tile[256];
    __shared__ cuda::std::uint64_t barrier;
    const int at[2] = {0, 8};
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, global, 1024, &barrier);
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, map, at, &barrier);
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, map, at, tile);
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, global, tile, 1024);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    ptx::red_async(ptx::op_add, tile, 1, &barrier);
}
#endif

#if __CUDA_ARCH__ >= 1000
extern "C" __global__ void next_blocks(int* out) {
    __shared__ alignas(16) __int128 response;
    __shared__ cuda::std::uint64_t barrier;
    ptx::clusterlaunchcontrol_try_cancel(&response, &barrier);
    if (ptx::clusterlaunchcontrol_query_cancel_is_canceled(response)) out[0] = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x<int>(response);
}
#endif

extern "C" __global__ void registers(unsigned* out) {
    out[0] = ptx::get_sreg_tid_x() + ptx::get_sreg_laneid() + ptx::get_sreg_lanemask_lt() + static_cast<unsigned>(ptx::get_sreg_clock64());
    out[1] = ptx::shfl_sync_idx(out[0], 3, 31, 0xFFFFFFFF);
}

extern "C" __global__ void completion(cuda::barrier<cuda::thread_scope_block>* shared_barrier, float* out, const float* in) {
    __shared__ float tile[128];
    cuda::memcpy_async(tile + threadIdx.x, in + threadIdx.x, sizeof(float), *shared_barrier);
    shared_barrier->arrive_and_wait();
    out[threadIdx.x] = tile[127 - threadIdx.x];
}
