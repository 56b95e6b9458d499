; SPDX-License-Identifier: Apache-2.0
; Scalars and vectors of every width, intrinsics, conversions.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @vectors(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %h = load <8 x half>, ptr addrspace(1) %in, align 16
  %h2 = fmul <8 x half> %h, %h
  store <8 x half> %h2, ptr addrspace(1) %out, align 16
  %b = load <2 x bfloat>, ptr addrspace(1) %in, align 4
  %b2 = fadd <2 x bfloat> %b, <bfloat 1.0, bfloat 2.0>
  store <2 x bfloat> %b2, ptr addrspace(1) %out, align 4
  %c = load <4 x i8>, ptr addrspace(1) %in, align 4
  %c2 = add <4 x i8> %c, <i8 1, i8 2, i8 3, i8 4>
  store <4 x i8> %c2, ptr addrspace(1) %out, align 4
  %f = load <8 x float>, ptr addrspace(1) %in, align 32
  %f2 = fadd <8 x float> %f, %f
  store <8 x float> %f2, ptr addrspace(1) %out, align 32
  %d = load <2 x double>, ptr addrspace(1) %in, align 16
  %d2 = fdiv <2 x double> %d, <double 3.0, double -0.0>
  store <2 x double> %d2, ptr addrspace(1) %out, align 16
  ret void
}

define ptx_kernel void @integers(ptr addrspace(1) %p, i128 %wide, i1 %flag, i8 zeroext %odd) {
  %a = load i64, ptr addrspace(1) %p
  %w = sext i64 %a to i128
  %m = mul i128 %w, %wide
  %s = lshr i128 %m, 37
  store i128 %s, ptr addrspace(1) %p
  %t = trunc i64 %a to i32
  %q = sdiv i32 %t, 7
  %r = call i32 @llvm.fshl.i32(i32 %t, i32 %q, i32 5)
  %e = zext i8 %odd to i32
  %x = select i1 %flag, i32 %r, i32 %e
  %y = call i32 @llvm.ctpop.i32(i32 %x)
  %z = call i32 @llvm.bitreverse.i32(i32 %y)
  %u = call i32 @llvm.usub.sat.i32(i32 %z, i32 9)
  %v = call i32 @llvm.smax.i32(i32 %u, i32 -4)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @floats(ptr addrspace(1) %p, float %a, double %b, half %c) {
  %1 = call float @llvm.fma.f32(float %a, float %a, float 0x3FF8000000000000)
  %2 = call float @llvm.sqrt.f32(float %1)
  %3 = call float @llvm.nvvm.ex2.approx.ftz.f(float %2)
  %4 = call float @llvm.maximum.f32(float %3, float %a)
  %5 = call float @llvm.copysign.f32(float %4, float -1.0)
  %6 = fptosi float %5 to i64
  store i64 %6, ptr addrspace(1) %p
  %7 = call double @llvm.floor.f64(double %b)
  %8 = fcmp ueq double %7, %b
  %9 = fpext half %c to float
  %10 = select i1 %8, float %9, float %5
  store float %10, ptr addrspace(1) %p
  %11 = fptrunc double %7 to half
  store half %11, ptr addrspace(1) %p
  %12 = uitofp i64 %6 to double
  store double %12, ptr addrspace(1) %p
  ret void
}

declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.bitreverse.i32(i32)
declare i32 @llvm.usub.sat.i32(i32, i32)
declare i32 @llvm.smax.i32(i32, i32)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
declare float @llvm.maximum.f32(float, float)
declare float @llvm.copysign.f32(float, float)
declare double @llvm.floor.f64(double)
