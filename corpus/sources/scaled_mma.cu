// SPDX-License-Identifier: Apache-2.0
// Block-scaled and narrow-float MMA of sm_120a.

#define OPERANDS                                                             \
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                         \
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(scale_a), "r"(scale_b)
#define REGISTERS "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}"

extern "C" __global__ void scaled(const unsigned* a, const unsigned* b, float* out, unsigned scale_a, unsigned scale_b) {
    float c[4] = {out[0], out[1], out[2], out[3]};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 " REGISTERS ", {%10}, {0, 1}, {%11}, {0, 1};" OPERANDS);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e3m2.f32.ue8m0 " REGISTERS ", %10, {2, 0}, %11, {3, 1};" OPERANDS);
    asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 " REGISTERS ", {%10}, {0, 0}, {%11}, {0, 0};" OPERANDS);
    asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 " REGISTERS ", {%10}, {0, 0}, {%11}, {0, 0};" OPERANDS);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32 " REGISTERS ";" OPERANDS);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e5m2.e2m1.f32 " REGISTERS ";" OPERANDS);
    for (int i = 0; i < 4; ++i) out[i] = c[i];
}

extern "C" __global__ void sparse_scaled(const unsigned* a, const unsigned* b, float* out, unsigned metadata) {
    float c[4] = {out[0], out[1], out[2], out[3]};
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0;"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(metadata));
    for (int i = 0; i < 4; ++i) out[i] = c[i];
}
