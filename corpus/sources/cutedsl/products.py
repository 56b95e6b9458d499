# SPDX-License-Identifier: Apache-2.0
"""GEMM in CuTe DSL on the tensor cores of three generations; all operands are K-major."""

import cutlass
import cutlass.utils.blackwell_helpers as blackwell
import cutlass.utils.hopper_helpers as hopper
from cutlass import cute, pipeline, utils
from cutlass.cute.nvgpu import cpasync, tcgen05, warp, warpgroup
from cutlass.cute.runtime import make_fake_compact_tensor

HALF, SINGLE = cutlass.Float16, cutlass.Float32
STAGES = 3
ONE = cute.make_layout


def ampere():
    """cp.async, ldmatrix, mma.sync; 128 x 128 for 128 threads."""

    @cute.kernel
    def kernel(
        a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, mma: cute.TiledMma, layout: cute.Layout, copy: cute.TiledCopy
    ):
        thread, _, _ = cute.arch.thread_idx()
        row, column, _ = cute.arch.block_idx()
        global_a = cute.local_tile(a, (128, 32), (row, None))
        global_b = cute.local_tile(b, (128, 32), (column, None))
        global_c = cute.local_tile(c, (128, 128), (row, column))
        memory = utils.SmemAllocator()
        shared_a, shared_b = memory.allocate_tensor(HALF, layout, 128), memory.allocate_tensor(HALF, layout, 128)
        mine, part = copy.get_slice(thread), mma.get_slice(thread)
        from_a, to_a = mine.partition_S(global_a), mine.partition_D(shared_a)
        from_b, to_b = mine.partition_S(global_b), mine.partition_D(shared_b)
        fragment_a = mma.make_fragment_A(part.partition_A(shared_a))
        fragment_b = mma.make_fragment_B(part.partition_B(shared_b))
        out = part.partition_C(global_c)
        sums = mma.make_fragment_C(out)
        sums.fill(0.0)
        atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), HALF)
        load_a, load_b = cute.make_tiled_copy_A(atom, mma), cute.make_tiled_copy_B(atom, mma)
        read_a, read_b = load_a.get_slice(thread).partition_S(shared_a), load_b.get_slice(thread).partition_S(shared_b)
        into_a, into_b = load_a.retile(fragment_a), load_b.retile(fragment_b)
        for k in cutlass.range(cute.size(global_a, mode=[2])):
            cute.copy(copy, from_a[None, None, None, k], to_a)
            cute.copy(copy, from_b[None, None, None, k], to_b)
            cute.arch.cp_async_commit_group()
            cute.arch.cp_async_wait_group(0)
            cute.arch.sync_threads()
            cute.copy(load_a, read_a, into_a)
            cute.copy(load_b, read_b, into_b)
            for i in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                cute.gemm(mma, sums, fragment_a[None, None, i], fragment_b[None, None, i], sums)
            cute.arch.sync_threads()
        rounded = cute.make_rmem_tensor(sums.shape, HALF)
        rounded.store(sums.load().to(HALF))
        cute.autovec_copy(rounded, out)

    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        op = warp.MmaF16BF16Op(HALF, SINGLE, (16, 8, 16))
        mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
        atom = cute.make_copy_atom(
            cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), HALF, num_bits_per_copy=128
        )
        copy = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8)))
        grid = [cute.ceil_div(a.shape[0], 128), cute.ceil_div(b.shape[0], 128), 1]
        kernel(a, b, c, mma, cute.make_layout((128, 32), stride=(40, 1)), copy).launch(grid=grid, block=[128, 1, 1])

    return host


def warpgroups(m, n):
    """TMA, mbarriers, wgmma."""
    tile = (m, n, 64)

    @cute.struct
    class Storage:
        barriers: cute.struct.MemRange[cutlass.Int64, STAGES * 2]

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
    ):
        thread, _, _ = cute.arch.thread_idx()
        warp_number = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        row, column, _ = cute.arch.block_idx()
        memory = utils.SmemAllocator()
        storage = memory.allocate(Storage)
        shared_a = memory.allocate_tensor(
            element_type=HALF, layout=layout_a.outer, byte_alignment=1024, swizzle=layout_a.inner
        )
        shared_b = memory.allocate_tensor(
            element_type=HALF, layout=layout_b.outer, byte_alignment=1024, swizzle=layout_b.inner
        )
        stage = (None, None, 0)
        arriving = cute.size_in_bytes(HALF, cute.slice_(layout_a, stage)) + cute.size_in_bytes(
            HALF, cute.slice_(layout_b, stage)
        )
        one, warps = (
            pipeline.CooperativeGroup(pipeline.Agent.Thread),
            pipeline.CooperativeGroup(pipeline.Agent.Thread, m // 64 * 4),
        )
        ring = pipeline.PipelineTmaAsync.create(
            num_stages=STAGES,
            producer_group=one,
            consumer_group=warps,
            tx_count=arriving,
            barrier_storage=storage.barriers.data_ptr(),
        )
        ahead = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
        behind = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        global_a = cute.local_tile(a, (m, 64), (row, None))
        global_b = cute.local_tile(b, (n, 64), (column, None))
        part = mma.get_slice(thread)
        out = part.partition_C(cute.local_tile(c, (m, n), (row, column)))
        to_a, from_a = cpasync.tma_partition(
            copy_a, 0, ONE(1), cute.group_modes(shared_a, 0, 2), cute.group_modes(global_a, 0, 2)
        )
        to_b, from_b = cpasync.tma_partition(
            copy_b, 0, ONE(1), cute.group_modes(shared_b, 0, 2), cute.group_modes(global_b, 0, 2)
        )
        fragment_a = mma.make_fragment_A(part.partition_A(shared_a))
        fragment_b = mma.make_fragment_B(part.partition_B(shared_b))
        sums = cute.make_rmem_tensor(out.shape, SINGLE)
        mma.set(warpgroup.Field.ACCUMULATE, False)
        for k in cutlass.range(cute.size(global_a, mode=[2]), unroll=1):
            if warp_number == 0:
                ring.producer_acquire(ahead)
                cute.copy(
                    copy_a, from_a[(None, k)], to_a[(None, ahead.index)], tma_bar_ptr=ring.producer_get_barrier(ahead)
                )
                cute.copy(
                    copy_b, from_b[(None, k)], to_b[(None, ahead.index)], tma_bar_ptr=ring.producer_get_barrier(ahead)
                )
                ring.producer_commit(ahead)
            ahead.advance()
            ring.consumer_wait(behind)
            warpgroup.fence()
            for i in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                cute.gemm(
                    mma, sums, fragment_a[None, None, i, behind.index], fragment_b[None, None, i, behind.index], sums
                )
                mma.set(warpgroup.Field.ACCUMULATE, True)
            warpgroup.commit_group()
            warpgroup.wait_group(0)
            ring.consumer_release(behind)
            behind.advance()
        rounded = cute.make_rmem_tensor(out.shape, c.element_type)
        rounded.store(sums.load().to(c.element_type))
        cute.autovec_copy(rounded, out)

    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        rows = utils.LayoutEnum.ROW_MAJOR
        major = rows.sm90_mma_major_mode()
        mma = hopper.make_trivial_tiled_mma(HALF, HALF, major, major, SINGLE, (m // 64, 1, 1), (64, n))
        layout_a = hopper.make_smem_layout_a(rows, tile, HALF, STAGES)
        layout_b = hopper.make_smem_layout_b(rows, tile, HALF, STAGES)
        load = cpasync.CopyBulkTensorTileG2SOp()
        copy_a, map_a = cpasync.make_tiled_tma_atom(load, a, cute.slice_(layout_a, (None, None, 0)), (m, 64))
        copy_b, map_b = cpasync.make_tiled_tma_atom(load, b, cute.slice_(layout_b, (None, None, 0)), (n, 64))
        grid = [cute.ceil_div(c.shape[0], m), cute.ceil_div(c.shape[1], n), 1]
        kernel(mma, copy_a, map_a, copy_b, map_b, c, layout_a, layout_b).launch(grid=grid, block=(m // 64 * 128, 1, 1))

    return host


def tensor_memory(n, element):
    """TMA, tcgen05, accumulators in tensor memory; one tile per CTA."""
    tile = (128, n, 1024 // element.width)

    @cute.struct
    class Storage:
        filled: cute.struct.MemRange[cutlass.Int64, STAGES * 2]
        summed: cute.struct.MemRange[cutlass.Int64, 2]
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
    ):
        thread, _, _ = cute.arch.thread_idx()
        warp_number = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        row, column, _ = cute.arch.block_idx()
        memory = utils.SmemAllocator()
        storage = memory.allocate(Storage)
        shared_a = memory.allocate_tensor(
            element_type=element, layout=layout_a.outer, byte_alignment=128, swizzle=layout_a.inner
        )
        shared_b = memory.allocate_tensor(
            element_type=element, layout=layout_b.outer, byte_alignment=128, swizzle=layout_b.inner
        )
        columns = utils.TmemAllocator(
            storage.base, barrier_for_retrieve=pipeline.NamedBarrier(barrier_id=1, num_threads=128)
        )
        columns.allocate(512)
        stage = [0, 1, 2]
        arriving = cute.size_in_bytes(element, cute.select(layout_a, mode=stage)) + cute.size_in_bytes(
            element, cute.select(layout_b, mode=stage)
        )
        one, all_threads = (
            pipeline.CooperativeGroup(pipeline.Agent.Thread),
            pipeline.CooperativeGroup(pipeline.Agent.Thread, 128),
        )
        filling, taking = pipeline.PipelineTmaUmma.create(
            num_stages=STAGES,
            producer_group=one,
            consumer_group=one,
            tx_count=arriving,
            barrier_storage=storage.filled.data_ptr(),
        ).make_participants()
        summing, rounding = pipeline.PipelineUmmaAsync.create(
            num_stages=1, producer_group=one, consumer_group=all_threads, barrier_storage=storage.summed.data_ptr()
        ).make_participants()
        global_a = cute.local_tile(a, tile, (row, column, None), proj=(1, None, 1))
        global_b = cute.local_tile(b, tile, (row, column, None), proj=(None, 1, 1))
        part = mma.get_slice(0)
        parts_a, parts_b = part.partition_A(global_a), part.partition_B(global_b)
        parts_c = part.partition_C(cute.local_tile(c, tile, (row, column, None), proj=(1, 1, None)))
        fragment_a, fragment_b = mma.make_fragment_A(shared_a), mma.make_fragment_B(shared_b)
        shape = mma.make_fragment_C(mma.partition_shape_C(tile[:2]))
        to_a, from_a = cpasync.tma_partition(
            copy_a, 0, ONE(1), cute.group_modes(shared_a, 0, 3), cute.group_modes(parts_a, 0, 3)
        )
        to_b, from_b = cpasync.tma_partition(
            copy_b, 0, ONE(1), cute.group_modes(shared_b, 0, 3), cute.group_modes(parts_b, 0, 3)
        )
        columns.wait_for_alloc()
        base = columns.retrieve_ptr(SINGLE)
        sums = cute.make_tensor(base, shape.layout)
        strip = ((cute.size(sums, mode=[0, 0]), cute.size(sums, mode=[0, 1]) // 4),)
        strips, outs = cute.zipped_divide(sums, strip), cute.zipped_divide(parts_c, strip)
        read = tcgen05.make_tmem_copy(
            cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition(n // 4)), SINGLE), strips[None, 0]
        )
        mine = read.get_slice(thread)
        source, target = mine.partition_S(strips), mine.partition_D(outs)
        values = cute.make_rmem_tensor(target[None, None, 0].shape, SINGLE)
        rounded = cute.make_rmem_tensor(target[None, None, 0].shape, c.element_type)
        if warp_number == 0:
            whole = summing.acquire_and_advance()
            for _ in cutlass.range(cute.size(global_a, mode=[2]), prefetch_stages=STAGES - 2):
                empty = filling.acquire_and_advance()
                cute.copy(copy_a, from_a[(None, empty.count)], to_a[(None, empty.index)], tma_bar_ptr=empty.barrier)
                cute.copy(copy_b, from_b[(None, empty.count)], to_b[(None, empty.index)], tma_bar_ptr=empty.barrier)
                full = taking.wait_and_advance()
                for i in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                    cute.gemm(
                        mma, sums, fragment_a[None, None, i, full.index], fragment_b[None, None, i, full.index], sums
                    )
                    mma.set(tcgen05.Field.ACCUMULATE, True)
                full.release()
            whole.commit()
        columns.relinquish_alloc_permit()
        done = rounding.wait_and_advance()
        for i in cutlass.range(cute.size(source, mode=[2])):
            cute.copy(read, source[None, None, i], values)
            cute.arch.fence_view_async_tmem_load()
            rounded.store(values.load().to(c.element_type))
            cute.autovec_copy(rounded, target[None, None, i])
        done.release()
        pipeline.sync(barrier_id=1)
        columns.free(base)

    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        major, group, place = tcgen05.OperandMajorMode.K, tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM
        if cutlass.const_expr(element.width == 16):
            op = tcgen05.MmaF16BF16Op(element, SINGLE, (128, n, 16), group, place, major, major)
        else:
            op = tcgen05.MmaFP8Op(element, SINGLE, (128, n, 32), group, place, major, major)
        mma = cute.make_tiled_mma(op)
        layout_a = blackwell.make_smem_layout_a(mma, tile, element, STAGES)
        layout_b = blackwell.make_smem_layout_b(mma, tile, element, STAGES)
        load, stage = cpasync.CopyBulkTensorTileG2SOp(group), [0, 1, 2]
        copy_a, map_a = cute.nvgpu.make_tiled_tma_atom_A(load, a, cute.select(layout_a, mode=stage), tile, mma)
        copy_b, map_b = cute.nvgpu.make_tiled_tma_atom_B(load, b, cute.select(layout_b, mode=stage), tile, mma)
        grid = cute.ceil_div((*c.layout.shape, 1), tile[:2])
        kernel(mma, copy_a, map_a, copy_b, map_b, c, layout_a, layout_b).launch(grid=grid, block=(128, 1, 1))

    return host


def operands(element, rows, width):
    def matrix(kind, height, across):
        shape = (cute.sym_int32(divisibility=height), cute.sym_int32(divisibility=across))
        return make_fake_compact_tensor(kind, shape, stride_order=(1, 0), assumed_align=16)

    return [matrix(element, 128, 128), matrix(element, 128, 128), matrix(HALF, rows, width)]


CASES = {
    "ampere": lambda: (ampere(), operands(HALF, 128, 128)),
    "warpgroup": lambda: (warpgroups(64, 128), operands(HALF, 64, 128)),
    "warpgroups": lambda: (warpgroups(128, 128), operands(HALF, 128, 128)),
    "warpgroups-wide": lambda: (warpgroups(128, 256), operands(HALF, 128, 256)),
    "memory": lambda: (tensor_memory(64, HALF), operands(HALF, 128, 256)),
    "memory-wide": lambda: (tensor_memory(256, HALF), operands(HALF, 128, 256)),
    "memory-narrow": lambda: (tensor_memory(128, cutlass.Float8E4M3FN), operands(cutlass.Float8E4M3FN, 128, 256)),
}
