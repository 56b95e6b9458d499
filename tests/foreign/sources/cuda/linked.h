extern __device__ int calls, blocks_done;
extern __constant__ float weights[4];
extern __device__ float weighted(float x, int i);
extern __device__ float doubly(float x);
using Function = float (*)(float);
extern __device__ Function chosen(int i);

struct Shape {
    virtual __device__ float area(float x) const = 0;
};
struct Square : Shape {
    __device__ float area(float x) const override;
};
struct Circle : Shape {
    __device__ float area(float x) const override;
};

template <typename T> __device__ __noinline__ T next(T x) { return x + 1; }
