// Uses definitions in `linked_library.cu`: functions, variables, constants, virtual functions, and a shared template.
#include "linked.h"

static __device__ float scale = 3;
static __device__ __noinline__ float own(float x) { return x * scale; }

// Each translation unit has a static function `own`.
extern "C" __global__ void called(const float *x, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = weighted(x[i], i) + own(x[i]) + next(x[i]) + doubly(x[i]);
}

extern "C" __global__ void counted(int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    weighted(1, i);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&blocks_done, 1) == gridDim.x - 1) *out = atomicAdd(&calls, 0);
}

extern "C" __global__ void dispatched(const float *x, float *out) {
    Square square;
    Circle circle;
    int i = threadIdx.x;
    const Shape *shape = i % 3 ? static_cast<Shape *>(&square) : &circle;
    out[i] = shape->area(x[i]) + chosen(i)(x[i]);
}
