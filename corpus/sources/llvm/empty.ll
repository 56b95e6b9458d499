; SPDX-License-Identifier: Apache-2.0
; A module with nothing in it: only the header comes out.
target triple = "nvptx64-nvidia-cuda"
