// SPDX-License-Identifier: Apache-2.0
// Every special register that a kernel can read.

#define READ32(name) { unsigned v; asm volatile("mov.u32 %0, %%" name ";" : "=r"(v)); *out++ = v; }
#define READ64(name) { unsigned long long v; asm volatile("mov.u64 %0, %%" name ";" : "=l"(v)); *out++ = v; }
#define READPRED(name) { unsigned v; asm volatile("{ .reg .pred p; mov.pred p, %%" name "; selp.u32 %0, 1, 0, p; }" : "=r"(v)); *out++ = v; }

extern "C" __global__ void identity(unsigned long long* out) {
    READ32("tid.x") READ32("tid.y") READ32("tid.z") READ32("ntid.x") READ32("ntid.y") READ32("ntid.z")
    READ32("ctaid.x") READ32("ctaid.y") READ32("ctaid.z") READ32("nctaid.x") READ32("nctaid.y") READ32("nctaid.z")
    READ32("laneid") READ32("warpid") READ32("nwarpid") READ32("smid") READ32("nsmid") READ64("gridid")
    READ32("lanemask_eq") READ32("lanemask_le") READ32("lanemask_lt") READ32("lanemask_ge") READ32("lanemask_gt")
}

extern "C" __global__ void clocks(unsigned long long* out) {
    READ32("clock") READ32("clock_hi") READ64("clock64") READ64("globaltimer") READ32("globaltimer_lo") READ32("globaltimer_hi")
    READ32("pm0") READ32("pm7") READ64("pm0_64") READ32("envreg0") READ32("envreg31")
    *out++ = clock64() + clock();
}

extern "C" __global__ void memory_sizes(unsigned long long* out) {
    READ32("total_smem_size") READ32("dynamic_smem_size")
#if __CUDA_ARCH__ >= 800
    READ32("reserved_smem_offset_begin") READ32("reserved_smem_offset_end") READ32("reserved_smem_offset_cap") READ32("reserved_smem_offset_0")
#endif
#if __CUDA_ARCH__ >= 900
    READ32("aggr_smem_size") READ64("current_graph_exec")
#endif
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void cluster_identity(unsigned long long* out) {
    READPRED("is_explicit_cluster") READ32("clusterid.x") READ32("clusterid.y") READ32("clusterid.z") READ32("nclusterid.x")
    READ32("cluster_ctaid.x") READ32("cluster_ctaid.y") READ32("cluster_nctaid.x") READ32("cluster_ctarank") READ32("cluster_nctarank")
}
#endif
