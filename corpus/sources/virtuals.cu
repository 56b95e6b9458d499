// SPDX-License-Identifier: Apache-2.0
// Objects on the device: virtual functions, placement of derived classes, captured lambdas, function objects.
#include <new>

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
    __device__ virtual void grow(float factor) { scale *= factor; }
    float scale = 1.0f;
};

struct Circle : Shape {
    __device__ explicit Circle(float r) : radius(r) {}
    __device__ float area() const override { return 3.14159265f * radius * radius * scale; }
    float radius;
};

struct Rectangle : Shape {
    __device__ Rectangle(float a, float b) : width(a), height(b) {}
    __device__ float area() const override { return width * height * scale; }
    __device__ void grow(float factor) override { width *= factor; height += factor; }
    float width, height;
};

extern "C" __global__ void build(Shape** shapes, int count) {
    const int i = threadIdx.x;
    if (i < count) shapes[i] = i & 1 ? static_cast<Shape*>(new Circle(1.0f * i)) : new Rectangle(1.0f * i, 2.0f);
}

extern "C" __global__ void measure(Shape** shapes, float* areas, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        shapes[i]->grow(1.5f);
        areas[i] = shapes[i]->area();
        if (areas[i] < 0.0f) delete shapes[i];
    }
}

extern "C" __global__ void in_place(float* out) {
    __align__(8) char storage[sizeof(Rectangle)];
    Shape* shape = new (storage) Rectangle(out[0], out[1]);
    shape->grow(out[2]);
    out[3] = shape->area();
}

template <typename Function>
__global__ void apply(float* x, Function function) { x[threadIdx.x] = function(x[threadIdx.x]); }

void launch(float* x, float a, double b) {
    apply<<<1, 32>>>(x, [=] __device__(float v) { return v * a + static_cast<float>(b); });
    apply<<<1, 32>>>(x, [a] __device__(float v) { return v > a ? v : [](float w) { return w * 0.5f; }(v); });
}
