"""Launches of the kernels in `mma.cu`."""

from cases import Case, double, eighths, given, made, whole


def product(kernel, element, out, tile, block=32, scale=1, factors=eighths, start=None, shape=(64, 64, 48)):
    m, n, k = shape
    a, b = factors(m, k), factors(k, n)
    want = double(a) @ double(b) * scale
    arguments = [given(a, start or element), given(b, start or element),
                 made(want.astype("i4") if out == "int32" else want, out), n, k]
    return Case(kernel.replace("_", "-"), kernel, dict(enumerate(arguments)), (n // tile[1], m // tile[0]), block,
                options={"source": "mma.cu"})


def small(*shape):
    return whole(*shape, low=-20, high=20, dtype="int8")


def few(*shape):
    return eighths(*shape, most=4)


CASES = [
    product("wmma_half", "float16", "float32", (16, 16)),
    product("wmma_half_sums", "float16", "float16", (32, 8), factors=few),
    product("wmma_bfloat16", "bfloat16", "float32", (16, 16)),
    product("wmma_int8", "int8", "int32", (8, 32), factors=small),
    product("wmma_tf32", "float32", "float32", (16, 16)),
    product("wmma_double", "float64", "float64", (8, 8), shape=(16, 16, 16)),
    product("wmma_through_shared", "float16", "float32", (32, 32), 128, 2),
    product("sgemm", "float32", "float32", (16, 16), (16, 16)),
]
