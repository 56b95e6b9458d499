// SPDX-License-Identifier: Apache-2.0
// Bulk and tensor copies of Hopper, mbarriers, clusters and distributed shared memory, through inline assembly.

struct alignas(64) TensorMap { unsigned long long opaque[16]; };

__device__ __forceinline__ unsigned address_of(const void* pointer) {
    unsigned address;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }" : "=r"(address) : "l"(pointer));
    return address;
}

__device__ __forceinline__ void wait_for(unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n"
        ".reg .pred P1;\n"
        "LAB_WAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra DONE;\n"
        "bra LAB_WAIT;\n"
        "DONE:\n"
        "}\n" ::"r"(barrier), "r"(parity) : "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) load_tiles(const __grid_constant__ TensorMap map, float* out, int steps) {
    __shared__ alignas(128) float tile[4][1024];
    __shared__ alignas(8) unsigned long long full[4], empty[4];
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        for (int i = 0; i < 4; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(&full[i])), "r"(1));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(&empty[i])), "r"(blockDim.x));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    float sum = 0.0f;
    for (int step = 0; step < steps; ++step) {
        const int stage = step & 3;
        if (threadIdx.x == 0) {
            wait_for(address_of(&empty[stage]), ((step >> 2) & 1) ^ 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(&full[stage])), "r"(4096) : "memory");
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
                " [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(address_of(tile[stage])),
                "l"(&map), "r"(address_of(&full[stage])), "r"(step * 32), "r"(static_cast<int>(rank) * 32), "h"(static_cast<unsigned short>(3)), "l"(0x14F0000000000000ull)
                : "memory");
        }
        wait_for(address_of(&full[stage]), (step >> 2) & 1);
        sum += tile[stage][threadIdx.x];
        asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [remote]; }" ::"r"(address_of(&empty[stage])), "r"(rank ^ 1) : "memory");
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void copy_shapes(const __grid_constant__ TensorMap map, const void* global, void* destination, int x) {
    __shared__ alignas(128) unsigned char buffer[4096];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned to = address_of(buffer), at = address_of(&barrier);
    const unsigned short offset = 2;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(global), "r"(1024), "r"(at) : "memory");
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(to), "l"(&map), "r"(x), "r"(at) : "memory");
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %2}], [%3];" ::"r"(to), "l"(&map), "r"(x), "r"(at) : "memory");
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %2, %2, %2}], [%3];" ::"r"(to), "l"(&map), "r"(x), "r"(at) : "memory");
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %2, %2}], [%3], {%4, %4};" ::"r"(to), "l"(&map), "r"(x), "r"(at), "h"(offset) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %2}], [%1];" ::"l"(&map), "r"(to), "r"(x) : "memory");
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %2}], [%1];" ::"l"(&map), "r"(to), "r"(x) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%0], [%1], %2;" ::"l"(destination), "r"(to), "r"(256) : "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" ::"l"(destination), "r"(to) : "memory");
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 2048; cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%1, {%2, %2}];" ::"l"(global), "l"(&map), "r"(x) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 1;" ::: "memory");
}

extern "C" __global__ void barrier_operations(unsigned long long* out, const void* global) {
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned at = address_of(&barrier);
    unsigned long long state;
    unsigned done, pending;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
    asm volatile("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %0, [%1], 2;" : "=l"(state) : "r"(at) : "memory");
    asm volatile("mbarrier.arrive_drop.expect_tx.relaxed.cluster.shared::cta.b64 %0, [%1], 16;" : "=l"(state) : "r"(at) : "memory");
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 64; mbarrier.complete_tx.shared::cta.relaxed.cta.b64 [%0], 64;" ::"r"(at) : "memory");
    asm volatile("{ .reg .pred p; mbarrier.test_wait.acquire.cta.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at), "l"(state) : "memory");
    asm volatile("{\n\t.reg .pred complete;\n\tmbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 complete, [%1], 1, 0x989680;\n\tselp.b32 %0, 1, 0, complete;\n\t}" : "+r"(done) : "r"(at) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at), "l"(global) : "memory");
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at) : "memory");
    out[0] = state + done + pending;
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) across_the_cluster(unsigned* out) {
    __shared__ alignas(16) unsigned slots[64];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned remote, remote_barrier, value, rank;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 2;" : "=r"(remote) : "r"(address_of(slots)));
    asm volatile("mapa.shared::cluster.u32 %0, %1, 2;" : "=r"(remote_barrier) : "r"(address_of(&barrier)));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(remote));
    asm volatile("ld.shared::cluster.u32 %0, [%1+4];" : "=r"(value) : "r"(remote));
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%0], {%1, %2}, [%3];" ::"r"(remote), "r"(value), "r"(rank), "r"(remote_barrier) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(remote), "r"(value), "r"(remote_barrier) : "memory");
    asm volatile("atom.add.acq_rel.cluster.shared::cluster.u32 %0, [%1], 1;" : "=r"(value) : "r"(remote) : "memory");
    asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait;" ::: "memory");
    unsigned leader;
    asm volatile("{ .reg .pred p; .reg .b32 lane; elect.sync lane|p, 0xFFFFFFFF; selp.b32 %0, lane, 99, p; }" : "=r"(leader));
    asm volatile("griddepcontrol.launch_dependents; griddepcontrol.wait;" ::: "memory");
    out[threadIdx.x] = value + leader;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
extern "C" __global__ void edit_tensor_map(TensorMap* map, unsigned long long address) {
    __shared__ alignas(128) TensorMap local;
    const unsigned at = address_of(&local);
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at), "l"(address) : "memory");
    asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(at), "r"(64) : "memory");
    asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 0x3;" ::"r"(at) : "memory");
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(map), "r"(at) : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}
#endif
