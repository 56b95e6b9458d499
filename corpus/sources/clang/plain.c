/* SPDX-License-Identifier: Apache-2.0
   C without CUDA: functions, globals in address spaces, and a kernel by attribute. */

#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define CONSTANT __attribute__((address_space(4)))

typedef struct { float x, y; } point;

static const int CONSTANT steps[4] = {1, -2, 4, -8};
extern GLOBAL int counters[];
GLOBAL point corners[3] = {{0.0f, 1.0f}, {-2.5f, 3.0f}, {1e20f, -1e-20f}};
SHARED float scratch[64];

int printf(const char *format, ...);

__attribute__((noinline)) point turn(point p) { point r = {-p.y, p.x}; return r; }

long long mixed(signed char a, unsigned short b, float c, double d, const char *text, _Bool e) {
    return e ? a + b + (long long)(c * d) : text[a];
}

int classify(unsigned code) {
    switch (code % 9) {
        case 0: return 12;
        case 1: return -7;
        case 2: return 100;
        case 3: return 41;
        case 4: return 9;
        case 5: return 77;
        default: return steps[code & 3];
    }
}

void update(int index) {
    corners[index] = turn(corners[index + 1]);
    counters[index] += classify((unsigned)index);
    scratch[index] = corners[0].x;
    printf("index %d at %f\n", index, (double)scratch[index]);
}
