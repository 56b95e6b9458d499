; SPDX-License-Identifier: Apache-2.0
; Calls of every kind, aliases, branch tables, parameters of odd types, kernel attributes.
target triple = "nvptx64-nvidia-cuda"

@format = private addrspace(1) constant [8 x i8] c"%d %f\0A\00\00"
@renamed = alias float (float), ptr @twice

define float @twice(float %x) noinline {
  %y = fadd float %x, %x
  ret float %y
}

define internal { i32, float } @pair(i32 %a, [3 x i16] %b, double %d) noinline {
  %x = extractvalue [3 x i16] %b, 1
  %y = sext i16 %x to i32
  %z = add i32 %a, %y
  %f = fptrunc double %d to float
  %r = insertvalue { i32, float } undef, i32 %z, 0
  %s = insertvalue { i32, float } %r, float %f, 1
  ret { i32, float } %s
}

define <4 x float> @vector_result(<2 x half> %a, i8 signext %b, i1 %c) noinline {
  %x = fpext <2 x half> %a to <2 x float>
  %y = shufflevector <2 x float> %x, <2 x float> undef, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  ret <4 x float> %y
}

define void @never() noreturn {
  call void @llvm.trap()
  unreachable
}

declare i32 @vprintf(ptr, ptr)
declare void @llvm.trap()
declare i64 @elsewhere(ptr byval({ i32, [5 x i8] }) align 4, i64)

define ptx_kernel void @caller(ptr byval({ i32, [5 x i8], double }) align 8 %s, ptr %o, i32 %n, ptr %f) #0 {
entry:
  %1 = call { i32, float } @pair(i32 %n, [3 x i16] [i16 1, i16 2, i16 3], double 2.5)
  %2 = extractvalue { i32, float } %1, 0
  %3 = call i32 %f(i32 %2, <2 x half> <half 1.0, half 2.0>)
  %4 = call <4 x float> @vector_result(<2 x half> <half 3.0, half 4.0>, i8 -3, i1 true)
  store <4 x float> %4, ptr %o
  %b = alloca [8 x i32]
  %e = getelementptr i32, ptr %b, i32 %n
  store i32 %3, ptr %e
  %v = call i32 @vprintf(ptr addrspacecast (ptr addrspace(1) @format to ptr), ptr %b)
  %t = call float @renamed(float 1.0)
  store float %t, ptr %o
  switch i32 %n, label %done [
    i32 0, label %one
    i32 1, label %two
    i32 2, label %three
    i32 3, label %one
    i32 4, label %two
    i32 5, label %never
  ]
one:
  store i32 1, ptr %o
  br label %done
two:
  store i64 2, ptr %o
  br label %done
three:
  %q = load i8, ptr %s
  %r = sext i8 %q to i128
  store i128 %r, ptr %o
  br label %done
never:
  call void @never()
  unreachable
done:
  %c = icmp ult i32 %n, 100
  br i1 %c, label %entry2, label %exit
entry2:
  %dynamic = alloca i8, i32 %n
  store i8 1, ptr %dynamic
  br label %exit
exit:
  ret void
}

attributes #0 = { "nvvm.maxntid"="128,2,1" "nvvm.minctasm"="2" "nvvm.maxnreg"="96" }
