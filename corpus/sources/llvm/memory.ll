; SPDX-License-Identifier: Apache-2.0
; Variables in every space, atomics at every scope and order, fences, volatile and invariant accesses.
target triple = "nvptx64-nvidia-cuda"

@table = addrspace(4) constant [6 x i16] [i16 1, i16 -2, i16 3, i16 -4, i16 5, i16 6], align 8
@cells = addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 16
@link = addrspace(1) global { ptr addrspace(1), ptr, i64 } { ptr addrspace(1) @cells, ptr addrspacecast (ptr addrspace(1) getelementptr ([4 x i32], ptr addrspace(1) @cells, i64 0, i64 2) to ptr), i64 -1 }, align 8
@tile = internal addrspace(3) global [256 x float] undef, align 16
@outside = external addrspace(1) global i64, align 8
@dynamic = external addrspace(3) global [0 x i8], align 16
@text = private addrspace(1) constant [7 x i8] c"text\0A\22\00", align 1

define ptx_kernel void @atomics(ptr %p, ptr addrspace(1) %g, float %f, double %d) {
  %1 = atomicrmw add ptr addrspace(1) %g, i32 1 seq_cst
  %2 = atomicrmw fadd ptr %p, float %f monotonic
  %3 = cmpxchg ptr addrspace(1) %g, i32 %1, i32 7 acq_rel acquire
  %4 = atomicrmw umax ptr addrspace(3) @tile, i32 9 syncscope("block") monotonic
  fence syncscope("device") acq_rel
  fence seq_cst
  %5 = load atomic i32, ptr addrspace(1) @cells syncscope("device") acquire, align 4
  store atomic i32 %5, ptr addrspace(1) %g syncscope("block") release, align 4
  %6 = atomicrmw xchg ptr %p, i64 5 acquire
  %7 = atomicrmw fadd ptr addrspace(1) %g, double %d syncscope("device") monotonic
  %8 = atomicrmw uinc_wrap ptr addrspace(1) %g, i32 31 monotonic
  %9 = cmpxchg ptr addrspace(1) %g, i8 3, i8 4 monotonic monotonic
  %10 = load volatile i64, ptr addrspace(1) @outside
  store volatile i64 %10, ptr %p
  ret void
}

define ptx_kernel void @accesses(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) %out, i32 %i) {
  %e = zext i32 %i to i64
  %a = getelementptr [6 x i16], ptr addrspace(4) @table, i64 0, i64 %e
  %b = load i16, ptr addrspace(4) %a
  %c = sext i16 %b to i32
  %d = getelementptr [256 x float], ptr addrspace(3) @tile, i64 0, i64 %e
  %f = load <4 x float>, ptr addrspace(3) @tile, align 16
  store <4 x float> %f, ptr addrspace(1) %out, align 16
  %g = load <2 x i64>, ptr addrspace(1) %in, align 16, !invariant.load !0
  store <2 x i64> %g, ptr addrspace(1) %out, align 16
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 %c, ptr addrspace(3) %d
  %h = getelementptr i8, ptr addrspace(3) @dynamic, i32 %i
  %j = load i8, ptr addrspace(3) %h
  %k = getelementptr i8, ptr addrspace(1) %out, i64 -7
  store i8 %j, ptr addrspace(1) %k
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %out, ptr addrspace(1) @text, i64 7, i1 false)
  call void @llvm.memset.p1.i64(ptr addrspace(1) %out, i8 5, i64 %e, i1 false)
  ret void
}

declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)
!0 = !{}
