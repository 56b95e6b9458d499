// SPDX-License-Identifier: Apache-2.0
// Integer work: SHA-256, a counter-based generator, CRC tables and a sorting network.

__constant__ unsigned round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ __forceinline__ unsigned rotate_right(unsigned x, int n) { return (x >> n) | (x << (32 - n)); }

extern "C" __global__ void sha256_block(unsigned* state, const unsigned* message) {
    unsigned w[64], h[8];
    const unsigned* words = message + threadIdx.x * 16;
#pragma unroll
    for (int i = 0; i < 16; ++i) w[i] = __byte_perm(words[i], 0, 0x0123);
#pragma unroll
    for (int i = 16; i < 64; ++i) {
        const unsigned s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ (w[i - 15] >> 3);
        const unsigned s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    for (int i = 0; i < 8; ++i) h[i] = state[threadIdx.x * 8 + i];
#pragma unroll
    for (int i = 0; i < 64; ++i) {
        const unsigned s1 = rotate_right(h[4], 6) ^ rotate_right(h[4], 11) ^ rotate_right(h[4], 25), choice = (h[4] & h[5]) ^ (~h[4] & h[6]);
        const unsigned t1 = h[7] + s1 + choice + round_constants[i] + w[i];
        const unsigned s0 = rotate_right(h[0], 2) ^ rotate_right(h[0], 13) ^ rotate_right(h[0], 22), majority = (h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]);
        for (int j = 7; j > 0; --j) h[j] = h[j - 1];
        h[4] += t1;
        h[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; ++i) state[threadIdx.x * 8 + i] += h[i];
}

extern "C" __global__ void counter_based_random(float4* out, unsigned seed, unsigned count) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        uint4 c = make_uint4(i, 0, 0, 0);
        uint2 key = make_uint2(seed, 0x9E3779B9u);
#pragma unroll
        for (int round = 0; round < 10; ++round) {
            const unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x, high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
            c = make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
            key.x += 0x9E3779B9u;
            key.y += 0xBB67AE85u;
        }
        out[i] = make_float4(c.x * 2.3283064e-10f, c.y * 2.3283064e-10f, c.z * 2.3283064e-10f, c.w * 2.3283064e-10f);
    }
}

extern "C" __global__ void bitonic_sort(unsigned long long* data) {
    __shared__ unsigned long long keys[512];
    keys[threadIdx.x] = data[threadIdx.x];
    for (int size = 2; size <= 512; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const int partner = threadIdx.x ^ stride;
            if (partner > threadIdx.x && ((keys[threadIdx.x] > keys[partner]) == ((threadIdx.x & size) == 0))) {
                const unsigned long long kept = keys[threadIdx.x];
                keys[threadIdx.x] = keys[partner];
                keys[partner] = kept;
            }
        }
    __syncthreads();
    data[threadIdx.x] = keys[threadIdx.x];
}
