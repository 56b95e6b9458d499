// C++ features: mathematics, narrow types, packed small integers, calls, tables, local memory.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void mathematics(const float *x, float *y) {
  float v = x[threadIdx.x];
  y[threadIdx.x] = sinf(v) + cosf(v) * expf(-v) + logf(v) * powf(v, 1.5f) + cbrtf(v) + erff(v) + tanhf(v) + atan2f(v, 2.0f) +
                   fmodf(v, 0.7f) + rsqrtf(v) + lgammaf(v + 1) + normcdff(v) + hypotf(v, 3.0f) + exp10f(v / 4);
}
extern "C" __global__ void mathematics_in_double(const double *x, double *y) {
  double v = x[threadIdx.x];
  y[threadIdx.x] = sin(v) + cos(v) * exp(-v) + log(v) * pow(v, 1.5) + cbrt(v) + erf(v) + tanh(v) + atan2(v, 2.0) +
                   fmod(v, 0.7) + rsqrt(v) + lgamma(v + 1) + hypot(v, 3.0) + 1 / v;
}
extern "C" __global__ void large_arguments(const float *x, float *y) {
  float v = x[threadIdx.x] * 1e6f;
  y[threadIdx.x] = sinf(v) + cosf(v * 3);
}
extern "C" __global__ void fast_mathematics(const float *x, float *y) {
  float v = x[threadIdx.x];
  y[threadIdx.x] = __sinf(v) + __expf(-v) + __logf(v + 1) + __fdividef(v, 3.0f) + __powf(v, 0.5f) + __saturatef(v - 1);
}
extern "C" __global__ void roundings(const float *x, int *y) {
  float v = x[threadIdx.x];
  y[threadIdx.x] = __float2int_rn(v) + 10 * __float2int_rd(v) + 100 * __float2int_ru(v) + 1000 * (int)v +
                   10000 * (int)roundf(v) + 100000 * (int)rintf(v) + 1000000 * (int)ceilf(v);
}
extern "C" __global__ void halves(const __half *x, const __half *y, __half *z) {
  const __half2 *a = (const __half2 *)x, *b = (const __half2 *)y;
  __half2 v = __hfma2(a[threadIdx.x], b[threadIdx.x], __float2half2_rn(0.5f));
  ((__half2 *)z)[threadIdx.x] = __hmax2(v, __hadd2(__lowhigh2highlow(v), __hneg2(a[threadIdx.x])));
}
extern "C" __global__ void bfloats(const __nv_bfloat16 *x, const __nv_bfloat16 *y, float *z) {
  __nv_bfloat162 v = __hmul2(((const __nv_bfloat162 *)x)[threadIdx.x], ((const __nv_bfloat162 *)y)[threadIdx.x]);
  float2 f = __bfloat1622float2(v);
  z[threadIdx.x] = f.x - f.y + __bfloat162float(__float2bfloat16_rn(0.25f));
}
extern "C" __global__ void eighths_of_a_byte(const float *x, float *y, unsigned char *z) {
  __nv_fp8_e4m3 narrow(x[threadIdx.x]);
  __nv_fp8_e5m2 wide(x[threadIdx.x]);
  y[threadIdx.x] = float(narrow) + 100 * float(wide);
  z[threadIdx.x] = narrow.__x;
}
extern "C" __global__ void integers(const unsigned *x, const unsigned *y, unsigned long long *z) {
  unsigned a = x[threadIdx.x], b = y[threadIdx.x];
  unsigned long long w = (unsigned long long)a << 32 | b;
  z[threadIdx.x] = __brev(a) ^ __clz(b) ^ __popc(a) * 3 ^ __ffs(b) * 5 ^ __byte_perm(a, b, 0x5146) ^ __umulhi(a, b) ^
                   __funnelshift_l(a, b, 7) ^ (w / (b | 1)) ^ (w % (a | 1)) << 20 ^ __umul64hi(w, w * 3) ^ __brevll(w);
}
extern "C" __global__ void small_integers(const unsigned *x, const unsigned *y, unsigned *z) {
  unsigned a = x[threadIdx.x], b = y[threadIdx.x];
  z[threadIdx.x] = __vadd4(a, b) ^ __vabsdiffu4(a, b) ^ __vmaxs2(a, b) ^ __vcmpgtu4(a, b) ^ __vavgu4(a, b) ^ __dp4a(a, b, 7u) ^
                   __sad((int)a, (int)b, 9u);
}
extern "C" __global__ void wide_integers(const unsigned long long *x, unsigned long long *y) {
  unsigned __int128 v = (unsigned __int128)x[threadIdx.x] * x[threadIdx.x] + x[threadIdx.x];
  y[2 * threadIdx.x] = (unsigned long long)(v >> 64), y[2 * threadIdx.x + 1] = (unsigned long long)(v / 1000003);
}

__constant__ int TABLE[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int shared_by_all = 5;
extern "C" __global__ void tables(const int *x, int *y) {
  static const short more[4] = {10, 20, 30, 40};
  int v = x[threadIdx.x];
  y[threadIdx.x] = TABLE[v & 7] * more[v >> 3 & 3] + shared_by_all + __ldg(x + (threadIdx.x ^ 1));
}
__device__ __noinline__ int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recursion(const int *x, int *y) { y[threadIdx.x] = ackermann(2, x[threadIdx.x] % 4); }
struct Shape {
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  int side;
  __device__ Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Bar : Shape {
  int length;
  __device__ Bar(int l) : length(l) {}
  __device__ int area() const override { return length * 3; }
};
extern "C" __global__ void virtual_calls(const int *x, int *y) {
  Square square(x[threadIdx.x]);
  Bar bar(x[threadIdx.x]);
  const Shape *shapes[2] = {&square, &bar};
  y[threadIdx.x] = shapes[x[threadIdx.x] % 2]->area();
}
__device__ int twice(int v) { return v * 2; }
__device__ int squared(int v) { return v * v; }
__device__ int negated(int v) { return -v; }
extern "C" __global__ void function_pointers(const int *x, int *y) {
  int (*const functions[3])(int) = {twice, squared, negated};
  y[threadIdx.x] = functions[x[threadIdx.x] % 3](x[threadIdx.x]);
}
extern "C" __global__ void switches(const int *x, int *y) {
  int v = x[threadIdx.x], r = 0;
  for (int i = 0; i < 5; i++) {
    switch ((v >> i) % 7) {
      case 0: r += 1; break;
      case 1: r ^= 5; break;
      case 2: r = r * 3; [[fallthrough]];
      case 3: r -= 2; break;
      case 4: continue;
      case 5: i++; break;
      default: r += v; goto out;
    }
    r += 100;
  }
out:
  y[threadIdx.x] = r;
}
extern "C" __global__ void own_memory(const int *x, int *y, int n) {
  int s[32];
  for (int i = 0; i < n; i++) s[i] = x[i] ^ threadIdx.x;
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && s[j] < s[j - 1]; j--) {
      int v = s[j];
      s[j] = s[j - 1], s[j - 1] = v;
    }
  y[threadIdx.x] = s[threadIdx.x % n] * 7 + s[n / 2];
}
struct Pair {
  float a, b[3];
  short c;
};
extern "C" __global__ void structures(const Pair *x, Pair *y, float scale) {
  Pair p = x[threadIdx.x];
  p.a += p.b[threadIdx.x % 3] * scale;
  p.b[1] = p.c;
  p.c = -p.c;
  y[threadIdx.x] = p;
}
extern "C" __global__ void vectors(const float4 *x, double2 *y) {
  float4 v = x[threadIdx.x];
  y[threadIdx.x] = make_double2((double)v.x * v.y + v.z, (double)v.w - v.x);
}
extern "C" __global__ void more_atomics(double *d, __half2 *h, unsigned long long *w, unsigned *u) {
  atomicAdd(d, threadIdx.x * 0.5);
  atomicAdd(h, __floats2half2_rn(1.0f, 0.5f));
  atomicMax(w, (unsigned long long)threadIdx.x << 40);
  atomicInc(u, 99);
  atomicDec(u + 1, 50);
  atomicSub(u + 2, threadIdx.x);
  __shared__ double s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  atomicAdd(&s, 0.25);
  __syncthreads();
  if (threadIdx.x == 0) d[1] = s;
}
extern "C" __global__ void collatz(const unsigned *x, unsigned *y) {
  unsigned long long v = x[threadIdx.x];
  unsigned steps = 0;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    steps++;
  }
  y[threadIdx.x] = steps;
}
