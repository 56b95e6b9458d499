// SPDX-License-Identifier: Apache-2.0
// Attributes of kernels and variables: bounds, clusters, register limits, managed memory, constants of the grid, linkage.

__managed__ int managed_counter = 5;
__managed__ float managed_field[64];
extern __device__ int declared_elsewhere_but_defined_here;
__device__ int declared_elsewhere_but_defined_here = 3;
__device__ volatile unsigned mailbox;
static __constant__ int hidden = 42;

struct Matrix4 { float rows[4][4]; };
struct alignas(64) Descriptor { unsigned long long words[16]; };
struct Mixed { char tag; short code; int index; double weight; const float* data; bool last; };

extern "C" __global__ void __launch_bounds__(256) bounded(float* x) { x[threadIdx.x] *= 2.0f; }
extern "C" __global__ void __launch_bounds__(128, 4) bounded_twice(float* x) { x[threadIdx.x] *= 3.0f; }
extern "C" __global__ void __maxnreg__(48) limited(float* x) { x[threadIdx.x] = sinf(x[threadIdx.x]); }
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 2, 1) clustered(float* x) { x[blockIdx.x] = 1.0f; }
extern "C" __global__ void __launch_bounds__(384, 1, 8) bounded_in_clusters(float* x) { x[blockIdx.x] = 2.0f; }
#if __CUDACC_VER_MAJOR__ >= 13
extern "C" __global__ void __block_size__((128, 1, 1), (2, 1, 1)) sized_block(float* x) { x[blockIdx.x] = 3.0f; }
#endif
#endif

extern "C" __global__ void constants_of_the_grid(const __grid_constant__ Matrix4 transform, const __grid_constant__ Descriptor descriptor, float4* points) {
    const float4 p = points[threadIdx.x];
    float r[4];
    for (int row = 0; row < 4; ++row)
        r[row] = transform.rows[row][0] * p.x + transform.rows[row][1] * p.y + transform.rows[row][2] * p.z + transform.rows[row][3] * p.w;
    const Descriptor* pointer = &descriptor;
    points[threadIdx.x] = make_float4(r[0], r[1], r[2], r[3] + static_cast<float>(pointer->words[threadIdx.x & 15]));
}

extern "C" __global__ void by_value(Mixed mixed, Matrix4 matrix, double3 vector, float2 pair, char single, unsigned long long wide) {
    managed_field[threadIdx.x] = matrix.rows[threadIdx.x & 3][1] + mixed.weight + vector.y + pair.x + single + wide;
    if (mixed.last) managed_counter += hidden + mixed.code + mixed.tag + declared_elsewhere_but_defined_here;
    mailbox = managed_counter;
}

extern "C" __global__ void restricted(const float* __restrict__ in, float* __restrict__ out, const volatile int* flag, int4* quads) {
    while (*flag == 0) {
    }
    out[threadIdx.x] = in[threadIdx.x] + in[threadIdx.x + 1];
    quads[threadIdx.x].w = __ldg(reinterpret_cast<const int*>(in));
}

namespace outer { namespace { __global__ void in_anonymous_namespace(int* x) { x[0] = 1; } }
template <typename T> __global__ void with_weird_name_operator(T x);
template <> __global__ void with_weird_name_operator<int(*)(char, float)>(int (*x)(char, float)) { if (x != nullptr) mailbox = x('a', 2.0f); }
void keep() { in_anonymous_namespace<<<1, 1>>>(nullptr); } }
