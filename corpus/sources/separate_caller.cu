// SPDX-License-Identifier: Apache-2.0
// One half of a program compiled separately: everything it needs is in separate_library.cu.

struct State { unsigned long long words[4]; int position; };

extern __device__ float shared_constant;
extern __constant__ int lengths[16];
extern __device__ State global_state;
extern __shared__ float workspace[];
extern __device__ float evaluate(float x, int degree);
extern __device__ State advance(State state, const int* steps);
extern "C" __device__ void c_callback(void* data, char tag);
__device__ float (*local_hook)(float, int) = evaluate;
__device__ __attribute__((weak)) int weak_default(int x) { return x + 1; }
static __device__ int private_counter;
static __device__ __noinline__ int private_helper(int x) { return x * private_counter; }

__global__ void caller(float* x, int* steps) {
    workspace[threadIdx.x] = evaluate(x[threadIdx.x], lengths[threadIdx.x & 15]) + shared_constant;
    __syncthreads();
    if (threadIdx.x == 0) global_state = advance(global_state, steps);
    c_callback(x, 'z');
    x[threadIdx.x] = workspace[blockDim.x - 1 - threadIdx.x] + local_hook(1.0f, 2) + weak_default(3) + private_helper(4);
}
