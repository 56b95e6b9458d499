// SPDX-License-Identifier: Apache-2.0
// cuda::pipeline: staged asynchronous copies with libcu++, unified and with producer and consumer threads.
#include <cooperative_groups.h>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

extern "C" __global__ void staged_sum(float* out, const float* in, int batches) {
    __shared__ float stages[2][128];
    auto block = cg::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipeline = cuda::make_pipeline(block, &state);
    pipeline.producer_acquire();
    cuda::memcpy_async(block, stages[0], in, cuda::aligned_size_t<16>(512), pipeline);
    pipeline.producer_commit();
    float sum = 0.0f;
    for (int batch = 1; batch <= batches; ++batch) {
        if (batch < batches) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, stages[batch & 1], in + batch * 128, cuda::aligned_size_t<16>(512), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += stages[(batch - 1) & 1][threadIdx.x];
        pipeline.consumer_release();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void per_thread(int4* out, const int4* in) {
    __shared__ int4 slots[256];
    auto pipeline = cuda::make_pipeline();
    pipeline.producer_acquire();
    cuda::memcpy_async(&slots[threadIdx.x], in + threadIdx.x, cuda::aligned_size_t<16>(16), pipeline);
    pipeline.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipeline);
    out[threadIdx.x] = slots[threadIdx.x];
}
