"""Typical CuTe DSL kernels for Blackwell, compared with our code: CTA pairs, a deep ring of stages, warp roles."""

import cutlass
import cutlass.utils.blackwell_helpers as blackwell
from cases import BLACKWELL, Case, Described, double, eighths, given, made
from cutlass import cute, pipeline, utils
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.cute.runtime import make_fake_compact_tensor

BF16, SINGLE = cutlass.BFloat16, cutlass.Float32
TILE, STAGES = (256, 256, 64), 6
PRODUCER, MULTIPLIER, THREADS = 4, 5, 192  # copying warp, MMA warp (warps 0 to 3 store C), and threads per CTA
ONE = pipeline.CooperativeGroup(pipeline.Agent.Thread)


def met():
    """Synchronize the threads of both CTAs of a pair."""
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.struct
class Storage:
    filled: cute.struct.MemRange[cutlass.Int64, STAGES * 2]
    summed: cute.struct.MemRange[cutlass.Int64, 2]
    freed: cutlass.Int64
    base: cutlass.Int32


@cute.kernel
def kernel(
    mma: cute.TiledMma,
    copy_a: cute.CopyAtom,
    a: cute.Tensor,
    copy_b: cute.CopyAtom,
    b: cute.Tensor,
    c: cute.Tensor,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    cluster: cute.Layout,
):
    thread, _, _ = cute.arch.thread_idx()
    warp_number = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    block, column, _ = cute.arch.block_idx()
    rank, row = block % 2, block // 2
    memory = utils.SmemAllocator()
    storage = memory.allocate(Storage)
    shared_a, shared_b = (
        memory.allocate_tensor(element_type=BF16, layout=each.outer, byte_alignment=1024, swizzle=each.inner)
        for each in (layout_a, layout_b)
    )
    stage = [0, 1, 2]
    arriving = 2 * sum(cute.size_in_bytes(BF16, cute.select(each, mode=stage)) for each in (layout_a, layout_b))
    filling, taking = pipeline.PipelineTmaUmma.create(
        num_stages=STAGES,
        producer_group=ONE,
        consumer_group=ONE,
        tx_count=arriving,
        barrier_storage=storage.filled.data_ptr(),
        cta_layout_vmnk=cluster,
    ).make_participants()
    summing, rounding = pipeline.PipelineUmmaAsync.create(
        num_stages=1,
        producer_group=ONE,
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 2 * 128),
        barrier_storage=storage.summed.data_ptr(),
        cta_layout_vmnk=cluster,
    ).make_participants()
    columns = utils.TmemAllocator(
        storage.base,
        barrier_for_retrieve=pipeline.NamedBarrier(barrier_id=1, num_threads=32 * 5),
        is_two_cta=True,
        two_cta_tmem_dealloc_mbar_ptr=storage.freed,
    )
    met()
    global_a = cute.local_tile(a, TILE, (row, column, None), proj=(1, None, 1))
    global_b = cute.local_tile(b, TILE, (row, column, None), proj=(None, 1, 1))
    part = mma.get_slice(rank)
    parts_a, parts_b = part.partition_A(global_a), part.partition_B(global_b)
    parts_c = part.partition_C(cute.local_tile(c, TILE, (row, column, None), proj=(1, 1, None)))
    fragment_a, fragment_b = mma.make_fragment_A(shared_a), mma.make_fragment_B(shared_b)
    shape = mma.make_fragment_C(mma.partition_shape_C(TILE[:2]))
    alone = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        copy_a, 0, alone, cute.group_modes(shared_a, 0, 3), cute.group_modes(parts_a, 0, 3)
    )
    to_b, from_b = cpasync.tma_partition(
        copy_b, 0, alone, cute.group_modes(shared_b, 0, 3), cute.group_modes(parts_b, 0, 3)
    )
    steps = cute.size(global_a, mode=[2])
    if warp_number == PRODUCER:
        for k in cutlass.range(steps, unroll=1):
            empty = filling.acquire_and_advance()
            cute.copy(copy_a, from_a[(None, k)], to_a[(None, empty.index)], tma_bar_ptr=empty.barrier)
            cute.copy(copy_b, from_b[(None, k)], to_b[(None, empty.index)], tma_bar_ptr=empty.barrier)
        filling.tail()
    if warp_number == MULTIPLIER:
        columns.wait_for_alloc()
        sums = cute.make_tensor(columns.retrieve_ptr(SINGLE), shape.layout)
        if rank == 0:
            whole = summing.acquire_and_advance()
            for _ in cutlass.range(steps, unroll=1):
                full = taking.wait_and_advance()
                for i in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                    at = (None, None, i, full.index)
                    cute.gemm(mma, sums, fragment_a[at], fragment_b[at], sums)
                    mma.set(tcgen05.Field.ACCUMULATE, True)
                full.release()
            whole.commit()
    if warp_number < PRODUCER:
        columns.allocate(512)
        columns.wait_for_alloc()
        base = columns.retrieve_ptr(SINGLE)
        sums = cute.make_tensor(base, shape.layout)
        strip = ((cute.size(sums, mode=[0, 0]), cute.size(sums, mode=[0, 1]) // 4),)
        strips, outs = cute.zipped_divide(sums, strip), cute.zipped_divide(parts_c, strip)
        atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition(TILE[1] // 4)), SINGLE)
        read = tcgen05.make_tmem_copy(atom, strips[None, 0])
        mine = read.get_slice(thread)
        source, target = mine.partition_S(strips), mine.partition_D(outs)
        values = cute.make_rmem_tensor(target[None, None, 0].shape, SINGLE)
        rounded = cute.make_rmem_tensor(target[None, None, 0].shape, c.element_type)
        columns.relinquish_alloc_permit()
        done = rounding.wait_and_advance()
        for i in cutlass.range(cute.size(source, mode=[2])):
            cute.copy(read, source[None, None, i], values)
            cute.arch.fence_view_async_tmem_load()
            rounded.store(values.load().to(c.element_type))
            cute.autovec_copy(rounded, target[None, None, i])
        done.release()
        pipeline.NamedBarrier(barrier_id=2, num_threads=128).arrive_and_wait()
        columns.free(base)
    met()  # cluster barrier: the peer CTA accesses this CTA's memory until here


@cute.jit
def product(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Compute C = A · Bᵀ, both K-major: a CTA pair for each tile."""
    major, group = tcgen05.OperandMajorMode.K, tcgen05.CtaGroup.TWO
    op = tcgen05.MmaF16BF16Op(BF16, SINGLE, (256, 256, 16), group, tcgen05.OperandSource.SMEM, major, major)
    mma = cute.make_tiled_mma(op)
    layout_a = blackwell.make_smem_layout_a(mma, TILE, BF16, STAGES)
    layout_b = blackwell.make_smem_layout_b(mma, TILE, BF16, STAGES)
    cluster = cute.tiled_divide(cute.make_layout((2, 1, 1)), (mma.thr_id.shape,))
    load, stage = cpasync.CopyBulkTensorTileG2SOp(group), [0, 1, 2]
    copy_a, map_a = cute.nvgpu.make_tiled_tma_atom_A(
        load, a, cute.select(layout_a, mode=stage), TILE, mma, cluster.shape
    )
    copy_b, map_b = cute.nvgpu.make_tiled_tma_atom_B(
        load, b, cute.select(layout_b, mode=stage), TILE, mma, cluster.shape
    )
    grid = [2 * cute.ceil_div(c.shape[0], TILE[0]), cute.ceil_div(c.shape[1], TILE[1]), 1]
    kernel(mma, copy_a, map_a, copy_b, map_b, c, layout_a, layout_b, cluster).launch(
        grid=grid, block=(THREADS, 1, 1), cluster=(2, 1, 1)
    )


A, B = eighths(256, 512), eighths(512, 512)


def fake(*shape):
    return make_fake_compact_tensor(BF16, shape, stride_order=(1, 0), assumed_align=16)


CASES = [
    Case(
        "matmul-of-pairs",
        lambda: (product, [fake(256, 512), fake(512, 512), fake(256, 512)]),
        {
            0: Described(given(A, "bfloat16"), (128, 64), "128B"),
            1: Described(given(B, "bfloat16"), (128, 64), "128B"),
            2: made(double(A) @ double(B).T, "bfloat16"),
        },
        0,
        targets=BLACKWELL,
    ),
]
