// SPDX-License-Identifier: Apache-2.0
// Features of sm_100 and later outside the tensor cores: 256-bit loads, packed pairs of floats, wide reductions, launch control.

extern "C" __global__ void wide_loads(float* out, const float* in) {
    float v[8];
    asm volatile("ld.global.nc.v8.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];" : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7]) : "l"(in));
    unsigned long long p;
    asm("mov.b64 %0, {%1, %2};" : "=l"(p) : "f"(v[0]), "f"(v[1]));
    asm("fma.rn.f32x2 %0, %0, %0, %0; add.rz.f32x2 %0, %0, %0; mul.rn.ftz.f32x2 %0, %0, %0;" : "+l"(p));
    asm("mov.b64 {%0, %1}, %2;" : "=f"(v[0]), "=f"(v[1]) : "l"(p));
    asm volatile("st.global.L2::evict_last.v8.b32 [%0], {%1, %2, %3, %4, %1, %2, %3, %4};" ::"l"(out), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]) : "memory");
    asm volatile("ld.relaxed.gpu.global.v4.u64 {%0, _, _, _}, [%1];" : "=l"(p) : "l"(in) : "memory");
    out[0] = fmaxf(fmaxf(v[0], v[1]), v[2]) + static_cast<float>(p);
}

extern "C" __global__ void three_operands(float* f) {
    float r;
    asm("max.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(f[0]), "f"(f[1]), "f"(f[2]));
    asm("min.ftz.NaN.abs.f32 %0, %0, %1, %2;" : "+f"(r) : "f"(f[3]), "f"(f[4]));
    asm("add.rn.f32.f16 %0, %1, %0;" : "+f"(r) : "h"(static_cast<unsigned short>(0x3C00)));
    asm("redux.sync.max.abs.NaN.f32 %0, %0, 0xFFFFFFFF;" : "+f"(r));
    f[5] = r;
}

extern "C" __global__ void conversions(unsigned* out, const float* f) {
    unsigned r;
    asm("cvt.rs.relu.satfinite.e4m3x4.f32 %0, {%1, %2, %3, %4}, %5;" : "=r"(r) : "f"(f[0]), "f"(f[1]), "f"(f[2]), "f"(f[3]), "r"(out[0]));
    asm volatile("{ .reg .b8 lo; .reg .b16 h; cvt.rn.satfinite.e2m1x2.f32 lo, %1, %2; mov.b16 h, {lo, lo}; mov.b32 %0, {h, h}; }" : "=r"(r) : "f"(f[4]), "f"(f[5]));
    asm volatile("{ .reg .b16 h; cvt.rp.satfinite.ue8m0x2.f32 h, %1, %2; cvt.rn.bf16x2.ue8m0x2 %0, h; }" : "=r"(r) : "f"(f[6]), "f"(f[7]));
    out[1] = r;
}

extern "C" __global__ void launch_control(unsigned* out) {
    __shared__ alignas(16) unsigned long long response[2];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(response)), at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%0], [%1];" ::"r"(to), "r"(at) : "memory");
    unsigned x;
    asm volatile(
        "{\n\t.reg .b128 answer;\n\t.reg .pred canceled;\n\tld.shared.b128 answer, [%1];\n\t"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 canceled, answer;\n\t"
        "@canceled clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, _, _, _}, answer;\n\t}"
        : "=r"(x) : "r"(to));
    out[0] = x;
    asm volatile("st.bulk.weak.shared::cta [%0], 16, 0;" ::"r"(to) : "memory");
}

extern "C" __global__ void narrow_matrices(unsigned* out) {
    __shared__ alignas(128) unsigned char tile[1024];
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(tile)) + threadIdx.x * 16;
    unsigned a, b;
    asm volatile("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%0}, [%1];" : "=r"(a) : "r"(at));
    asm volatile("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%0], {%1};" ::"r"(at), "r"(a + b) : "memory");
    out[threadIdx.x] = a;
}
