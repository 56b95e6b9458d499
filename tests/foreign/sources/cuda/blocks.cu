// CTA-wide algorithms of CUB and cooperative groups: shared memory and synchronization.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cuda/std/functional>

namespace cg = cooperative_groups;

// CUB --------------------------------------------------------------------------------------------

template <cub::BlockReduceAlgorithm how> __device__ void reduced(const int *x, int *y) {
  using Reduce = cub::BlockReduce<int, 128, how>;
  __shared__ typename Reduce::TempStorage room;
  int total = Reduce(room).Sum(x[blockIdx.x * 128 + threadIdx.x]);
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}
extern "C" __global__ void reduce_warps(const int *x, int *y) { reduced<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(x, y); }
extern "C" __global__ void reduce_raking(const int *x, int *y) { reduced<cub::BLOCK_REDUCE_RAKING>(x, y); }
extern "C" __global__ void reduce_raking_commutative(const int *x, int *y) {
  reduced<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(x, y);
}

template <cub::BlockScanAlgorithm how> __device__ void scanned(const int *x, int *y) {
  using Scan = cub::BlockScan<int, 128, how>;
  __shared__ typename Scan::TempStorage room;
  int at = blockIdx.x * 128 + threadIdx.x, sum;
  Scan(room).InclusiveSum(x[at], sum);
  y[at] = sum;
}
extern "C" __global__ void scan_warps(const int *x, int *y) { scanned<cub::BLOCK_SCAN_WARP_SCANS>(x, y); }
extern "C" __global__ void scan_raking(const int *x, int *y) { scanned<cub::BLOCK_SCAN_RAKING>(x, y); }
extern "C" __global__ void scan_raking_memoize(const int *x, int *y) { scanned<cub::BLOCK_SCAN_RAKING_MEMOIZE>(x, y); }

extern "C" __global__ void radix_sort(const unsigned *x, unsigned *y) {
  using Sort = cub::BlockRadixSort<unsigned, 128, 2>;
  __shared__ typename Sort::TempStorage room;
  unsigned *mine = y + blockIdx.x * 256 + threadIdx.x * 2, keys[2] = {x[mine - y], x[mine - y + 1]};
  Sort(room).Sort(keys);
  mine[0] = keys[0], mine[1] = keys[1];
}
struct Less { __device__ bool operator()(int a, int b) const { return a < b; } };
extern "C" __global__ void merge_sort(const int *x, int *y) {
  using Sort = cub::BlockMergeSort<int, 128, 3>;
  __shared__ typename Sort::TempStorage room;
  int keys[3];
  for (int i = 0; i < 3; i++) keys[i] = x[threadIdx.x * 3 + i];
  Sort(room).Sort(keys, Less());
  for (int i = 0; i < 3; i++) y[threadIdx.x * 3 + i] = keys[i];
}
extern "C" __global__ void warp_merge_sort(const int *x, int *y) {
  using Sort = cub::WarpMergeSort<int, 2, 32>;
  __shared__ typename Sort::TempStorage room[4];
  int keys[2] = {x[threadIdx.x * 2], x[threadIdx.x * 2 + 1]};
  Sort(room[threadIdx.x / 32]).Sort(keys, Less());
  y[threadIdx.x * 2] = keys[0], y[threadIdx.x * 2 + 1] = keys[1];
}
extern "C" __global__ void warp_scan_of_16(const int *x, int *y) {
  using Scan = cub::WarpScan<int, 16>;
  __shared__ typename Scan::TempStorage room[8];
  int sum;
  Scan(room[threadIdx.x / 16]).InclusiveSum(x[threadIdx.x], sum);
  y[threadIdx.x] = sum;
}
extern "C" __global__ void warp_reduce_of_20(const int *x, int *y) {
  using Reduce = cub::WarpReduce<int, 20>;
  __shared__ typename Reduce::TempStorage room;
  if (threadIdx.x < 20) {
    int sum = Reduce(room).Sum(x[threadIdx.x]);
    if (threadIdx.x == 0) y[0] = sum;
  }
}
template <cub::BlockHistogramAlgorithm how> __device__ void counted(const unsigned char *x, int *y) {
  using Histogram = cub::BlockHistogram<unsigned char, 128, 4, 64, how>;
  __shared__ typename Histogram::TempStorage room;
  __shared__ int bins[64];
  unsigned char mine[4];
  for (int i = 0; i < 4; i++) mine[i] = x[threadIdx.x * 4 + i];
  Histogram(room).Histogram(mine, bins);
  __syncthreads();
  if (threadIdx.x < 64) y[threadIdx.x] = bins[threadIdx.x];
}
extern "C" __global__ void histogram_atomic(const unsigned char *x, int *y) { counted<cub::BLOCK_HISTO_ATOMIC>(x, y); }
extern "C" __global__ void histogram_sorted(const unsigned char *x, int *y) { counted<cub::BLOCK_HISTO_SORT>(x, y); }

extern "C" __global__ void select_even(const int *x, int *y, int *count) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage room;
  int v = x[threadIdx.x], place, total;
  Scan(room).ExclusiveSum(v % 2 == 0, place, total);
  if (v % 2 == 0) y[place] = v;
  if (threadIdx.x == 0) *count = total;
}
extern "C" __global__ void exchange(const int *x, int *y) {
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union { typename Load::TempStorage load; typename Store::TempStorage store; } room;
  int v[4];
  Load(room.load).Load(x, v);
  __syncthreads();
  for (int &each : v) each = each * 2 + threadIdx.x;
  Store(room.store).Store(y, v);
}
extern "C" __global__ void discontinuity(const int *x, int *y) {
  using Flags = cub::BlockDiscontinuity<int, 128>;
  __shared__ typename Flags::TempStorage room;
  int v[1] = {x[threadIdx.x]}, heads[1];
  Flags(room).FlagHeads(heads, v, cuda::std::not_equal_to<int>());
  y[threadIdx.x] = heads[0];
}
extern "C" __global__ void shuffle_up(const int *x, int *y) {
  using Shuffle = cub::BlockShuffle<int, 128>;
  __shared__ typename Shuffle::TempStorage room;
  int v = x[threadIdx.x], w = -1;
  Shuffle(room).Offset(v, w, -1);
  y[threadIdx.x] = w;
}
extern "C" __global__ void radix_rank(const unsigned *x, int *y) {
  using Rank = cub::BlockRadixRank<128, 4, false>;
  __shared__ typename Rank::TempStorage room;
  unsigned key[1] = {x[threadIdx.x]};
  int rank[1];
  Rank(room).RankKeys(key, rank, cub::BFEDigitExtractor<unsigned>(0, 4));
  y[rank[0]] = key[0];
}

// Cooperative groups -----------------------------------------------------------------------------

extern "C" __global__ void tile_reduce(const int *x, int *y) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  __shared__ int parts[4];
  int sum = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
  if (tile.thread_rank() == 0) parts[tile.meta_group_rank()] = sum;
  block.sync();
  if (block.thread_rank() == 0) y[0] = parts[0] + parts[1] + parts[2] + parts[3];
}
extern "C" __global__ void tile_scan(const int *x, int *y) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  y[threadIdx.x] = cg::inclusive_scan(tile, x[threadIdx.x]);
}
extern "C" __global__ void tile_exchange(const int *x, int *y) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  tile.sync();
  y[threadIdx.x] = s[(threadIdx.x & ~15) | (15 - tile.thread_rank())];
}
extern "C" __global__ void large_tiles(const int *x, int *y) {
  __shared__ cg::block_tile_memory<128> room;
  auto block = cg::this_thread_block(room);
  auto tile = cg::tiled_partition<64>(block);
  int sum = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
  if (tile.thread_rank() == 0) y[tile.meta_group_rank()] = sum;
}
extern "C" __global__ void aggregated(const int *x, int *count, int *y) {
  int v = x[threadIdx.x];
  if (v % 3 == 0) {
    auto group = cg::coalesced_threads();
    int base = 0;
    if (group.thread_rank() == 0) base = atomicAdd(count, group.size());
    y[group.shfl(base, 0) + group.thread_rank()] = v;
  }
}
extern "C" __global__ void labelled(const int *x, int *y) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int label = x[threadIdx.x] % 4;
  auto group = cg::labeled_partition(warp, label);
  int sum = cg::reduce(group, x[threadIdx.x], cg::plus<int>());
  if (group.thread_rank() == 0) atomicAdd(y + label, sum);
}
extern "C" __global__ void halves_apart(const int *x, int *y) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  bool odd = threadIdx.x & 1;
  auto half = cg::binary_partition(warp, odd);
  y[threadIdx.x] = half.shfl(x[threadIdx.x], half.size() - 1);
}
extern "C" __global__ void copied_together(const int *x, int *y) {
  __shared__ alignas(16) int s[256];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, x, sizeof s);
  cg::wait(block);
  y[threadIdx.x] = s[255 - threadIdx.x] + s[threadIdx.x];
}
extern "C" __global__ void invoked_once(const int *x, int *y) {
  auto group = cg::coalesced_threads();
  cg::invoke_one(group, [&] { atomicAdd(y, x[0]); });
}

// Plain CUDA -------------------------------------------------------------------------------------

extern "C" __global__ void tree_in_a_warp(const int *x, int *y) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncwarp();
  for (int k = 16; k; k /= 2) {
    int v = t < k ? s[t] + s[t + k] : 0;
    __syncwarp();
    if (t < k) s[t] = v;
    __syncwarp();
  }
  if (t == 0) y[0] = s[0];
}
extern "C" __global__ void bitonic(const int *x, int *y) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int k = 2; k <= 256; k *= 2)
    for (int j = k / 2; j; j /= 2) {
      int other = t ^ j;
      if (other > t && (s[t] > s[other]) == !(t & k)) {
        int v = s[t];
        s[t] = s[other], s[other] = v;
      }
      __syncthreads();
    }
  y[t] = s[t];
}
extern "C" __global__ void votes(const int *x, unsigned *y) {
  int v = x[threadIdx.x];
  y[threadIdx.x] = __ballot_sync(~0u, v & 1) ^ __match_any_sync(~0u, v & 7) ^ (__all_sync(~0u, v >= 0) << 3) ^
                   __reduce_add_sync(~0u, v) ^ __reduce_or_sync(~0u, v);
}
extern "C" __global__ void transposed(const float *x, float *y, int rows, int columns) {
  __shared__ float tile[32][33];
  int r = blockIdx.y * 32, c = blockIdx.x * 32;
  for (int i = threadIdx.y; i < 32; i += 8)
    if (r + i < rows && c + threadIdx.x < columns) tile[i][threadIdx.x] = x[(r + i) * columns + c + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8)
    if (c + i < columns && r + threadIdx.x < rows) y[(c + i) * rows + r + threadIdx.x] = tile[threadIdx.x][i];
}
extern "C" __global__ void stencil(const float *x, float *y, int n) {
  extern __shared__ float s[];
  int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + 1;
  if (i < n) s[t] = x[i];
  if (threadIdx.x == 0) s[0] = i ? x[i - 1] : 0;
  if (threadIdx.x == blockDim.x - 1 || i == n - 1) s[t + 1] = i + 1 < n ? x[i + 1] : 0;
  __syncthreads();
  if (i < n) y[i] = 0.25f * s[t - 1] + 0.5f * s[t] + 0.25f * s[t + 1];
}
