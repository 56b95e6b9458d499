// Synchronization through memory: locks, flags, counters, scans over CTAs, and the types of libcu++ for them.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>

using Device = cuda::atomic_ref<int, cuda::thread_scope_device>;

extern "C" __global__ void spin_lock(int *lock, int *total) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0)
      ;
    __threadfence();
    total[0] += blockIdx.x;
    __threadfence();
    atomicExch(lock, 0);
  }
}
extern "C" __global__ void lock_of_libcu(int *lock, int *total) {
  if (threadIdx.x == 0) {
    Device l(*lock);
    for (int free = 0; !l.compare_exchange_weak(free, 1, cuda::memory_order_acquire); free = 0)
      ;
    total[0] += blockIdx.x;
    l.store(0, cuda::memory_order_release);
  }
}
extern "C" __global__ void ticket_lock(int *next, int *serving, int *total) {
  if (threadIdx.x == 0) {
    int mine = atomicAdd(next, 1);
    Device s(*serving);
    while (s.load(cuda::memory_order_acquire) != mine)
      ;
    total[0] = total[0] * 2 % 1000003 + 1;
    s.store(mine + 1, cuda::memory_order_release);
  }
}
extern "C" __global__ void chained(int *flag, int *data) {
  if (threadIdx.x == 0) {
    Device f(*flag);
    while (f.load(cuda::memory_order_acquire) != (int)blockIdx.x)
      ;
    data[0] = data[0] * 3 % 1000003 + blockIdx.x;
    f.store(blockIdx.x + 1, cuda::memory_order_release);
  }
}
extern "C" __global__ void last_block(const int *x, volatile int *parts, unsigned *count, int *out) {
  __shared__ int s[128];
  __shared__ bool last;
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 128 + t];
  __syncthreads();
  for (int k = 64; k; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) {
    parts[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    int v = 0;
    for (int i = t; i < gridDim.x; i += 128) v += parts[i];
    atomicAdd(out, v);
  }
}
extern "C" __global__ void message(int *flag, int *data, int *out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data[0] = 42;
    __threadfence_system();
    *(volatile int *)flag = 1;
  } else {
    while (*(volatile int *)flag == 0)
      ;
    __threadfence_system();
    out[blockIdx.x - 1] = data[0] + blockIdx.x;
  }
}
extern "C" __global__ void look_back(const int *x, int *y, unsigned long long *state) {
  __shared__ int s[64], before;
  int t = threadIdx.x, b = blockIdx.x;
  s[t] = x[b * 64 + t];
  __syncthreads();
  for (int k = 1; k < 64; k *= 2) {
    int v = t >= k ? s[t - k] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  if (t == 0) {
    atomicExch(state + b, (unsigned long long)(b ? 1 : 2) << 32 | (unsigned)s[63]);
    int sum = 0;
    for (int look = b - 1; look >= 0;) {
      unsigned long long word = *(volatile unsigned long long *)(state + look);
      if (word >> 32 == 0) continue;
      sum += (int)word;
      look = word >> 32 == 2 ? -1 : look - 1;
    }
    if (b) atomicExch(state + b, 2ull << 32 | (unsigned)(sum + s[63]));
    before = sum;
  }
  __syncthreads();
  y[b * 64 + t] = s[t] + before;
}
extern "C" __global__ void grid_barrier(const int *x, int *y, unsigned *count) {
  int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * 2;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1);
    while (*(volatile unsigned *)count < gridDim.x)
      ;
    __threadfence();
  }
  __syncthreads();
  y[n + i] = y[n - 1 - i] + 1;
}
extern "C" __global__ void queue(const int *work, int *head, int *out, int n) {
  __shared__ int at;
  for (;;) {
    if (threadIdx.x == 0) at = atomicAdd(head, 1);
    __syncthreads();
    int mine = at;
    __syncthreads();
    if (mine >= n) break;
    if (threadIdx.x == 0) out[mine] = work[mine] * work[mine];
  }
}
extern "C" __global__ void histogram(const int *x, int *y, int n) {
  __shared__ int s[64];
  if (threadIdx.x < 64) s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i] & 63], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&y[threadIdx.x], s[threadIdx.x]);
}
extern "C" __global__ void float_atomics(const float *x, float *sum, double *wide, float *largest) {
  float v = x[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(sum, v);
  atomicAdd(wide, (double)v);
  int seen = __float_as_int(*(volatile float *)largest);
  while (__int_as_float(seen) < v) {
    int before = atomicCAS((int *)largest, seen, __float_as_int(v));
    if (before == seen) break;
    seen = before;
  }
}
extern "C" __global__ void shared_broadcast(int *y) {
  __shared__ int s;
  s = 7;
  __syncthreads();
  y[threadIdx.x] = s;
}
extern "C" __global__ void barrier_phases(const int *x, int *y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[128];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  int v = x[threadIdx.x];
  for (int i = 0; i < 4; i++) {
    s[threadIdx.x] = v;
    bar.arrive_and_wait();
    v += s[(threadIdx.x + 1) % 128] % 10;
    bar.arrive_and_wait();
  }
  y[threadIdx.x] = v;
}
extern "C" __global__ void producer_and_consumer(const int *x, int *y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2];
  __shared__ int s[2][32];
  int t = threadIdx.x, lane = t % 32;
  if (t < 2) {
    init(full + t, 64);
    init(empty + t, 64);
  }
  __syncthreads();
  if (t >= 32)
    for (int i = 0; i < 2; i++) (void)empty[i].arrive();
  for (int i = 0; i < 6; i++) {
    if (t < 32) {
      empty[i % 2].arrive_and_wait();
      s[i % 2][lane] = x[i * 32 + lane] * 3;
      (void)full[i % 2].arrive();
    } else {
      full[i % 2].arrive_and_wait();
      y[i * 32 + lane] = s[i % 2][31 - lane];
      (void)empty[i % 2].arrive();
    }
  }
}
extern "C" __global__ void completion(int *y) {
  auto count = [=] { y[0] += 1; };
  __shared__ alignas(16) unsigned char room[64];
  auto *bar = reinterpret_cast<cuda::barrier<cuda::thread_scope_block, decltype(count)> *>(&room);
  if (threadIdx.x == 0) init(bar, blockDim.x, count);
  __syncthreads();
  for (int i = 0; i < 3; i++) bar->arrive_and_wait();
  y[1 + threadIdx.x] = y[0];
}
extern "C" __global__ void latched(const int *x, int *y) {
  __shared__ alignas(16) unsigned char room[sizeof(cuda::latch<cuda::thread_scope_block>)];
  auto *latch = reinterpret_cast<cuda::latch<cuda::thread_scope_block> *>(&room);
  __shared__ int s[64];
  if (threadIdx.x == 0) new (latch) cuda::latch<cuda::thread_scope_block>(32);
  __syncthreads();
  if (threadIdx.x < 32) {
    s[threadIdx.x] = x[threadIdx.x];
    latch->count_down();
  } else {
    latch->wait();
    y[threadIdx.x - 32] = s[63 - threadIdx.x];
  }
}
extern "C" __global__ void semaphore(int *y) {
  __shared__ alignas(16) unsigned char room[sizeof(cuda::binary_semaphore<cuda::thread_scope_block>)];
  auto *free = reinterpret_cast<cuda::binary_semaphore<cuda::thread_scope_block> *>(&room);
  if (threadIdx.x == 0) new (free) cuda::binary_semaphore<cuda::thread_scope_block>(1);
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    free->acquire();
    y[0] = y[0] * 2 + 1;
    free->release();
  }
}
extern "C" __global__ void waiting(int *flag, int *y) {
  Device f(*flag);
  if (blockIdx.x == 0) {
    y[threadIdx.x] = threadIdx.x * 5;
    __syncthreads();
    if (threadIdx.x == 0) {
      f.store(1, cuda::memory_order_release);
      f.notify_all();
    }
  } else {
    if (threadIdx.x == 0) f.wait(0, cuda::memory_order_acquire);
    __syncthreads();
    y[32 * blockIdx.x + threadIdx.x] = y[threadIdx.x] + 1;
  }
}
extern "C" __global__ void sequentially(int *x, int *y, int *out) {
  Device a(*x), b(*y);
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    a.store(1, cuda::memory_order_seq_cst);
    out[0] = b.load(cuda::memory_order_seq_cst);
  } else {
    b.store(1, cuda::memory_order_seq_cst);
    out[1] = a.load(cuda::memory_order_seq_cst);
  }
  __threadfence();
  int both = atomicAdd(out + 2, 1);
  if (both == 1) {
    __threadfence();
    out[3] = *(volatile int *)out | *(volatile int *)(out + 1);
  }
}
