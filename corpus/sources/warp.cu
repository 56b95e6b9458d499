// SPDX-License-Identifier: Apache-2.0
// Warp-level intrinsics.

extern "C" __global__ void shuffles(int* out, const int* in, const double* wide) {
    const unsigned all = 0xFFFFFFFFu;
    int value = in[threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(all, value, offset);
    value += __shfl_xor_sync(all, value, 5) + __shfl_up_sync(all, value, 3) + __shfl_sync(all, value, 7, 16);
    const double d = __shfl_xor_sync(all, wide[threadIdx.x], 1, 8);
    const long long w = __shfl_sync(all, static_cast<long long>(value) << 20, 0);
    out[threadIdx.x] = value + static_cast<int>(d) + static_cast<int>(w >> 3);
}

extern "C" __global__ void votes(unsigned* out, const int* in) {
    const bool wanted = in[threadIdx.x] > 3;
    unsigned result = __ballot_sync(0xFFFFFFFFu, wanted) + __popc(__activemask());
    result += __any_sync(0xFFFFFFFFu, wanted) + 2 * __all_sync(0x0000FFFFu, wanted);
    __syncwarp(0xF0F0F0F0u);
    out[threadIdx.x] = result;
}

extern "C" __global__ void matches(unsigned* out, const unsigned* in, const unsigned long long* wide) {
    int predicate;
    out[threadIdx.x] = __match_any_sync(0xFFFFFFFFu, in[threadIdx.x]) + __match_all_sync(0xFFFFFFFFu, wide[threadIdx.x], &predicate) + predicate;
}

extern "C" __global__ void bits(unsigned* out, const unsigned* in, const unsigned long long* wide) {
    const unsigned a = in[threadIdx.x];
    const unsigned long long b = wide[threadIdx.x];
    out[0] = __clz(a) + __clzll(b) + __ffs(a) + __ffsll(b) + __popc(a) + __popcll(b) + __brev(a) + static_cast<unsigned>(__brevll(b));
    out[1] = __byte_perm(a, a >> 3, 0x2103) + __funnelshift_l(a, a + 1, 5) + __funnelshift_rc(a, a + 1, a & 31) + __fns(a, 3, 2);
    out[2] = __umulhi(a, a + 7) + __mul24(a, 3) + __umul24(a, a) + __sad(a, a + 1, 3u) + __usad(a, 2, 1) + __hadd(a, 4) + __rhadd(a, 5) + __uhadd(a, 6);
    out[3] = static_cast<unsigned>(__umul64hi(b, b) + __mul64hi(b, -3));
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void reductions(unsigned* out, const unsigned* in, const int* s) {
    const unsigned v = in[threadIdx.x], m = 0xFFFFFFFFu;
    out[threadIdx.x] = __reduce_add_sync(m, v) + __reduce_min_sync(m, v) + __reduce_max_sync(m, v) + __reduce_and_sync(m, v) + __reduce_or_sync(m, v) + __reduce_xor_sync(m, v) +
                       __reduce_add_sync(m, s[threadIdx.x]) + __reduce_max_sync(m, s[threadIdx.x]);
}
#endif
