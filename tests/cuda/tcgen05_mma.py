"""CUDA C++ for tcgen05.mma with scale factors, sparsity metadata and small elements, as in user code.

`cuda::ptx` functions are called where they exist; block-scaled and sparse MMAs, which `cuda::ptx` lacks, are inline
assembly. Matrices in shared memory are K-major without a swizzle: 16-byte chunks, contiguous over the rows. The
kernel with 48-byte rows uses the 128-byte swizzle.
"""

from __future__ import annotations

PRELUDE = """
#include <cuda/ptx>
#include <cstdint>
namespace ptx = cuda::ptx;

#if GROUP == 2
constexpr auto group = ptx::cta_group_2;
#define KERNEL extern "C" __global__ void __cluster_dims__(2, 1, 1)
#else
constexpr auto group = ptx::cta_group_1;
#define KERNEL extern "C" __global__ void
#endif

__shared__ alignas(8) uint64_t bar;
__shared__ uint32_t base;
extern __shared__ __align__(1024) uint8_t shared[];

__device__ uint32_t rank() { return GROUP == 2 ? ptx::get_sreg_cluster_ctarank() : 0; }

__device__ uint64_t descriptor(const uint8_t *at, uint32_t leading) {
    uint64_t start = __cvta_generic_to_shared(at);
    return (start & 0x3FFFF) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(128 >> 4) << 32 | 1ull << 46;
}

// Rows of `bytes`, taken out of rows of `pitch`, chunk by chunk.
__device__ void stage(uint8_t *to, const uint8_t *from, int rows, int bytes, int pitch) {
    for (int i = threadIdx.x; i < rows * bytes; i += blockDim.x) {
        int row = i / bytes, byte = i % bytes;
        to[byte / 16 * rows * 16 + row * 16 + byte % 16] = from[row * pitch + byte];
    }
}

// Blocks of 128 rows by 4 factors, 512 bytes each, as cuBLAS has them: blocks of rows first, filled up with zeros.
__device__ void stage_factors(uint8_t *to, const uint8_t *from, int rows, int factors) {
    int blocks = (rows + 127) / 128;
    for (int i = threadIdx.x; i < blocks * 128 * ((factors + 3) / 4 * 4); i += blockDim.x) {
        int block = i / 512, j = block / blocks * 4 + i % 4;
        int row = block % blocks * 128 + i % 16 / 4 * 32 + i % 512 / 16;
        to[i] = row < rows && j < factors ? from[row * factors + j] : 0;
    }
}

__device__ void begin() {
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
#if GROUP == 2
    ptx::barrier_cluster_arrive();  // an allocation of a pair needs both CTAs
    ptx::barrier_cluster_wait();
#endif
    if (threadIdx.x < 32) {
        ptx::tcgen05_alloc(group, &base, 512);
        ptx::tcgen05_relinquish_alloc_permit(group);
    }
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::tcgen05_fence_before_thread_sync();
#if GROUP == 2
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
#endif
    __syncthreads();
    ptx::tcgen05_fence_after_thread_sync();
}

__device__ void commit() {
#if GROUP == 2
    ptx::tcgen05_commit_multicast(group, &bar, 3);
#else
    ptx::tcgen05_commit(group, &bar);
#endif
}

__device__ void wait() {
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    ptx::tcgen05_fence_after_thread_sync();
}

__device__ void end() {
    ptx::tcgen05_fence_before_thread_sync();
    __syncthreads();
#if GROUP == 2
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
#endif
    if (threadIdx.x < 32) ptx::tcgen05_dealloc(group, base, 512);
}

__device__ uint32_t own_lanes() { return threadIdx.x / 32 * 32 << 16; }

// A lane's `columns` columns, from `column` of tensor memory on.
__device__ void load(uint32_t *to, uint32_t column, int columns) {
    for (int n = 0; n < columns; n += 8) {
        uint32_t words[8];
        ptx::tcgen05_ld_32x32b(words, base + column + n + own_lanes());
        ptx::tcgen05_wait_ld();
        for (int i = 0; i < 8; ++i) to[n + i] = words[i];
    }
}
"""

SCALED = (
    PRELUDE
    + """
constexpr int ROWS = M / GROUP, COLS = N / GROUP;  // of A and of B in this block's shared memory
constexpr bool HALVES = M == 128 && GROUP == 2;    // the columns of D lie in two halves of the lanes
constexpr int WIDTH = HALVES ? N / 2 : N;
constexpr int BLOCKS_A = 1, BLOCKS_B = (N + 127) / 128;
constexpr int GROUPS = (STEPS * FACTORS + 3) / 4;
constexpr int PITCH = STEPS * 32;

// 32 rows for each half of the columns, as a copy for pairs of warps takes them.
__device__ void stage_halves(uint8_t *to, const uint8_t *from, int factors) {
    for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) {
        int inside = i % 16 / 4 * 32 + i / 16 % 32, j = i % 4;
        to[i] = inside < N / 2 && j < factors ? from[(i / 512 * (N / 2) + inside) * factors + j] : 0;
    }
}

KERNEL product(const uint8_t *a, const uint8_t *b, const uint8_t *scale_a, const uint8_t *scale_b, uint32_t *d) {
    uint8_t *shared_a = shared, *shared_b = shared_a + ROWS * PITCH;
    uint8_t *factors_a = shared_b + COLS * PITCH, *factors_b = factors_a + GROUPS * BLOCKS_A * 512;
    stage(shared_a, a + rank() * ROWS * PITCH, ROWS, PITCH, PITCH);
    stage(shared_b, b + rank() * COLS * PITCH, COLS, PITCH, PITCH);
    stage_factors(factors_a, scale_a + rank() * ROWS * STEPS * FACTORS, ROWS, STEPS * FACTORS);
    if (HALVES) stage_halves(factors_b, scale_b, STEPS * FACTORS);
    else stage_factors(factors_b, scale_b, N, STEPS * FACTORS);
    begin();
    uint32_t tmem_a = base + 256, tmem_b = tmem_a + GROUPS * BLOCKS_A * 4;
    if (threadIdx.x == 0 && rank() == 0) {
        for (int i = 0; i < GROUPS * BLOCKS_A; ++i)
            ptx::tcgen05_cp_32x128b_warpx4(group, tmem_a + 4 * i, descriptor(factors_a + 512 * i, 0));
        if (HALVES) ptx::tcgen05_cp_64x128b_warpx2_01_23(group, tmem_b, descriptor(factors_b, 0));
        else
            for (int i = 0; i < GROUPS * BLOCKS_B; ++i)
                ptx::tcgen05_cp_32x128b_warpx4(group, tmem_b + 4 * i, descriptor(factors_b + 512 * i, 0));
        for (int step = 0; step < STEPS; ++step) {
            uint32_t first = step * FACTORS, id = first % 4;
            uint64_t matrix_a = descriptor(shared_a + step * ROWS * 32, ROWS * 16);
            uint64_t matrix_b = descriptor(shared_b + step * COLS * 32, COLS * 16);
            asm volatile("{.reg .pred p; setp.ne.u32 p, %6, 0; tcgen05.mma." OPCODE
                         " [%0], %1, %2, %3, [%4], [%5], p;}"
                         :: "r"(base), "l"(matrix_a), "l"(matrix_b), "r"(IDESC | id << 4 | id << 29),
                            "r"(tmem_a + first / 4 * BLOCKS_A * 4), "r"(tmem_b + first / 4 * BLOCKS_B * 4), "r"(step)
                         : "memory");
        }
        commit();
    }
    wait();
    int row = rank() * ROWS + threadIdx.x % ROWS;
    load(d + row * N + threadIdx.x / ROWS * WIDTH, 0, WIDTH);
    end();
}
"""
)

DEEP = (
    PRELUDE
    + """
// K = 96: eight products take 48 bytes each out of three rows of 128, in the swizzle of 128 bytes.
constexpr int STEPS = 8, BUFFERS = 3;
constexpr int BLOCKS_B = (N + 127) / 128;
constexpr int GROUPS = STEPS * FACTORS / 4;

__device__ void stage_rows(uint8_t *to, const uint8_t *from, int rows) {
    for (int i = threadIdx.x; i < rows * 128 * BUFFERS; i += blockDim.x) {
        int row = i / (128 * BUFFERS), byte = i % (128 * BUFFERS);
        int buffer = byte / 128, chunk = byte % 128 / 16;
        to[(buffer * rows + row) * 128 + (chunk ^ row % 8) * 16 + byte % 16] = from[i];
    }
}

__device__ uint64_t wide_descriptor(const uint8_t *matrix, int rows, int step) {
    int byte = step * 48, next = (byte + 47) / 128;
    uint64_t start = __cvta_generic_to_shared(matrix + byte / 128 * rows * 128 + byte % 128);
    uint64_t following = __cvta_generic_to_shared(matrix + next * rows * 128);
    return (start & 0x3FFFF) >> 4 | ((following & 0x3FFFF) >> 4) << 16 | uint64_t(1024 >> 4) << 32 | 1ull << 46 |
           1ull << 52 | 2ull << 61;
}

KERNEL product(const uint8_t *a, const uint8_t *b, const uint8_t *scale_a, const uint8_t *scale_b, uint32_t *d) {
    uint8_t *shared_a = shared, *shared_b = shared_a + 128 * 128 * BUFFERS;
    uint8_t *factors_a = shared_b + N * 128 * BUFFERS, *factors_b = factors_a + GROUPS * 512;
    stage_rows(shared_a, a, 128);
    stage_rows(shared_b, b, N);
    stage_factors(factors_a, scale_a, 128, STEPS * FACTORS);
    stage_factors(factors_b, scale_b, N, STEPS * FACTORS);
    begin();
    uint32_t tmem_a = base + 256, tmem_b = tmem_a + GROUPS * 4;
    if (threadIdx.x == 0) {
        for (int i = 0; i < GROUPS; ++i)
            ptx::tcgen05_cp_32x128b_warpx4(group, tmem_a + 4 * i, descriptor(factors_a + 512 * i, 0));
        for (int i = 0; i < GROUPS * BLOCKS_B; ++i)
            ptx::tcgen05_cp_32x128b_warpx4(group, tmem_b + 4 * i, descriptor(factors_b + 512 * i, 0));
        for (int step = 0; step < STEPS; ++step) {
            uint32_t first = step * FACTORS, id = first % 4;
            asm volatile("{.reg .pred p; setp.ne.u32 p, %6, 0; tcgen05.mma." OPCODE
                         " [%0], %1, %2, %3, [%4], [%5], p;}"
                         :: "r"(base), "l"(wide_descriptor(shared_a, 128, step)),
                            "l"(wide_descriptor(shared_b, N, step)), "r"(IDESC | id << 4 | id << 29),
                            "r"(tmem_a + first / 4 * 4), "r"(tmem_b + first / 4 * BLOCKS_B * 4), "r"(step)
                         : "memory");
        }
        commit();
    }
    wait();
    load(d + threadIdx.x * N, 0, N);
    end();
}
"""
)

SPARSE = (
    PRELUDE
    + """
constexpr int CODES = 32;  // of a row: four columns of tensor memory
constexpr bool HALF = M == 64 && !STATIONARY;  // 16 lanes of each warp, from LANE on
constexpr int WIDTH = STATIONARY ? N * M / 128 : N;

// The word of a lane of the M that hold metadata.
__device__ uint32_t word(const uint8_t *codes, int lane, int column) {
    uint32_t found = 0;
    for (int i = 0; i < 8; ++i) {
        int row = BANDED ? lane / 16 * 16 + lane % 8 + i / 4 * 8 : lane;
        int chunk = column * 8 + (BANDED ? lane / 8 % 2 * 4 + i % 4 : i);
        found |= uint32_t(codes[row * CODES + chunk]) << 4 * i;
    }
    return found;
}

KERNEL product(const uint8_t *a, const uint8_t *b, const uint8_t *codes, uint32_t *d) {
    uint8_t *shared_a = shared, *shared_b = shared_a + M * STEPS * 32, *metadata = shared_b + N * STEPS * 64;
    stage(shared_a, a, M, STEPS * 32, STEPS * 32);
    stage(shared_b, b, N, STEPS * 64, STEPS * 64);
    uint32_t words[4], factors[8];
    int lane = HALF ? threadIdx.x / 32 * 16 + threadIdx.x % 16 : threadIdx.x % M;
    for (int i = 0; i < 4; ++i) words[i] = word(codes, lane, i);
    for (int i = 0; i < 4; ++i) ((uint32_t *)metadata)[threadIdx.x * 4 + i] = words[i];
    for (int i = 0; i < 8; ++i) factors[i] = i < 4 ? 0x7F7F7F7F : 0x80808080;  // 1 for A, 2 for B
    begin();
    uint32_t tmem = base + 256 + (LANE << 16), sums = base + (LANE << 16);
    if (!COPIED) ptx::tcgen05_st_32x32b(base + 256 + own_lanes(), words);
    ptx::tcgen05_st_32x32b(base + 264 + own_lanes(), factors);
    ptx::tcgen05_wait_st();
    ptx::tcgen05_fence_before_thread_sync();
    __syncthreads();
    ptx::tcgen05_fence_after_thread_sync();
    if (threadIdx.x == 0) {
        if (COPIED) ptx::tcgen05_cp_128x128b(group, tmem, descriptor(metadata, 0));
        for (int step = 0; step < STEPS; ++step) {
            uint32_t columns = BANDED ? step / 2 * 2 : step * 2, selector = BANDED ? step % 2 : 0;
            asm volatile("{.reg .pred p; setp.ne.u32 p, %5, 0; tcgen05.mma." OPCODE " [%0], %1, %2, [%3], %4,"
#ifdef FACTORS
                         " [%6], [%7],"
#endif
                         " p;}"
                         :: "r"(sums), "l"(descriptor(shared_a + step * M * 32, M * 16)),
                            "l"(descriptor(shared_b + step * N * 64, N * 16)), "r"(tmem + columns),
                            "r"(IDESC | selector), "r"(step), "r"(base + 264), "r"(base + 268)
                         : "memory");
        }
        commit();
    }
    wait();
    uint32_t found[WIDTH];
    load(found, 0, WIDTH);
    int row = HALF ? lane : threadIdx.x % M, first = HALF ? 0 : threadIdx.x / M * WIDTH;
    if (!HALF || threadIdx.x % 32 / 16 == LANE / 16)
        for (int n = 0; n < WIDTH; ++n) d[row * N + first + n] = found[n];
    end();
}
"""
)

DECOMPRESSED = (
    PRELUDE
    + """
// A goes to tensor memory, a byte for each element.
KERNEL product(const uint8_t *a, const uint8_t *b, uint32_t *d) {
    uint8_t *shared_a = shared, *shared_b = shared_a + 128 * STEPS * 32;
    stage(shared_a, a, 128, STEPS * 32, STEPS * 32);
    stage(shared_b, b, N, STEPS * 32, STEPS * 32);
    begin();
    uint32_t tmem = base + 256;
    if (threadIdx.x == 0) {
        for (int step = 0; step < STEPS; ++step)
            ptx::COPY(group, tmem + 8 * step, descriptor(shared_a + step * 128 * 32, 128 * 16));
        for (int step = 0; step < STEPS; ++step)
            ptx::tcgen05_mma_tmem_a(ptx::kind_f8f6f4, group, base, tmem + 8 * step,
                                    descriptor(shared_b + step * N * 32, N * 16), IDESC, step != 0);
        commit();
    }
    wait();
    load(d + threadIdx.x * N, 0, N);
    end();
}
"""
)

SHIFTED = (
    PRELUDE
    + """
// Every warp's lanes move down by one row, and one of each, number FILLED, is filled from shared memory.
KERNEL shift(const uint32_t *x, const uint32_t *last, uint32_t *y) {
    for (int i = threadIdx.x; i < 4 * 8; i += blockDim.x)
        ((uint32_t *)shared)[i % 8 / 4 * 32 + i / 8 * 4 + i % 4] = last[i];  // chunks 128 bytes apart
    begin();
    uint32_t words[8];
    for (int i = 0; i < 8; ++i) words[i] = x[threadIdx.x * 8 + i];
    ptx::tcgen05_st_32x32b(base + own_lanes(), words);
    ptx::tcgen05_wait_st();
    ptx::tcgen05_fence_before_thread_sync();
    __syncthreads();
    ptx::tcgen05_fence_after_thread_sync();
    if (threadIdx.x == 0) {
        for (uint32_t warp = 0; warp < 4; ++warp) ptx::tcgen05_shift_down(group, base + (warp * 32 << 16));
#ifdef FILLED
        ptx::tcgen05_cp_4x256b(group, base + (FILLED << 16), descriptor(shared, 128));
#endif
        commit();
    }
    wait();
    load(y + threadIdx.x * 8, 0, 8);
    end();
}
"""
)
