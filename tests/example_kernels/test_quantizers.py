"""Quantizers of examples/blackwell are bit-exact, compared with models in NumPy and ml_dtypes.

The models reshape and round; they share only the constants of the formats with the kernels.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.sass_loops import instructions
from tools.shares import full

from pyptx.types import bf16, f32

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]

pytestmark = [pytest.mark.scaled, pytest.mark.blackwell, pytest.mark.hopper]

FORMATS = ("mxfp8", "nvfp4")
DTYPES = {"bf16": (bf16, ml_dtypes.bfloat16), "f32": (f32, np.float32)}
SHAPES = ((130, 160), (1, 32), (128, 128), (300, 416))


def module_of(name: str) -> Any:
    return import_module(f"examples.blackwell.quantize_{name}")


def blocked(codes: Array) -> Array:
    """Return a byte matrix as blocks of 128 rows x 4 columns; each block is 32 lines of four 4-byte words."""
    rows, columns = codes.shape
    padded = np.pad(codes, ((0, -rows % 128), (0, -columns % 4)))
    return (
        padded.reshape(len(padded) // 128, 4, 32, -1, 4).transpose(0, 3, 2, 1, 4).reshape(len(padded) // 128, -1, 512)
    )


def fits(values: Array, limit: float) -> Array:
    return np.clip(values, -limit, limit, dtype=np.float32)  # np.clip returns NaN for NaN


def mxfp8(x: Array) -> tuple[Array, ...]:
    """Return a matrix's OCP MX quantization with e4m3 elements and scale factors rounded up."""
    blocks = x.astype(np.float32).reshape(len(x), -1, 32)
    size = np.abs(blocks).max(2)
    sound = np.isfinite(size)
    fraction, exponent = np.frexp(np.where(sound, size, 1).astype(np.float64))
    # The largest e4m3 number is 0.875 * 2^9 = 448; a larger fraction needs the next power of two.
    power = np.clip(np.where(size == 0, -127, exponent - np.where(fraction <= 0.875, 9, 8)), -127, 127)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        scaled = np.ldexp(blocks.astype(np.float64), -power[..., None]).astype(np.float32)
        data = fits(scaled, 448.0).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    data = np.where(sound[..., None], data, 0x7F)
    return data.reshape(x.shape).astype(np.uint8), blocked(np.where(sound, power + 127, 0xFF).astype(np.uint8))


def nvfp4(x: Array) -> tuple[Array, ...]:
    """Return a matrix's nvfp4 quantization: scale factors per matrix and per block, from the largest magnitudes."""
    blocks = x.astype(np.float32).reshape(len(x), -1, 16)
    one, sizes = np.float32(1), np.abs(blocks)
    largest = np.where(np.isfinite(sizes), sizes, 0).max()
    whole = max(np.float32(largest * np.float32(1 / (6 * 448))), np.float32(2.0**-117))
    size = sizes.max(2)
    sound = np.isfinite(size)
    with np.errstate(all="ignore"):
        codes = fits(size * (one / (whole * np.float32(6))), 448.0).astype(ml_dtypes.float8_e4m3fn)
        factor = np.where(codes == 0, np.float32(0), one / (codes.astype(np.float32) * whole))
        rounded = fits(blocks * factor[..., None], 6.0).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    digits = np.where(sound[..., None], rounded & 15, 7).reshape(len(x), -1)
    codes = np.where(sound, codes.view(np.uint8), 0x7F).astype(np.uint8)
    return (digits[:, ::2] | digits[:, 1::2] << 4).astype(np.uint8), blocked(codes), np.array([whole])


MODELS: dict[str, Callable[[Array], tuple[Array, ...]]] = {"mxfp8": mxfp8, "nvfp4": nvfp4}


def matrix(shape: tuple[int, int], dtype: Any) -> Array:
    """Return blocks of very different magnitudes, with values at and next to the limits of scale factors, and zeros."""
    rng = np.random.default_rng(shape[0])
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-30, 30, (shape[0], shape[1] // 16)).repeat(16, axis=1))
    x[0, ::2] = -0.0
    x[-1, :16] = np.resize([448, 449, 450, 224, 1.75, 6, 5, 2.5, 0.25, 0.75, 1.25, 3.5, -7, 0, 464, 480], 16)
    return x.astype(dtype)


def assert_same(outputs: tuple[Array, ...], expected: tuple[Array, ...]) -> None:
    assert len(outputs) == len(expected)
    for output, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(output.view(wanted.dtype).reshape(wanted.shape), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", full(SHAPES, default=SHAPES[:2]), ids=str)
@pytest.mark.parametrize("name", FORMATS)
def test_a_matrix_is_quantized_as_its_format_says_bit_for_bit(name: str, shape: tuple[int, int], dtype: str) -> None:
    word, array = DTYPES[dtype]
    x = matrix(shape, array)
    assert_same(module_of(name).quantize(x, word), MODELS[name](x))


@pytest.mark.parametrize("name", FORMATS)
def test_a_block_with_no_number_is_none_and_the_others_stay(name: str) -> None:
    x = matrix((5, 96), ml_dtypes.bfloat16)
    x[0, 3], x[1, 40], x[2, 0], x[4] = np.nan, np.inf, -np.inf, 0
    x[3, 5:7] = np.inf, np.nan
    outputs = module_of(name).quantize(x)
    assert_same(outputs, MODELS[name](x))
    values, spoilt = module_of(name).dequantized(*outputs), np.zeros(x.shape, bool)
    for row, column in zip(*np.nonzero(~np.isfinite(x.astype(np.float32))), strict=True):
        first = column // module_of(name).BLOCK * module_of(name).BLOCK
        spoilt[row, first : first + module_of(name).BLOCK] = True
    np.testing.assert_array_equal(np.isnan(values), spoilt)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("size", [0.0, 1e-38, 1e-45, 3.3e38])
def test_the_smallest_and_the_largest_numbers_are_quantized_as_all_others(name: str, size: float) -> None:
    x = (np.linspace(-1, 1, 64).reshape(2, 32) * size).astype(np.float32)
    outputs = module_of(name).quantize(x, f32)
    assert_same(outputs, MODELS[name](x))
    assert np.isfinite(module_of(name).dequantized(*outputs)).all()


@pytest.mark.parametrize("name", FORMATS)
def test_what_stands_for_a_matrix_is_as_near_as_its_elements_allow(name: str) -> None:
    x = np.random.default_rng(3).standard_normal((40, 256)).astype(ml_dtypes.bfloat16)
    module = module_of(name)
    exact = module.reference(x)
    error = np.abs(module.dequantized(*module.quantize(x)) - exact)
    largest = np.abs(exact).reshape(40, -1, module.BLOCK).max(2).repeat(module.BLOCK, axis=1)
    # Error bound: half an ulp of the block's largest element. The mxfp8 scale factor leaves up to half of the range
    # unused; the nvfp4 scale factor is rounded to four significant bits.
    assert (error <= largest * {"mxfp8": 1 / 16, "nvfp4": 1 / 6 * (1 + 1 / 16)}[name]).all()


@pytest.mark.parametrize("name", FORMATS)
def test_quantizers_give_nothing_to_find(name: str) -> None:
    module, x = module_of(name), matrix((130, 160), ml_dtypes.bfloat16)
    kernel = getattr(module, f"{name}_of")(bf16)
    size = () if name == "mxfp8" else (np.array([3.0], np.float32),)
    for options in full(({}, {"seed": 1}, {"seed": 2}), default=({"seed": 1},)):
        halves = {} if name == "mxfp8" else {"H": 80}
        result = kernel.simulate(x, *size, R=2, C=-(-160 // module.BLOCK // 4), **halves, checks="all", **options)
        assert [str(finding) for finding in result.findings] == []


@pytest.mark.parametrize("options", full(({}, {"seed": 1}, {"delay_async": True}), default=({"seed": 1},)), ids=str)
def test_the_largest_magnitude_is_found_in_any_array_and_gives_nothing_to_find(options: dict[str, Any]) -> None:
    module = import_module("examples.blackwell.quantize")
    for count, dtype in ((5, "f32"), (16 * 300 + 7, "bf16"), (16 * 256 * 3, "bf16")):
        word, array = DTYPES[dtype]
        x = np.random.default_rng(count).standard_normal(count).astype(array)
        x[-1], x[0], x[2] = -7, np.nan, np.inf
        result = module.largest_of(word).simulate(x, P=2, checks="all", **options)
        assert [str(finding) for finding in result.findings] == []
        assert result.outputs[0].max() == 7
        assert module.largest(x, word) == np.array([7], np.float32)


@pytest.mark.ptxas
@pytest.mark.parametrize("name", FORMATS)
def test_registers_suffice_and_elements_are_converted_two_at_a_time(name: str) -> None:
    kernel, module = getattr(module_of(name), f"{name}_of")(bf16), module_of(name)
    sizes = {"M": 4096, "K": 4096, "R": 32, "C": 4096 // module.BLOCK // 4, **({} if name == "mxfp8" else {"H": 2048})}
    resources = kernel.resources(**sizes)
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0
    opcodes = [each.opcode for each in instructions(kernel.sass(**sizes))]
    assert sum("F2FP" in opcode for opcode in opcodes) >= 8
