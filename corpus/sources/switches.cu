// SPDX-License-Identifier: Apache-2.0
// Dense and sparse switches: branch tables, chains of compares, an interpreter's loop, computed state machines.

extern "C" __global__ void interpreter(const unsigned char* program, int* stack_out, int length) {
    int stack[16];
    int top = 0, at = 0;
    stack[0] = threadIdx.x;
    while (at < length) {
        const int a = stack[top], b = top > 0 ? stack[top - 1] : 0;
        switch (program[at++]) {
            case 0: stack[++top & 15] = program[at++]; break;
            case 1: stack[--top & 15] = a + b; break;
            case 2: stack[--top & 15] = a - b; break;
            case 3: stack[--top & 15] = a * b; break;
            case 4: stack[--top & 15] = b == 0 ? 0 : a / b; break;
            case 5: stack[top] = -a; break;
            case 6: stack[++top & 15] = a; break;
            case 7: stack[top] = b; break;
            case 8: if (a > 0) at += program[at]; break;
            case 9: stack[top] = a ^ b; break;
            case 10: stack[top] = a << (b & 31); break;
            case 11: stack[top] = a >> (b & 31); break;
            case 12: stack[top] = __popc(a); break;
            case 13: at = length; break;
            default: top = 0; break;
        }
        top &= 15;
    }
    stack_out[threadIdx.x] = stack[top];
}

extern "C" __global__ void sparse(int* x) {
    switch (x[threadIdx.x]) {
        case 1: x[0] = 10; break;
        case 100: x[0] = 20; break;
        case 10000: x[0] = 30; break;
        case -5: x[0] = 40; break;
        case 2147483647: x[0] = 50; break;
        default: x[0] = 60;
    }
}

__device__ __noinline__ float shade(int material, float x) {
    switch (material) {
        case 0: return sinf(x);
        case 1: return cosf(x);
        case 2: return x * x;
        case 3: return sqrtf(x);
        case 4: return 1.0f / x;
        case 5: return x - floorf(x);
        case 6: return fabsf(x);
        case 7: return expf(-x);
    }
    return 0.0f;
}

extern "C" __global__ void materials(float* x, const int* material) { x[threadIdx.x] = shade(material[threadIdx.x], x[threadIdx.x]); }

extern "C" __global__ void jumps_out_of_loops(int* x, int n) {
    for (int i = 0; i < n; ++i) {
        for (int j = i; j < n; ++j) {
            if (x[j] == 0) goto found;
            if (x[j] < 0) continue;
            x[j] -= i;
        }
    }
    return;
found:
    x[n] = 1;
}
