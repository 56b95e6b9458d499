; SPDX-License-Identifier: Apache-2.0
; An empty module: only the header is emitted.
target triple = "nvptx64-nvidia-cuda"
