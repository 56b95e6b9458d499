// SPDX-License-Identifier: Apache-2.0
// Code one steps through in a debugger: nested scopes, structs on the stack, loops with breaks, calls in between.
// It includes nothing, so that debug sections name this file alone.

struct Particle {
    float position[3];
    float velocity[3];
    double mass;
    unsigned flags : 4;
    unsigned group : 12;
};

enum class Boundary { reflect, wrap, absorb };

__device__ __noinline__ float reflect_at(float x, float* speed, float low, float high) {
    float result = x;
    if (x < low) {
        result = 2.0f * low - x;
        *speed = -*speed;
    } else if (x > high) {
        result = 2.0f * high - x;
        *speed = -*speed;
    }
    return result;
}

__device__ float wrap_around(float x, float low, float high) {
    const float width = high - low;
    while (x < low) x += width;
    while (x >= high) x -= width;
    return x;
}

__global__ void advance(Particle* particles, int count, float dt, Boundary boundary) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count) return;
    Particle particle = particles[index];
    for (int axis = 0; axis < 3; ++axis) {
        float next = particle.position[axis] + dt * particle.velocity[axis];
        switch (boundary) {
            case Boundary::reflect: next = reflect_at(next, &particle.velocity[axis], -1.0f, 1.0f); break;
            case Boundary::wrap: next = wrap_around(next, -1.0f, 1.0f); break;
            case Boundary::absorb:
                if (next < -1.0f || next > 1.0f) particle.flags |= 1u;
                break;
        }
        particle.position[axis] = next;
    }
    particle.group += particle.flags;
    particles[index] = particle;
}

__global__ void collatz_lengths(const unsigned long long* seeds, unsigned* lengths, unsigned count) {
    const unsigned index = threadIdx.x + blockIdx.x * blockDim.x;
    if (index < count) {
        unsigned long long value = seeds[index];
        unsigned length = 0;
        do {
            if (value == 1) break;
            if (value % 2 == 0) {
                value /= 2;
            } else {
                unsigned long long tripled = 3 * value;
                value = tripled + 1;
            }
            ++length;
        } while (length < 1000);
        lengths[index] = length;
    }
}

__global__ void small_matrix_product(const float* a, const float* b, float* c) {
    __shared__ float left[8][8], right[8][8];
    const int row = threadIdx.y, column = threadIdx.x;
    left[row][column] = a[row * 8 + column];
    right[row][column] = b[row * 8 + column];
    __syncthreads();
    float total = 0.0f;
    {
        int inner = 0;
        for (; inner < 8; ++inner) {
            const float product = left[row][inner] * right[inner][column];
            total += product;
        }
    }
    c[row * 8 + column] = total;
}
