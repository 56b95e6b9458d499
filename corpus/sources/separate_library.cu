// SPDX-License-Identifier: Apache-2.0
// The other half of separate_caller.cu: definitions with external linkage, inline functions shared by both.

struct State { unsigned long long words[4]; int position; };

__device__ float shared_constant = 2.5f;
__constant__ int lengths[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
__device__ State global_state = {{1, 2, 3, 4}, 0};

__device__ float evaluate(float x, int degree) {
    float result = 0.0f;
    for (int i = 0; i < degree; ++i) result = result * x + shared_constant;
    return result;
}

__device__ State advance(State state, const int* steps) {
    for (int i = 0; i < *steps; ++i) {
        const unsigned long long t = state.words[1] << 17;
        state.words[2] ^= state.words[0];
        state.words[3] ^= state.words[1];
        state.words[1] ^= state.words[2];
        state.words[0] ^= state.words[3];
        state.words[2] ^= t;
        state.words[3] = (state.words[3] << 45) | (state.words[3] >> 19);
        ++state.position;
    }
    return state;
}

extern "C" __device__ void c_callback(void* data, char tag) { *static_cast<char*>(data) = tag; }
__device__ __attribute__((weak)) int weak_default(int x) { return x - 1; }
template <typename T> __device__ __noinline__ T shared_template(T x) { return x * x; }
template __device__ int shared_template<int>(int);
template __device__ double shared_template<double>(double);
