// SPDX-License-Identifier: Apache-2.0
// Minimal declarations for CUDA code in clang without a toolkit.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ __attribute__((always_inline)) inline

using size_t = decltype(sizeof 0);

typedef float float2v __attribute__((ext_vector_type(2)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef int int4v __attribute__((ext_vector_type(4)));
typedef short short8v __attribute__((ext_vector_type(8)));
typedef unsigned char byte4v __attribute__((ext_vector_type(4)));

namespace thread {
__device__ inline unsigned x() { return __nvvm_read_ptx_sreg_tid_x(); }
__device__ inline unsigned y() { return __nvvm_read_ptx_sreg_tid_y(); }
__device__ inline unsigned lane() { return __nvvm_read_ptx_sreg_laneid(); }
}  // namespace thread

namespace block {
__device__ inline unsigned x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
__device__ inline unsigned threads() { return __nvvm_read_ptx_sreg_ntid_x(); }
__device__ inline unsigned count() { return __nvvm_read_ptx_sreg_nctaid_x(); }
__device__ inline void synchronise() { __nvvm_bar_sync(0); }
}  // namespace block

__device__ inline unsigned global_index() { return block::x() * block::threads() + thread::x(); }
