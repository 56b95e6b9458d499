; SPDX-License-Identifier: Apache-2.0
; Line tables and inlining, with DWARF sections.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @traced(ptr addrspace(1) %out, float %x) !dbg !4 {
entry:
  %a = fmul float %x, 2.0, !dbg !9
  %b = fadd float %a, 1.0, !dbg !10
  store float %b, ptr addrspace(1) %out, !dbg !11
  ret void, !dbg !12
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, producer: "corpus", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "traced.py", directory: "sources")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 2}
!4 = distinct !DISubprogram(name: "traced", linkageName: "traced", scope: !1, file: !1, line: 10, type: !5, scopeLine: 10, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{null}
!7 = distinct !DISubprogram(name: "helper", linkageName: "helper", scope: !1, file: !1, line: 3, type: !5, scopeLine: 3, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!8 = distinct !DILocation(line: 12, column: 9, scope: !4)
!9 = !DILocation(line: 4, column: 16, scope: !7, inlinedAt: !8)
!10 = !DILocation(line: 5, column: 5, scope: !7, inlinedAt: !8)
!11 = !DILocation(line: 13, column: 5, scope: !4)
!12 = !DILocation(line: 14, column: 1, scope: !4)
