// SPDX-License-Identifier: Apache-2.0
// Static and dynamic shared memory: transpose, scan, histogram, a ring of pipeline stages.

extern __shared__ __align__(16) unsigned char arena[];

extern "C" __global__ void transpose(float* out, const float* in, int width, int height) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int row = 0; row < 32; row += 8)
        if (x < width && y + row < height) tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int row = 0; row < 32; row += 8)
        if (x < height && y + row < width) out[(y + row) * height + x] = tile[threadIdx.x][threadIdx.y + row];
}

extern "C" __global__ void exclusive_scan(int* data, int count) {
    int* buffer = reinterpret_cast<int*>(arena);
    const int i = threadIdx.x;
    int offset = 1;
    buffer[2 * i] = data[2 * i];
    buffer[2 * i + 1] = data[2 * i + 1];
    for (int half = count >> 1; half > 0; half >>= 1) {
        __syncthreads();
        if (i < half) buffer[offset * (2 * i + 2) - 1] += buffer[offset * (2 * i + 1) - 1];
        offset *= 2;
    }
    if (i == 0) buffer[count - 1] = 0;
    for (int step = 1; step < count; step *= 2) {
        offset >>= 1;
        __syncthreads();
        if (i < step) {
            const int low = offset * (2 * i + 1) - 1, high = offset * (2 * i + 2) - 1, kept = buffer[low];
            buffer[low] = buffer[high];
            buffer[high] += kept;
        }
    }
    __syncthreads();
    data[2 * i] = buffer[2 * i];
    data[2 * i + 1] = buffer[2 * i + 1];
}

extern "C" __global__ void histogram(unsigned* bins, const unsigned char* data, unsigned count) {
    __shared__ unsigned local[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

template <typename T, int Stages>
__global__ void rolling_sum(T* out, const T* in, int count) {
    T(*stages)[128] = reinterpret_cast<T(*)[128]>(arena);
    T sum = 0;
    for (int step = 0; step < count; ++step) {
        stages[step % Stages][threadIdx.x] = in[step * 128 + threadIdx.x];
        __syncthreads();
        sum += stages[step % Stages][127 - threadIdx.x];
        if (__syncthreads_or(sum > T(1000))) break;
    }
    out[threadIdx.x] = sum + T(__syncthreads_count(sum > T(0))) + T(__syncthreads_and(1));
}

template __global__ void rolling_sum<float, 3>(float*, const float*, int);
template __global__ void rolling_sum<short, 4>(short*, const short*, int);

extern "C" __global__ void bool_and_struct_shared(int* out) {
    struct Slot { int key; double weight; char tag; };
    __shared__ Slot slots[32];
    __shared__ bool taken[32];
    __shared__ unsigned long long best;
    slots[threadIdx.x] = {out[threadIdx.x], 0.5 * threadIdx.x, 'x'};
    taken[threadIdx.x] = out[threadIdx.x] > 0;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    atomicMax(&best, static_cast<unsigned long long>(slots[31 - threadIdx.x].key));
    __syncthreads();
    out[threadIdx.x] = taken[threadIdx.x ^ 1] ? static_cast<int>(best) : static_cast<int>(slots[threadIdx.x].weight) + slots[0].tag;
}
