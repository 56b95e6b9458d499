// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects in every dimensionality and access mode.

extern "C" __global__ void sample_one_and_two(cudaTextureObject_t texture, float4* out, float2 at) {
    float4 sum = tex1D<float4>(texture, at.x);
    const float4 b = tex2D<float4>(texture, at.x, at.y), c = tex1Dfetch<float4>(texture, threadIdx.x);
    sum.x += b.x + c.w;
    sum.y += tex1DLod<float4>(texture, at.x, 2.0f).y + tex1DGrad<float4>(texture, at.x, 0.1f, 0.2f).z;
    sum.z += tex2DLod<float4>(texture, at.x, at.y, 1.5f).x;
    sum.w += tex2DGrad<float4>(texture, at.x, at.y, make_float2(0.1f, 0.2f), make_float2(0.3f, 0.4f)).w;
    out[threadIdx.x] = sum;
}

extern "C" __global__ void sample_volumes(cudaTextureObject_t texture, int4* out, float3 at) {
    const int4 a = tex3D<int4>(texture, at.x, at.y, at.z);
    const uint4 b = tex3DLod<uint4>(texture, at.x, at.y, at.z, 0.5f);
    out[threadIdx.x] = make_int4(a.x + b.y, a.y, a.z, a.w);
    out[threadIdx.x + 32] = tex3DGrad<int4>(texture, at.x, at.y, at.z, make_float4(1, 2, 3, 0), make_float4(4, 5, 6, 0));
}

extern "C" __global__ void sample_layers(cudaTextureObject_t texture, float* out, float2 at, int layer) {
    out[0] = tex1DLayered<float>(texture, at.x, layer);
    out[1] = tex2DLayered<float2>(texture, at.x, at.y, layer).y;
    out[2] = tex1DLayeredLod<float>(texture, at.x, layer, 1.0f);
    out[3] = tex2DLayeredGrad<float>(texture, at.x, at.y, layer, make_float2(0, 1), make_float2(1, 0));
}

extern "C" __global__ void sample_cubes(cudaTextureObject_t texture, float* out, float3 at, int layer) {
    out[0] = texCubemap<float>(texture, at.x, at.y, at.z);
    out[1] = texCubemapLayered<float>(texture, at.x, at.y, at.z, layer);
    out[2] = texCubemapLod<float>(texture, at.x, at.y, at.z, 0.0f);
}

extern "C" __global__ void gather_corners(cudaTextureObject_t texture, float4* out, float2 at) {
    out[0] = tex2Dgather<float4>(texture, at.x, at.y, 0);
    out[1] = tex2Dgather<float4>(texture, at.x, at.y, 1);
    out[2] = tex2Dgather<float4>(texture, at.x, at.y, 2);
    out[3] = tex2Dgather<float4>(texture, at.x, at.y, 3);
}

extern "C" __global__ void copy_surfaces(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int x, int y, int z) {
    surf1Dwrite(surf1Dread<unsigned char>(in, x), out, x);
    surf1Dwrite(surf1Dread<short2>(in, x, cudaBoundaryModeClamp), out, x, cudaBoundaryModeZero);
    surf2Dwrite(surf2Dread<float4>(in, x * 16, y), out, x * 16, y);
    surf2Dwrite(surf2Dread<uint2>(in, x * 8, y, cudaBoundaryModeZero), out, x * 8, y, cudaBoundaryModeClamp);
    surf3Dwrite(surf3Dread<int>(in, x * 4, y, z), out, x * 4, y, z);
    surf1DLayeredwrite(surf1DLayeredread<float>(in, x * 4, z), out, x * 4, z);
    surf2DLayeredwrite(surf2DLayeredread<longlong2>(in, x * 16, y, z), out, x * 16, y, z);
    surfCubemapwrite(surfCubemapread<ushort4>(in, x * 8, y, z), out, x * 8, y, z);
}

extern "C" __global__ void query_and_formatted_surfaces(unsigned long long texture, unsigned long long surface, int* out, int x, int y) {
    int width, height;
    asm volatile("txq.width.b32 %0, [%1];" : "=r"(width) : "l"(texture));
    asm volatile("suq.height.b32 %0, [%1];" : "=r"(height) : "l"(surface));
    asm volatile("sust.p.2d.b32.trap [%0, {%1, %2}], {%3};" ::"l"(surface), "r"(x), "r"(y), "r"(width) : "memory");
    asm volatile("sured.b.add.2d.u32.clamp [%0, {%1, %2}], %3;" ::"l"(surface), "r"(x), "r"(y), "r"(height) : "memory");
    out[0] = width + height;
}
