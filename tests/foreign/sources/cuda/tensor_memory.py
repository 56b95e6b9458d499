"""Launches of the kernels in `tensor_memory.cu`."""

import numpy as np
from cases import BLACKWELL, Case, bits, double, eighths, given, made, narrow, spread, whole


def launch(kernel, *arguments, grid=1, cluster=0):
    return Case(kernel.replace("_", "-"), kernel, dict(enumerate(arguments)), grid, 128, cluster,
                options={"source": "tensor_memory.cu"}, targets=BLACKWELL)


def product(kernel, element, m, n, k, other="", factors=eighths):
    a, b = factors(m, k), factors(n, k)
    want = double(a) @ double(b).T
    c = made(want.astype(np.int32), "int32") if element == "int8" else made(want, "float32")
    return launch(kernel, given(a, element), given(b, other or element), c)


def small(*shape):
    return whole(*shape, low=-20, high=20, dtype="int8")


def scales(*shape):
    """Return E4M3 scale factors, and their layout for 128 rows x 4: rows r, r + 32, r + 64 and r + 96 are adjacent."""
    values = whole(*shape, low=1, high=17).astype(np.float32) / 8
    return values, np.ascontiguousarray(values.reshape(4, 32, -1, 4).transpose(2, 1, 0, 3))


def cells(shape, count):
    """Return tensor memory lanes and columns of each thread's `count` registers, by the manual's figure of `shape`."""
    thread, i = np.arange(32)[:, None], np.arange(count)[None, :]
    if shape == "16x64b":
        return thread // 4 + thread % 2 * 8 + 0 * i, thread // 2 % 2 + 2 * i
    if shape == "16x128b":
        return thread // 4 + i % 2 * 8, thread % 4 + i // 2 * 4
    return thread // 4 + i // 2 % 2 * 8, thread % 4 * 2 + i % 2 + i // 4 * 8


def pairs(memory, lane, column):
    """Return the lower 16 bits of two adjacent tensor memory columns, packed into a word."""
    return memory[lane, 2 * column] & 0xFFFF | memory[lane, 2 * column + 1] << 16


def seen(x):
    """Return the registers that a warp loads from 32 lanes x 32 columns, and from columns that it stores after them."""
    upper, halves, words = x[16:], np.zeros((16, 32), np.uint32), np.zeros((16, 16), np.uint32)
    lane, column = cells("16x64b", 8)
    halves[lane, 2 * column], halves[lane, 2 * column + 1] = x[:, :8] & 0xFFFF, x[:, :8] >> 16
    words[cells("16x128b", 8)] = x[:, :8]
    thread = np.arange(32)[:, None]
    lane, column = cells("16x256b", 4)
    return np.concatenate([
        x[cells("16x64b", 4)], upper[cells("16x128b", 4)], x[lane, column + 8],
        upper[thread % 16, thread // 16 * 5 + np.arange(4)], pairs(x, lane, column), pairs(halves, *cells("16x128b", 8)),
        words[cells("16x256b", 8)],
    ], 1)  # fmt: skip


HALVES, OTHERS, BEFORE = eighths(128, 16, most=4), eighths(64, 16, most=4), eighths(128, 64, most=4)
HELD = np.ones((128, 1), bool)
HELD[48:64] = HELD[96:100] = False
SUMS = np.where(HELD, double(HALVES) @ double(OTHERS).T + double(BEFORE) / 4, double(BEFORE))
WA, WB = eighths(64, 32), eighths(64, 32)
PA, PB = eighths(256, 64), eighths(64, 64)
(NA, NA_BYTES), (NB, NB_BYTES) = narrow("e2m1", 128, 128), narrow("e2m1", 128, 128)
(SA, SA_LAID), (SB, SB_LAID) = scales(128, 8), scales(128, 8)
SCALED = double(NA) * spread(SA, 16) @ (double(NB) * spread(SB, 16)).T
WORDS, MANY = bits(2, 128, 4), bits(128, 32)
QUARTERS = WORDS[0].reshape(4, 32, 4)
COPIED = [*WORDS, WORDS[0], *(QUARTERS[list(which)].reshape(128, 4) for which in ((0, 1, 0, 1), (0, 0, 1, 1), (0,) * 4))]
SEEN = np.concatenate([seen(part) for part in MANY.reshape(4, 32, 32)])

CASES = [
    product("half_128", "float16", 128, 64, 64),
    product("bfloat16_64", "bfloat16", 64, 64, 64),
    product("tf32_128", "float32", 128, 32, 32),
    product("narrow_128", "float8_e4m3fn", 128, 32, 128, "float8_e5m2"),
    product("int8_128", "int8", 128, 32, 128, factors=small),
    product("product_of_each_warp", "float16", 128, 64, 64),
    launch("sums_in_half", given(HALVES, "float16"), given(OTHERS, "float16"), given(BEFORE, "float16"), made(SUMS, "float16")),
    launch("weights_stationary", given(WA, "float16"), given(WB, "float16"), made(double(WA) @ double(WB).T, "float32")),
    launch("pair_of_blocks", given(PA, "float16"), given(PB, "float16"), made(double(PA) @ double(PB).T, "float32"), grid=2, cluster=2),
    launch("nvfp4", given(NA_BYTES), given(NB_BYTES), given(SA_LAID, "float8_e4m3fn"), given(SB_LAID, "float8_e4m3fn"), made(SCALED, "float32")),
    launch("copied", given(WORDS), made(np.concatenate(COPIED, 1), "uint32")),
    launch("shapes", given(MANY), made(SEEN, "uint32")),
]
