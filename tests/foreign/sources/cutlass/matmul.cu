// CUTLASS's bf16 GEMM for sm_100, all matrices row-major. Macros set the tile and the cluster; CUTLASS's builders
// choose the rest.
#include <cute/tensor.hpp>
#include <cutlass/cutlass.h>
#include <cutlass/device_kernel.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

using cute::_1, cute::Int, cute::Shape;
namespace products = cutlass::gemm::collective;
namespace stores = cutlass::epilogue::collective;
using Element = cutlass::bfloat16_t;
using Row = cutlass::layout::RowMajor;
using Tile = Shape<Int<BM>, Int<BN>, Int<BK>>;
using Cluster = Shape<Int<PAIR>, _1, _1>;
constexpr int ALIGNED = 16 / sizeof(Element);

using Stores = typename stores::CollectiveBuilder<
    cutlass::arch::Sm100, cutlass::arch::OpClassTensorOp, ::Tile, Cluster, stores::EpilogueTileAuto, float, float, void,
    Row, ALIGNED, Element, Row, ALIGNED, stores::EpilogueScheduleAuto>::CollectiveOp;
using Products = typename products::CollectiveBuilder<
    cutlass::arch::Sm100, cutlass::arch::OpClassTensorOp, Element, Row, ALIGNED, Element, Row, ALIGNED, float, ::Tile,
    Cluster, products::StageCountAutoCarveout<static_cast<int>(sizeof(typename Stores::SharedStorage))>,
    products::KernelScheduleAuto>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Products, Stores, void>;

template __global__ void cutlass::device_kernel<Kernel>(__grid_constant__ Kernel::Params const);
