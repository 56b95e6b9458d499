// SPDX-License-Identifier: Apache-2.0
// Kernels of scientific computing and machine learning: stencil, SpMV, transform, normalization, attention, rays.

extern "C" __global__ void heat_step(float* __restrict__ out, const float* __restrict__ in, int nx, int ny, float k) {
    __shared__ float tile[18][34];
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int dy = threadIdx.y; dy < 18; dy += 16)
        for (int dx = threadIdx.x; dx < 34; dx += 32) {
            const int gx = min(max(static_cast<int>(blockIdx.x * 32) + dx - 1, 0), nx - 1), gy = min(max(static_cast<int>(blockIdx.y * 16) + dy - 1, 0), ny - 1);
            tile[dy][dx] = in[gy * nx + gx];
        }
    __syncthreads();
    const float c = tile[threadIdx.y + 1][threadIdx.x + 1];
    if (x < nx && y < ny) out[y * nx + x] = c + k * (tile[threadIdx.y][threadIdx.x + 1] + tile[threadIdx.y + 2][threadIdx.x + 1] + tile[threadIdx.y + 1][threadIdx.x] + tile[threadIdx.y + 1][threadIdx.x + 2] - 4.0f * c);
}

extern "C" __global__ void sparse_times_vector(const int* rows, const int* columns, const double* values, const double* x, double* y, int count) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= count) return;
    double sum = 0.0;
    for (int i = rows[row] + lane; i < rows[row + 1]; i += 32) sum += values[i] * __ldg(&x[columns[i]]);
    for (int offset = 16; offset; offset /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, offset);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void transform_16(float2* data) {
    float2 v[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) v[i] = data[i * 32 + threadIdx.x];
#pragma unroll
    for (int half = 8; half > 0; half /= 2)
#pragma unroll
        for (int i = 0; i < 16; ++i)
            if ((i & half) == 0) {
                const float2 a = v[i], b = v[i + half];
                float s, c;
                sincospif(-static_cast<float>(i & (half - 1)) / half, &s, &c);
                const float2 d = make_float2(a.x - b.x, a.y - b.y);
                v[i] = make_float2(a.x + b.x, a.y + b.y);
                v[i + half] = make_float2(d.x * c - d.y * s, d.x * s + d.y * c);
            }
#pragma unroll
    for (int i = 0; i < 16; ++i) data[i * 32 + threadIdx.x] = v[i];
}

__device__ __forceinline__ float sum_over_block(float value) {
    __shared__ float partial[32];
    for (int offset = 16; offset; offset /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : 0.0f;
    for (int offset = 16; offset; offset /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, offset);
    __syncthreads();
    return value;
}

extern "C" __global__ void normalise_rows(const float* in, const float* weight, float* out, int columns, float epsilon) {
    const float* row = in + static_cast<long long>(blockIdx.x) * columns;
    float mean = 0.0f, square = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) mean += row[i];
    mean = sum_over_block(mean) / columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) square += (row[i] - mean) * (row[i] - mean);
    const float scale = rsqrtf(sum_over_block(square) / columns + epsilon);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[static_cast<long long>(blockIdx.x) * columns + i] = (row[i] - mean) * scale * weight[i];
}

extern "C" __global__ void attention_row(const float* q, const float* k, const float* v, float* out, int length) {
    __shared__ float query[64];
    if (threadIdx.x < 64) query[threadIdx.x] = q[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    float maximum = -__int_as_float(0x7F800000), total = 0.0f, sum[2] = {};
    const int lane = threadIdx.x % 32;
    for (int position = threadIdx.x / 32; position < length; position += blockDim.x / 32) {
        float score = query[lane] * k[position * 64 + lane] + query[lane + 32] * k[position * 64 + lane + 32];
        for (int offset = 16; offset; offset /= 2) score += __shfl_xor_sync(0xFFFFFFFFu, score, offset);
        const float next = fmaxf(maximum, score * 0.125f), correction = __expf(maximum - next), weight = __expf(score * 0.125f - next);
        total = total * correction + weight;
        sum[0] = sum[0] * correction + weight * v[position * 64 + lane];
        sum[1] = sum[1] * correction + weight * v[position * 64 + lane + 32];
        maximum = next;
    }
    atomicAdd(&out[blockIdx.x * 64 + lane], sum[0] / total);
    atomicAdd(&out[blockIdx.x * 64 + lane + 32], sum[1] / total);
}

extern "C" __global__ void spheres(float* image, const float4* spheres_in, int count, int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    const float3 direction = make_float3((x - width * 0.5f) / width, (y - width * 0.5f) / width, 1.0f);
    float nearest = 1e30f;
    for (int i = 0; i < count; ++i) {
        const float4 s = spheres_in[i];
        const float b = direction.x * s.x + direction.y * s.y + direction.z * s.z, c = s.x * s.x + s.y * s.y + s.z * s.z - s.w * s.w, d = b * b - c;
        if (d > 0.0f) nearest = fminf(nearest, b - sqrtf(d));
    }
    image[y * width + x] = nearest < 1e29f ? 1.0f / nearest : 0.0f;
}

extern "C" __global__ void mandelbrot(unsigned char* image, int width, int limit) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const double cr = 3.0 * x / width - 2.0, ci = 3.0 * y / width - 1.5;
    double zr = 0.0, zi = 0.0;
    int steps = 0;
    while (zr * zr + zi * zi < 4.0 && steps < limit) {
        const double t = zr * zr - zi * zi + cr;
        zi = 2.0 * zr * zi + ci;
        zr = t;
        ++steps;
    }
    image[y * width + x] = static_cast<unsigned char>(255 * steps / limit);
}
