// Textures and surfaces.

// Bilinear samples of an image rotated about its center.
extern "C" __global__ void turned(cudaTextureObject_t picture, float *out, int width, int height, float angle) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = (x + 0.5f) / width - 0.5f, v = (y + 0.5f) / height - 0.5f, c = cosf(angle), s = sinf(angle);
    out[y * width + x] = tex2D<float>(picture, u * c - v * s + 0.5f, v * c + u * s + 0.5f);
}

// Table lookups by integer index, some of them out of range.
extern "C" __global__ void looked_up(cudaTextureObject_t table, const int *at, int2 *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int2 entry = tex1Dfetch<int2>(table, at[i]);
    out[i] = make_int2(entry.y, entry.x);
}

// 3 x 3 means from surface to surface, clamped at the edges.
extern "C" __global__ void blurred(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x, y = blockIdx.x, sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            sum += surf2Dread<unsigned char>(from, x + dx, y + dy, cudaBoundaryModeClamp);
    surf2Dwrite<unsigned char>(sum / 9, to, x, y);
}

// Edge filter on an image of bytes, read as normalized floats, with wrap addressing.
extern "C" __global__ void edges(cudaTextureObject_t picture, cudaSurfaceObject_t out, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    auto at = [&](int dx, int dy) { return tex2D<float>(picture, (x + dx + 0.5f) / width, (y + dy + 0.5f) / height); };
    surf2Dwrite(fabsf(at(1, 0) - at(-1, 0)) + fabsf(at(0, 1) - at(0, -1)), out, x * int(sizeof(float)), y);
}

// A volume, sampled halfway between texels along z.
extern "C" __global__ void between_slices(cudaTextureObject_t volume, float *out) {
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    out[(z * blockDim.y + y) * blockDim.x + x] = tex3D<float>(volume, x + 0.5f, y + 0.5f, z + 1.0f);
}

// One pixel of each layer, the layers in reverse.
extern "C" __global__ void layers_reversed(cudaTextureObject_t layers, cudaSurfaceObject_t out, int count) {
    int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
    float4 pixel = tex2DLayered<float4>(layers, x + 0.5f, y + 0.5f, count - 1 - layer);
    surf2DLayeredwrite(pixel, out, x * int(sizeof(float4)), y, layer);
}

// Minimum of the four texels around each corner.
extern "C" __global__ void gathered(cudaTextureObject_t picture, float *out) {
    int x = threadIdx.x, y = blockIdx.x;
    float4 around = tex2Dgather<float4>(picture, x + 1.0f, y + 1.0f, 0);
    out[y * blockDim.x + x] = fminf(fminf(around.x, around.y), fminf(around.z, around.w));
}
