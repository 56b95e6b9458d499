; SPDX-License-Identifier: Apache-2.0
; Hopper's asynchronous instructions, as emitted by LLVM's back end.
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.wgmma.commit_group.sync.aligned()
declare void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64)
declare void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.2d(ptr addrspace(7), ptr addrspace(3), ptr, i32, i32, i16, i64, i1, i1, i32)
declare void @llvm.nvvm.cp.async.bulk.tensor.s2g.tile.3d(ptr addrspace(3), ptr, i32, i32, i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.commit.group()
declare void @llvm.nvvm.cp.async.bulk.wait.group.read(i32)
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
declare void @llvm.nvvm.barrier.cluster.arrive.relaxed.aligned()
declare void @llvm.nvvm.barrier.cluster.wait.aligned()
declare { i32, i1 } @llvm.nvvm.elect.sync(i32)
declare void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32)
declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
declare void @llvm.nvvm.griddepcontrol.wait()

define ptx_kernel void @pipeline(ptr addrspace(3) %tile, ptr addrspace(3) %barrier, ptr byval([128 x i8]) align 64 %map, i32 %x, ptr addrspace(1) %out) #0 {
  call void @llvm.nvvm.griddepcontrol.wait()
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %barrier, i32 1)
  %rank = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  %remote = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %tile, i32 %rank)
  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.2d(ptr addrspace(7) %remote, ptr addrspace(3) %barrier, ptr %map, i32 %x, i32 0, i16 3, i64 0, i1 1, i1 0, i32 0)
  call void @llvm.nvvm.cp.async.bulk.tensor.s2g.tile.3d(ptr addrspace(3) %tile, ptr %map, i32 %x, i32 0, i32 1, i64 99, i1 1)
  call void @llvm.nvvm.cp.async.bulk.commit.group()
  call void @llvm.nvvm.cp.async.bulk.wait.group.read(i32 0)
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %barrier)
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) %barrier, i64 %state)
  call void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 232)
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
  call void @llvm.nvvm.barrier.cluster.arrive.relaxed.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  %chosen = call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)
  %leader = extractvalue { i32, i1 } %chosen, 1
  %both = and i1 %leader, %done
  %word = zext i1 %both to i32
  store i32 %word, ptr addrspace(1) %out
  ret void
}

attributes #0 = { "nvvm.maxntid"="128,1,1" "nvvm.cluster_dim"="2,1,1" "nvvm.minctasm"="1" }
