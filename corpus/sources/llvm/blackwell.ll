; SPDX-License-Identifier: Apache-2.0
; Tensor memory of sm_100a, as emitted by LLVM's back end.
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3), i32)
declare void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6), i32)
declare void @llvm.nvvm.tcgen05.relinq.alloc.permit.cg1()
declare void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3))
declare void @llvm.nvvm.tcgen05.fence.before.thread.sync()
declare void @llvm.nvvm.tcgen05.fence.after.thread.sync()
declare void @llvm.nvvm.tcgen05.cp.128x256b.cg1(ptr addrspace(6), i64)
declare void @llvm.nvvm.tcgen05.shift.down.cg1(ptr addrspace(6))
declare <4 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6), i1)
declare <32 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x32(ptr addrspace(6), i1)
declare void @llvm.nvvm.tcgen05.st.32x32b.x4(ptr addrspace(6), <4 x i32>, i1)
declare void @llvm.nvvm.tcgen05.wait.ld()
declare void @llvm.nvvm.tcgen05.wait.st()

define ptx_kernel void @tensor_memory(ptr addrspace(3) %slot, ptr addrspace(6) %tmem, i64 %descriptor, ptr addrspace(1) %out) {
  call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) %slot, i32 128)
  call void @llvm.nvvm.tcgen05.relinq.alloc.permit.cg1()
  call void @llvm.nvvm.tcgen05.cp.128x256b.cg1(ptr addrspace(6) %tmem, i64 %descriptor)
  call void @llvm.nvvm.tcgen05.fence.before.thread.sync()
  call void @llvm.nvvm.tcgen05.fence.after.thread.sync()
  call void @llvm.nvvm.tcgen05.shift.down.cg1(ptr addrspace(6) %tmem)
  call void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3) %slot)
  %narrow = call <4 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6) %tmem, i1 0)
  %wide = call <32 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x32(ptr addrspace(6) %tmem, i1 1)
  call void @llvm.nvvm.tcgen05.wait.ld()
  call void @llvm.nvvm.tcgen05.st.32x32b.x4(ptr addrspace(6) %tmem, <4 x i32> %narrow, i1 0)
  call void @llvm.nvvm.tcgen05.wait.st()
  store <4 x i32> %narrow, ptr addrspace(1) %out
  store <32 x i32> %wide, ptr addrspace(1) %out
  call void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6) %tmem, i32 128)
  ret void
}
