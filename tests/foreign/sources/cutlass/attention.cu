// CUTLASS's attention for sm_100 (example 77): persistent CTAs over tiles of queries.
#include <cute/tensor.hpp>
#include <cutlass/cutlass.h>
#include <cutlass/device_kernel.h>
#include <cutlass/kernel_hardware_info.h>
#include <cutlass/numeric_types.h>

#include "collective/fmha_fusion.hpp"
#include "collective/sm100_fmha_fwd_epilogue_tma_warpspecialized.hpp"
#include "collective/sm100_fmha_fwd_mainloop_tma_warpspecialized.hpp"
#include "kernel/fmha_options.hpp"
#include "kernel/fmha_tile_scheduler.hpp"
#include "kernel/sm100_fmha_fwd_kernel_tma_warpspecialized.hpp"

using cute::_0, cute::_1, cute::Int, cute::Shape, cute::tuple;
namespace attention = cutlass::fmha::collective;
using Element = cutlass::bfloat16_t;
using Heads = tuple<tuple<int, int>, int>;                  // query heads per key head, key heads; batch
using Rows = tuple<int, _1, Heads>;                         // queries and outputs
using Shared = tuple<int, _1, tuple<tuple<_0, int>, int>>;  // keys and values
using Sums = tuple<_1, Heads>;

using Mainloop = attention::Sm100FmhaFwdMainloopTmaWarpspecialized<
    Element, float, float, Shape<Int<BM>, Int<BN>, Int<HEAD>>, Rows, Shared, Shared, attention::MASK>;
using Epilogue = attention::Sm100FmhaFwdEpilogueTmaWarpspecialized<
    Element, float, typename Mainloop::TileShapePV, Rows, Sums>;
using Kernel = cutlass::fmha::kernel::Sm100FmhaFwdKernelTmaWarpspecialized<
    tuple<int, int, int, Heads>, Mainloop, Epilogue, cutlass::fmha::kernel::PersistentTileScheduler>;

template __global__ void cutlass::device_kernel<Kernel>(__grid_constant__ Kernel::Params const);
