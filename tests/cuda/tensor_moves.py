"""CUDA C++ for tcgen05.ld and tcgen05.st in every shape."""

from __future__ import annotations

from .tcgen05_mma import PRELUDE

MOVED = (
    PRELUDE
    + """
constexpr int COLUMNS = 96;
#ifdef SPLIT
#define LOAD_(to, at) LOAD(to, at, ptx::n32_t<SPLIT>{})
#define STORE_(at, from) STORE(at, ptx::n32_t<SPLIT>{}, from)
#else
#define LOAD_ LOAD
#define STORE_ STORE
#endif

// Cell by cell from x to tensor memory, in the shape to registers, from these to y; and the other way round to z.
KERNEL move(const uint32_t *x, uint32_t *y, const uint32_t *from, uint32_t *z) {
    begin();
    for (int n = 0; n < COLUMNS; n += 4) {
        uint32_t words[4];
        for (int i = 0; i < 4; ++i) words[i] = x[threadIdx.x * COLUMNS + n + i];
        ptx::tcgen05_st_32x32b(base + n + own_lanes(), words);
    }
    ptx::tcgen05_wait_st();
    uint32_t at = base + COLUMN + (LANE << 16) + own_lanes(), words[REGISTERS];
    ptx::LOAD_(words, at);
    ptx::tcgen05_wait_ld();
    for (int i = 0; i < REGISTERS; ++i) y[threadIdx.x * REGISTERS + i] = words[i];
    for (int i = 0; i < REGISTERS; ++i) words[i] = from[threadIdx.x * REGISTERS + i];
    ptx::STORE_(at, words);
    ptx::tcgen05_wait_st();
    load(z + threadIdx.x * COLUMNS, 0, COLUMNS);
    end();
}
"""
)
