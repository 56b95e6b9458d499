// SPDX-License-Identifier: Apache-2.0
// A warp-specialized GEMM for Hopper: C = A · Bᵀ, bf16 in and out, f32 accumulators.
//
// One producer warpgroup fills a ring of pipeline stages by TMA. Two consumer warpgroups multiply 64 x 256 each with wgmma,
// keep one wgmma group in flight, and store through shared memory by TMA. CTAs are persistent: each processes tile after
// tile, in bands of rows, so that concurrent tiles share rows of A and B in L2.
//
// A is M x K and B is N x K, both K-major; their tensor maps have boxes of 64 x 128 and 64 x 256 and the 128-byte swizzle,
// and C's has a box of 64 x 64 and the same swizzle. TMA clips boxes at
// the bounds of the matrices; K is not 0.

namespace hopper {

struct alignas(64) TensorMap { unsigned long long opaque[16]; };

constexpr int kBlockM = 128, kBlockN = 256, kBlockK = 64;
constexpr int kConsumers = kBlockM / 64;
constexpr int kThreads = 128 * (kConsumers + 1);
constexpr int kPanel = 64 * 64;  // elements of a TMA box of C: 64 rows of 128 bytes
constexpr int kBand = 16;        // rows of tiles in a band

template <int Stages>
struct alignas(1024) Storage {
    unsigned short a[Stages][kBlockM * kBlockK];
    unsigned short b[Stages][kBlockN * kBlockK];
    unsigned short c[kConsumers][kBlockN / 64][kPanel];
    unsigned long long full[Stages];
    unsigned long long empty[Stages];
};

extern __shared__ __align__(1024) unsigned char memory[];

__device__ __forceinline__ unsigned address_of(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

// Barriers ------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void initialise(unsigned long long& barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(&barrier)), "r"(arrivals));
}

__device__ __forceinline__ void expect(unsigned long long& barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(&barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void arrive(unsigned long long& barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_of(&barrier)) : "memory");
}

__device__ __forceinline__ void wait(unsigned long long& barrier, int phase) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "AGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra READY;\n"
        "bra AGAIN;\n"
        "READY:\n"
        "}\n" ::"r"(address_of(&barrier)), "r"(phase) : "memory");
}

// A stage is free when every consumer warp has arrived; each waits for its own part of the MMAs.
__device__ __forceinline__ void release(unsigned long long& empty, int thread) {
    if (thread % 32 == 0) arrive(empty);
}

// Current stage of the ring, and the parity of its phase.
template <int Stages>
struct Ring {
    int stage = 0, phase = 0;

    __device__ __forceinline__ void advance() {
        if (++stage == Stages) {
            stage = 0;
            phase ^= 1;
        }
    }
};

// Copies --------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void load(void* to, const TensorMap& map, unsigned long long& barrier, int k, int row) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(address_of(to)), "l"(&map), "r"(address_of(&barrier)), "r"(k), "r"(row)
                 : "memory");
}

__device__ __forceinline__ void store(const TensorMap& map, const void* from, int column, int row) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(address_of(from)), "r"(column), "r"(row) : "memory");
}

// MMA -----------------------------------------------------------------------------------------------------------------

// Rows of 128 bytes, swizzled; a swizzle atom of 8 rows has 1024 bytes.
__device__ __forceinline__ unsigned long long descriptor(const unsigned short* tile) {
    return ((address_of(tile) & 0x3FFFFu) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}

#define EIGHT(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define THIRTY_TWO(d, i) EIGHT(d, i), EIGHT(d, i + 8), EIGHT(d, i + 16), EIGHT(d, i + 24)

// Add a 64 x 256 MMA over K = 16 to d, or overwrite d if Adds is 0.
template <int Adds>
__device__ __forceinline__ void multiply(float (&d)[128], unsigned long long a, unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, %130, 1, 1, 0, 0;"
        : THIRTY_TWO(d, 0), THIRTY_TWO(d, 32), THIRTY_TWO(d, 64), THIRTY_TWO(d, 96)
        : "l"(a), "l"(b), "n"(Adds));
}

// All four MMAs of a stage: 64 of K, 16 at a time.
template <int Adds>
__device__ __forceinline__ void multiply_stage(float (&d)[128], const unsigned short* a, const unsigned short* b) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    multiply<Adds>(d, descriptor(a), descriptor(b));
#pragma unroll
    for (int k = 16; k < kBlockK; k += 16) multiply<1>(d, descriptor(a + k), descriptor(b + k));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int InFlight>
__device__ __forceinline__ void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(InFlight) : "memory");
}

// Tiles ---------------------------------------------------------------------------------------------------------------

struct Tile { int row, column; };

__device__ __forceinline__ Tile tile_at(int number, int rows, int columns) {
    const int in_band = kBand * columns, first = number / in_band * kBand, inside = number % in_band;
    const int height = min(rows - first, kBand);
    return {(first + inside % height) * kBlockM, inside / height * kBlockN};
}

__device__ __forceinline__ unsigned pack(float low, float high) {
    unsigned both;
    asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(both) : "f"(low), "f"(high));
    return both;
}

// Round 64 x 256 to bf16, and store boxes of 64 columns: each lane addresses a row of 16 bytes, at its swizzled offset.
__device__ __forceinline__ void stage_panels(const float (&d)[128], unsigned short (*panels)[kPanel], int thread) {
    const int row = thread / 32 * 16 + thread % 16, chunk = (thread / 16 % 2) ^ (thread % 8);
    const unsigned base = address_of(panels) + row * 128 + chunk * 16;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const unsigned place = (base + i / 4 * (kPanel * 2)) ^ (i % 4 * 32);
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(place), "r"(pack(d[i * 8], d[i * 8 + 1])), "r"(pack(d[i * 8 + 2], d[i * 8 + 3])),
                     "r"(pack(d[i * 8 + 4], d[i * 8 + 5])), "r"(pack(d[i * 8 + 6], d[i * 8 + 7]))
                     : "memory");
    }
}

// Roles ---------------------------------------------------------------------------------------------------------------

template <int Stages>
__device__ __forceinline__ void produce(Storage<Stages>& shared, const TensorMap& a, const TensorMap& b, int rows, int columns, int steps) {
    Ring<Stages> ring;
    for (int number = blockIdx.x; number < rows * columns; number += gridDim.x) {
        const Tile tile = tile_at(number, rows, columns);
#pragma unroll 1
        for (int step = 0; step < steps; ++step, ring.advance()) {
            wait(shared.empty[ring.stage], ring.phase ^ 1);
            expect(shared.full[ring.stage], (kBlockM + kBlockN) * kBlockK * 2);
            load(shared.a[ring.stage], a, shared.full[ring.stage], step * kBlockK, tile.row);
            load(shared.b[ring.stage], b, shared.full[ring.stage], step * kBlockK, tile.column);
        }
    }
}

template <int Stages>
__device__ __forceinline__ void consume(Storage<Stages>& shared, const TensorMap& c, int group, int rows, int columns, int steps) {
    Ring<Stages> ring;
    const int thread = threadIdx.x % 128;
    float d[128];
    for (int number = blockIdx.x; number < rows * columns; number += gridDim.x) {
        const Tile tile = tile_at(number, rows, columns);
        wait(shared.full[ring.stage], ring.phase);
        multiply_stage<0>(d, shared.a[ring.stage] + group * 64 * kBlockK, shared.b[ring.stage]);
        int before = ring.stage;
        ring.advance();
#pragma unroll 1
        for (int step = 1; step < steps; ++step, ring.advance()) {
            wait(shared.full[ring.stage], ring.phase);
            multiply_stage<1>(d, shared.a[ring.stage] + group * 64 * kBlockK, shared.b[ring.stage]);
            wait_for_products<1>();  // of the previous stage
            release(shared.empty[before], thread);
            before = ring.stage;
        }
        wait_for_products<0>();
        release(shared.empty[before], thread);
        if (thread == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // TMA has read the last tile
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
        stage_panels(d, shared.c[group], thread);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
        if (thread == 0) {
#pragma unroll
            for (int panel = 0; panel < kBlockN / 64; ++panel) store(c, shared.c[group][panel], tile.column + panel * 64, tile.row + group * 64);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    if (thread == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

template <int Stages>
__global__ void __launch_bounds__(kThreads, 1) gemm(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, const __grid_constant__ TensorMap c, int M, int N, int K) {
    Storage<Stages>& shared = *reinterpret_cast<Storage<Stages>*>(memory);
    const int rows = (M + kBlockM - 1) / kBlockM, columns = (N + kBlockN - 1) / kBlockN, steps = (K + kBlockK - 1) / kBlockK;
    const int group = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        for (int i = 0; i < Stages; ++i) {
            initialise(shared.full[i], 1);
            initialise(shared.empty[i], kConsumers * 4);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 0) produce(shared, a, b, rows, columns, steps);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        consume(shared, c, group - 1, rows, columns, steps);
    }
}

template __global__ void gemm<3>(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, int, int, int);

}  // namespace hopper
