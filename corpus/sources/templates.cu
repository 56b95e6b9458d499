// SPDX-License-Identifier: Apache-2.0
// Templates, functors, lambdas, compile-time recursion: long mangled names and unrolled bodies.

namespace shapes {

template <int... Extents>
struct Box;

template <>
struct Box<> {
    static constexpr int volume = 1;
};

template <int First, int... Rest>
struct Box<First, Rest...> {
    static constexpr int volume = First * Box<Rest...>::volume;
};

}  // namespace shapes

namespace operators {

struct Plus {
    template <typename T>
    __device__ T operator()(T a, T b) const { return a + b; }
};

struct Maximum {
    template <typename T>
    __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

template <typename First, typename Second>
struct Compose {
    First first;
    Second second;
    template <typename T>
    __device__ T operator()(T a, T b) const { return second(first(a, b), b); }
};

}  // namespace operators

template <typename T, typename Operator, int Threads>
__global__ void block_reduce(const T* in, T* out, Operator op) {
    __shared__ T partial[Threads];
    partial[threadIdx.x] = in[blockIdx.x * Threads + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int width = Threads / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) partial[threadIdx.x] = op(partial[threadIdx.x], partial[threadIdx.x + width]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

template __global__ void block_reduce<float, operators::Plus, 128>(const float*, float*, operators::Plus);
template __global__ void block_reduce<double, operators::Maximum, 64>(const double*, double*, operators::Maximum);
template __global__ void block_reduce<long long, operators::Compose<operators::Plus, operators::Maximum>, 256>(
    const long long*, long long*, operators::Compose<operators::Plus, operators::Maximum>);

template <int Degree>
__device__ float horner(const float* coefficients, float x) {
    if constexpr (Degree == 0) {
        return coefficients[0];
    } else {
        return horner<Degree - 1>(coefficients + 1, x) * x + coefficients[0];
    }
}

template <typename Box>
__global__ void fill_box(float* out, const float* coefficients) {
#pragma unroll
    for (int i = 0; i < Box::volume; ++i) out[threadIdx.x * Box::volume + i] = horner<5>(coefficients, static_cast<float>(i));
}

template __global__ void fill_box<shapes::Box<2, 3>>(float*, const float*);
template __global__ void fill_box<shapes::Box<2, 2, 4>>(float*, const float*);

template <typename Function>
__device__ void for_each_lane(int count, Function function) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) function(i);
}

template <typename... Arrays>
__global__ void sum_of_arrays(float* out, int count, Arrays... arrays) {
    const float bias = 0.25f;
    for_each_lane(count, [&](int i) { out[i] = (arrays[i] + ... + bias); });
}

template __global__ void sum_of_arrays<const float*, const int*, const unsigned char*>(float*, int, const float*, const int*, const unsigned char*);

template <typename T, T... Values>
struct Sequence {};

template <typename T, T... Values>
__device__ T dot(Sequence<T, Values...>, T x) {
    return ((Values * x) + ...);
}

__global__ void sequences(int* out) {
    out[0] = dot(Sequence<int, 1, 2, 3, 5, 8>{}, out[1]);
    out[2] = dot(Sequence<short, -1, 7>{}, static_cast<short>(out[3]));
}
