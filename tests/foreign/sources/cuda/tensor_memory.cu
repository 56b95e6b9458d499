// Tensor memory with cuda::ptx: tcgen05.mma of every kind, copies, loads and stores in every shape.
#include <cuda/ptx>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ptx = cuda::ptx;
using u32 = unsigned;
using u64 = unsigned long long;

struct Room {
  uint64_t done;
  u32 base;
};

__device__ u32 shared_address(const void *at) { return static_cast<u32>(__cvta_generic_to_shared(at)); }

// Store a matrix with rows of `bytes` as core matrices (8 rows x 16 bytes); those of one 16-byte column are contiguous.
__device__ void stage(char *to, const char *from, int rows, int bytes) {
  for (int e = threadIdx.x; e < rows * bytes / 16; e += blockDim.x)
    *reinterpret_cast<uint4 *>(to + e * 16) = *reinterpret_cast<const uint4 *>(from + e % rows * bytes + e / rows * 16);
}

__device__ u64 described(const char *at, int rows) {
  return u64(shared_address(at) >> 4 & 0x3fff) | u64(rows) << 16 | u64(8) << 32 | u64(1) << 46;
}

__device__ constexpr u32 instruction(int d, int a, int b, int m, int n) {
  return d << 4 | a << 7 | b << 10 | n >> 3 << 17 | m >> 4 << 24;
}

// cuda::ptx has elect_sync since CCCL 3.
__device__ bool elected() {
  u32 chosen;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen)::"memory");
  return chosen;
}

__device__ bool one_of_the_first_warp() { return threadIdx.x < 32 && elected(); }

template <typename Group>
__device__ void begin(Room &room, Group group, u32 columns, u32 count = 1) {
  if (threadIdx.x < 32) {
    ptx::tcgen05_alloc(group, &room.base, columns);
    ptx::tcgen05_relinquish_alloc_permit(group);
  }
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&room.done, count);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  ptx::fence_proxy_async(ptx::space_shared);
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
}

template <typename Group>
__device__ void end(Room &room, Group group, u32 columns) {
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) ptx::tcgen05_dealloc(group, room.base, columns);
}

__device__ void wait(Room &room, u32 parity = 0) {
  while (!ptx::mbarrier_try_wait_parity(&room.done, parity)) {
  }
  ptx::tcgen05_fence_after_thread_sync();
}

__device__ u32 lanes_of_this_warp(const Room &room) { return room.base + (threadIdx.x / 32 % 4 << 21); }

template <int N, typename T>
__device__ void stored(T *to, const u32 (&values)[N]) {
  for (int i = 0; i < N; i++) reinterpret_cast<u32 *>(to)[i] = values[i];
}

// N accumulator columns of the 128 lanes; each thread stores a row.
template <int N>
__device__ void stored_sums(u32 *c, const Room &room) {
  u32 values[N];
  ptx::tcgen05_ld_32x32b(values, lanes_of_this_warp(room));
  ptx::tcgen05_wait_ld();
  stored(c + threadIdx.x * N, values);
}

// D = A · B with a K-major B: 128 rows, or 64.
template <ptx::dot_kind KIND, int M, int N, int BYTES>
__device__ void multiplied(u32 idesc, const char *a, const char *b, u32 *c) {
  __shared__ alignas(128) char left[M * BYTES], right[N * BYTES];
  __shared__ Room room;
  stage(left, a, M, BYTES);
  stage(right, b, N, BYTES);
  begin(room, ptx::cta_group_1, N);
  if (one_of_the_first_warp()) {
    for (int k = 0; k < BYTES / 32; k++)
      ptx::tcgen05_mma<KIND>(ptx::kind_t<KIND>(), ptx::cta_group_1, room.base, described(left + k * M * 32, M),
                       described(right + k * N * 32, N), idesc, k > 0);
    ptx::tcgen05_commit(ptx::cta_group_1, &room.done);
  }
  wait(room);
  if constexpr (M == 128) {
    stored_sums<N>(c, room);
  } else {
    u32 values[N / 2];
    ptx::tcgen05_ld_16x32bx2(values, lanes_of_this_warp(room), ptx::n32_t<N / 2>());
    ptx::tcgen05_wait_ld();
    stored(c + (threadIdx.x / 32 * 16 + threadIdx.x % 16) * N + threadIdx.x % 32 / 16 * (N / 2), values);
  }
  end(room, ptx::cta_group_1, N);
}

extern "C" __global__ void half_128(const char *a, const char *b, u32 *c) {
  multiplied<ptx::dot_kind::f16, 128, 64, 128>(instruction(1, 0, 0, 128, 64), a, b, c);
}
extern "C" __global__ void bfloat16_64(const char *a, const char *b, u32 *c) {
  multiplied<ptx::dot_kind::f16, 64, 64, 128>(instruction(1, 1, 1, 64, 64), a, b, c);
}
extern "C" __global__ void tf32_128(const char *a, const char *b, u32 *c) {
  multiplied<ptx::dot_kind::tf32, 128, 32, 128>(instruction(1, 2, 2, 128, 32), a, b, c);
}
extern "C" __global__ void narrow_128(const char *a, const char *b, u32 *c) {
  multiplied<ptx::dot_kind::f8f6f4, 128, 32, 128>(instruction(1, 0, 1, 128, 32), a, b, c);
}
extern "C" __global__ void int8_128(const char *a, const char *b, u32 *c) {
  multiplied<ptx::dot_kind::i8, 128, 32, 128>(instruction(2, 1, 1, 128, 32), a, b, c);
}

// Each warp issues the MMAs of a quarter of B, and has its own accumulator columns.
extern "C" __global__ void product_of_each_warp(const char *a, const char *b, u32 *c) {
  constexpr int N = 64, PART = N / 4, BYTES = 128;
  __shared__ alignas(128) char left[128 * BYTES], right[4][PART * BYTES];
  __shared__ Room room;
  stage(left, a, 128, BYTES);
  for (int i = 0; i < 4; i++) stage(right[i], b + i * PART * BYTES, PART, BYTES);
  begin(room, ptx::cta_group_1, N, 4);
  u32 warp = threadIdx.x / 32;
  if (elected()) {
    for (int k = 0; k < BYTES / 32; k++)
      ptx::tcgen05_mma<ptx::dot_kind::f16>(ptx::kind_f16, ptx::cta_group_1, room.base + warp * PART,
                       described(left + k * 128 * 32, 128), described(right[warp] + k * PART * 32, PART),
                       instruction(1, 0, 0, 128, PART), k > 0);
    ptx::tcgen05_commit(ptx::cta_group_1, &room.done);
  }
  wait(room);
  stored_sums<N>(c, room);
  end(room, ptx::cta_group_1, N);
}

// f16 accumulators: one per word of tensor memory, two per register; with scale-input-d (1/4) and disable-output-lane.
extern "C" __global__ void sums_in_half(const char *a, const char *b, const u32 *before, u32 *c) {
  constexpr int N = 64, BYTES = 32;
  __shared__ alignas(128) char left[128 * BYTES], right[N * BYTES];
  __shared__ Room room;
  stage(left, a, 128, BYTES);
  stage(right, b, N, BYTES);
  begin(room, ptx::cta_group_1, N);
  u32 values[N / 2];
  for (int i = 0; i < N / 2; i++) values[i] = before[threadIdx.x * (N / 2) + i];
  ptx::tcgen05_st_32x32b_unpack_16b(lanes_of_this_warp(room), values);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  if (one_of_the_first_warp()) {
    const u32 without[4] = {0, 0xffff0000, 0, 0xf};
    ptx::tcgen05_mma(ptx::kind_f16, ptx::cta_group_1, room.base, described(left, 128), described(right, N),
                     instruction(0, 0, 0, 128, N), without, true, ptx::n32_t<2>());
    ptx::tcgen05_commit(ptx::cta_group_1, &room.done);
  }
  wait(room);
  ptx::tcgen05_ld_32x32b_pack_16b(values, lanes_of_this_warp(room));
  ptx::tcgen05_wait_ld();
  stored(c + threadIdx.x * (N / 2), values);
  end(room, ptx::cta_group_1, N);
}

// tcgen05.mma.ws, M = 32: each lane quarter has a quarter of D's columns; the collector buffer keeps B for a second A.
extern "C" __global__ void weights_stationary(const char *a, const char *b, float *c) {
  constexpr int N = 64, BYTES = 64;
  __shared__ alignas(128) char left[2][32 * BYTES], right[N * BYTES];
  __shared__ Room room;
  for (int i = 0; i < 2; i++) stage(left[i], a + i * 32 * BYTES, 32, BYTES);
  stage(right, b, N, BYTES);
  begin(room, ptx::cta_group_1, 32);
  if (one_of_the_first_warp()) {
    constexpr u32 idesc = instruction(1, 0, 0, 32, N);
    for (int k = 0; k < BYTES / 32; k++) {
      ptx::tcgen05_mma_ws_collector_b0_fill(ptx::cta_group_1, ptx::kind_f16, room.base,
                                            described(left[0] + k * 32 * 32, 32), described(right + k * N * 32, N),
                                            idesc, k > 0);
      ptx::tcgen05_mma_ws_collector_b0_lastuse(ptx::cta_group_1, ptx::kind_f16, room.base + 16,
                                               described(left[1] + k * 32 * 32, 32), described(right + k * N * 32, N),
                                               idesc, k > 0);
    }
    ptx::tcgen05_commit(ptx::cta_group_1, &room.done);
  }
  wait(room);
  for (int i = 0; i < 2; i++) {
    u32 values[16];
    ptx::tcgen05_ld_32x32b(values, lanes_of_this_warp(room) + i * 16);
    ptx::tcgen05_wait_ld();
    stored(c + (i * 32 + threadIdx.x % 32) * N + threadIdx.x / 32 * 16, values);
  }
  end(room, ptx::cta_group_1, 32);
}

// CTA pair, each with half the rows of A and half the columns of B; the first one issues the MMA and signals both.
extern "C" __global__ void __cluster_dims__(2, 1, 1) pair_of_blocks(const char *a, const char *b, u32 *c) {
  constexpr int N = 64, BYTES = 128;
  __shared__ alignas(128) char left[128 * BYTES], right[N / 2 * BYTES];
  __shared__ Room room;
  u32 rank = blockIdx.x % 2;
  stage(left, a + rank * sizeof left, 128, BYTES);
  stage(right, b + rank * sizeof right, N / 2, BYTES);
  ptx::barrier_cluster_arrive(); // a CTA pair allocates together: the peer CTA must have started
  ptx::barrier_cluster_wait();
  begin(room, ptx::cta_group_2, N);
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();
  if (rank == 0 && one_of_the_first_warp()) {
    for (int k = 0; k < BYTES / 32; k++)
      ptx::tcgen05_mma<ptx::dot_kind::f16>(ptx::kind_f16, ptx::cta_group_2, room.base, described(left + k * 128 * 32, 128),
                       described(right + k * N / 2 * 32, N / 2), instruction(1, 0, 0, 256, N), k > 0);
    ptx::tcgen05_commit_multicast(ptx::cta_group_2, &room.done, 3);
  }
  wait(room);
  stored_sums<N>(c + rank * 128 * N, room);
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  end(room, ptx::cta_group_2, N);
}

// One scale factor per 16 E2M1 values, copied to all four lane quarters.
extern "C" __global__ void nvfp4(const char *a, const char *b, const uint4 *sa, const uint4 *sb, u32 *c) {
  constexpr int N = 128, BYTES = 64;
  __shared__ alignas(128) char left[128 * BYTES], right[N * BYTES];
  __shared__ alignas(128) uint4 scales[2][2][32];
  __shared__ Room room;
  stage(left, a, 128, BYTES);
  stage(right, b, N, BYTES);
  if (threadIdx.x < 64) {
    (&scales[0][0][0])[threadIdx.x] = sa[threadIdx.x];
    (&scales[1][0][0])[threadIdx.x] = sb[threadIdx.x];
  }
  begin(room, ptx::cta_group_1, 256);
  if (one_of_the_first_warp()) {
    // Format 1 is E2M1; scale factors are E4M3 (bit 23 is 0).
    constexpr u32 idesc = 1 << 7 | 1 << 10 | N >> 3 << 17 | 128 >> 7 << 27;
    for (int k = 0; k < BYTES / 32; k++) {
      u32 at = room.base + N + k * 8;
      for (int i = 0; i < 2; i++)
        ptx::tcgen05_cp_32x128b_warpx4(ptx::cta_group_1, at + i * 4,
                                       described(reinterpret_cast<char *>(scales[i][k]), 8));
      ptx::tcgen05_mma_block_scale_vec_4x(ptx::kind_mxf4nvf4, ptx::cta_group_1, room.base,
                                          described(left + k * 128 * 32, 128), described(right + k * N * 32, N), idesc,
                                          at, at + 4, k > 0);
    }
    ptx::tcgen05_commit(ptx::cta_group_1, &room.done);
  }
  wait(room);
  stored_sums<N>(c, room);
  end(room, ptx::cta_group_1, 256);
}

// Copies of every shape to adjacent columns of tensor memory.
extern "C" __global__ void copied(const char *x, u32 *out) {
  __shared__ alignas(128) char shared[4096];
  __shared__ Room room;
  for (int e = threadIdx.x; e < 256; e += 128) reinterpret_cast<uint4 *>(shared)[e] = reinterpret_cast<const uint4 *>(x)[e];
  begin(room, ptx::cta_group_1, 32);
  if (one_of_the_first_warp()) {
    u64 at = described(shared, 8 * 16);
    ptx::tcgen05_cp_128x256b(ptx::cta_group_1, room.base, at);
    ptx::tcgen05_cp_128x128b(ptx::cta_group_1, room.base + 8, at);
    ptx::tcgen05_cp_64x128b_warpx2_02_13(ptx::cta_group_1, room.base + 12, at);
    ptx::tcgen05_cp_64x128b_warpx2_01_23(ptx::cta_group_1, room.base + 16, at);
    ptx::tcgen05_cp_32x128b_warpx4(ptx::cta_group_1, room.base + 20, at);
    ptx::tcgen05_commit(ptx::cta_group_1, &room.done);
  }
  wait(room);
  u32 first[16], last[8];
  ptx::tcgen05_ld_32x32b(first, lanes_of_this_warp(room));
  ptx::tcgen05_ld_32x32b(last, lanes_of_this_warp(room) + 16);
  ptx::tcgen05_wait_ld();
  stored(out + threadIdx.x * 24, first);
  stored(out + threadIdx.x * 24 + 16, last);
  end(room, ptx::cta_group_1, 32);
}

// Stores and loads of tensor memory in every shape; each thread writes its registers to the output.
extern "C" __global__ void shapes(const u32 *x, u32 *out) {
  __shared__ Room room;
  begin(room, ptx::cta_group_1, 64);
  u32 t = threadIdx.x, at = lanes_of_this_warp(room), upper = at + (16 << 16);
  u32 wide[32], few[4], some[8];
  for (int i = 0; i < 32; i++) wide[i] = x[t * 32 + i];
  ptx::tcgen05_st_32x32b(at, wide);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_ld_16x64b(few, at);
  ptx::tcgen05_wait_ld();
  stored(out + t * 36, few);
  ptx::tcgen05_ld_16x128b(few, upper);
  ptx::tcgen05_wait_ld();
  stored(out + t * 36 + 4, few);
  ptx::tcgen05_ld_16x256b(few, at + 8);
  ptx::tcgen05_wait_ld();
  stored(out + t * 36 + 8, few);
  ptx::tcgen05_ld_16x32bx2(few, upper, ptx::n32_t<5>());
  ptx::tcgen05_wait_ld();
  stored(out + t * 36 + 12, few);
  ptx::tcgen05_ld_16x256b_pack_16b(few, at);
  ptx::tcgen05_wait_ld();
  stored(out + t * 36 + 16, few);
  for (int i = 0; i < 8; i++) some[i] = x[t * 32 + i];
  ptx::tcgen05_st_16x64b_unpack_16b(at + 32, some);
  ptx::tcgen05_st_16x128b(upper + 32, some);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_ld_16x128b_pack_16b(some, at + 32);
  ptx::tcgen05_wait_ld();
  stored(out + t * 36 + 20, some);
  ptx::tcgen05_ld_16x256b(some, upper + 32);
  ptx::tcgen05_wait_ld();
  stored(out + t * 36 + 28, some);
  end(room, ptx::cta_group_1, 64);
}
