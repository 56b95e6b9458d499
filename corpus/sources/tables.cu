// SPDX-License-Identifier: Apache-2.0
// Module variables: big initializers, addresses in initializers, arrays of structs, every space and linkage.

struct Entry {
    const char* name;
    double value;
    short code[3];
    bool enabled;
};

struct Node {
    int key;
    const Node* next;
    const int* payload;
};

#define ROW_OF_8(n) (n), (n) * 3 + 1, (n) * 5 + 2, (n) * 7 + 3, (n) * 11 + 4, (n) * 13 + 5, (n) * 17 + 6, (n) * 19 + 7
#define ROW_OF_64(n) ROW_OF_8(n), ROW_OF_8(n + 8), ROW_OF_8(n + 16), ROW_OF_8(n + 24), ROW_OF_8(n + 32), ROW_OF_8(n + 40), ROW_OF_8(n + 48), ROW_OF_8(n + 56)
#define ROW_OF_512(n) ROW_OF_64(n), ROW_OF_64(n + 64), ROW_OF_64(n + 128), ROW_OF_64(n + 192), ROW_OF_64(n + 256), ROW_OF_64(n + 320), ROW_OF_64(n + 384), ROW_OF_64(n + 448)

__constant__ unsigned hash_table[1024] = {ROW_OF_512(0u), ROW_OF_512(512u)};
__device__ short wave[512] = {ROW_OF_512(-256)};
__constant__ float kernel_weights[3][5] = {{0.1f, -0.25f, 1e-30f, 3.4e38f, -0.0f}, {1, 2, 3, 4, 5}, {0.333333f}};
__constant__ double roots[4] = {1.4142135623730951, -1.7320508075688772, 2.23606797749979, __builtin_huge_val()};
__device__ const char message[] = "tables \"hold\" text\n";
__device__ int storage[8] = {1, -2, 3, -4, 5, -6, 7, -8};
__device__ int* middle = &storage[4];
__device__ const Node third = {3, nullptr, &storage[2]};
__device__ const Node second = {2, &third, storage};
__device__ Node first = {1, &second, &storage[7]};
__constant__ Entry entries[] = {{"alpha", 0.5, {1, 2, 3}, true}, {"beta", -2.5e10, {-4, 5, 0}, false}, {message, 0.0, {}, true}};
__device__ unsigned char zeros[4096];
static __device__ long long counter = -9223372036854775807LL - 1;
__device__ ulonglong2 pairs[2] = {{0xFFFFFFFFFFFFFFFFull, 1}, {2, 0x8000000000000000ull}};
__device__ bool flags[5] = {true, false, true};
__device__ __align__(256) unsigned char aligned_page[256] = {255, 254};

extern "C" __global__ void look_up(unsigned* out, int which, int row) {
    const int i = threadIdx.x;
    unsigned result = hash_table[i & 1023] ^ static_cast<unsigned>(wave[i & 511]);
    result += static_cast<unsigned>(kernel_weights[row][i % 5] * static_cast<float>(roots[i & 3]));
    result += message[i % sizeof(message)] + *middle + pairs[i & 1].y + flags[i % 5] + aligned_page[i];
    const Entry& entry = entries[which];
    result += entry.enabled ? entry.name[0] + entry.code[i % 3] : static_cast<unsigned>(entry.value);
    for (const Node* node = &first; node != nullptr; node = node->next) result += node->key * *node->payload;
    zeros[i] = static_cast<unsigned char>(result);
    atomicAdd(reinterpret_cast<unsigned long long*>(&counter), 1ull);
    out[i] = result;
}

__device__ float lookup_local(int i) {
    const float local_table[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};
    return local_table[i];
}

extern "C" __global__ void squares(float* out) { out[threadIdx.x] = lookup_local(threadIdx.x & 15); }
