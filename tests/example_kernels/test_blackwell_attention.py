"""Flash attention of examples/blackwell: correct for partial tiles and under every schedule; no extra instructions.

`PYPTX_KERNELS=all` runs the whole matrix of shapes and schedules; the default is a small share.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tools.sass_loops import loops
from tools.shares import full

from .attention_problems import BF16, F32, Sizes, assert_close, magnitudes, problems
from .bank_conflicts import conflicts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.sass_loops import Loop

pytestmark = [pytest.mark.scaled, pytest.mark.blackwell, pytest.mark.hopper]

SCHEDULES: tuple[Mapping[str, Any], ...] = ({}, {"seed": 1}, {"delay_async": True}, {"seed": 3, "delay_async": True})
# Shapes: keys for at most one loop step; partial tiles of keys and queries, in both query tiles of a CTA; more keys
# than queries, and fewer (some queries then see no key); more loop steps than pipeline stages.
SHAPES = ((1, 1, 1, 1, 1), (2, 130, 300, 4, 2), (1, 300, 130, 3, 1), (1, 40, 650, 2, 1), (1, 256, 384, 2, 2))
FORWARD = full(problems(*SHAPES), default=[Sizes(64, 1, 200, 150, 2, 1, causal=True)])
BACKWARD = full(problems(*SHAPES), default=[Sizes(64, 1, 100, 140, 2, 1, causal=True)])
LARGE = problems((2, 4096, 4096, 16, 16), (2, 4096, 4095, 16, 4))
ASSEMBLED = full(LARGE, default=LARGE[-1:])
each_schedule = pytest.mark.parametrize("schedule", full(SCHEDULES, default=SCHEDULES[1:2]), ids=str)


def forward() -> Any:
    return import_module("examples.blackwell.flash_attention_blackwell")


def backward() -> Any:
    return import_module("examples.blackwell.flash_attention_backward_blackwell")


@pytest.mark.parametrize("sizes", FORWARD, ids=str)
@each_schedule
@pytest.mark.long
def test_attention_equals_its_float64_reference_and_gives_nothing_to_find(
    sizes: Sizes, schedule: Mapping[str, Any]
) -> None:
    inputs = sizes.inputs()
    result = forward().KERNELS[sizes.head_dim].simulate(*inputs[:3], causal=sizes.causal, checks="all", **schedule)
    assert [str(finding) for finding in result.findings] == []
    out, sums = forward().reference(*inputs[:3], causal=sizes.causal)
    assert_close(result.outputs[0], out, (BF16 + F32) * magnitudes(sizes, inputs)[0])
    seen = np.isfinite(sums)
    assert (result.outputs[1][~seen] == -np.inf).all()
    assert_close(result.outputs[1][seen], sums[seen], F32 / 16)


@pytest.mark.parametrize("sizes", BACKWARD, ids=str)
@pytest.mark.parametrize("schedule", full(SCHEDULES, default=SCHEDULES[2:3]), ids=str)
@pytest.mark.long
def test_gradients_equal_their_float64_reference_and_give_nothing_to_find(
    sizes: Sizes, schedule: Mapping[str, Any]
) -> None:
    inputs, module = sizes.inputs(seed=1), backward()
    q, k, v, dout, dsums = inputs
    exact, sums = forward().reference(q, k, v, causal=sizes.causal)
    stats = module.PREPARE[sizes.head_dim].simulate(
        np.ascontiguousarray(exact.astype(q.dtype)),
        dout,
        sums.astype(np.float32),
        dsums,
        T=module.steps_of(sizes.queries),
        checks="all",
        **schedule,
    )
    result = module.BACKWARD[sizes.head_dim].simulate(
        q, k, v, dout, stats.outputs[0], causal=sizes.causal, checks="all", **schedule
    )
    assert [str(finding) for finding in (*stats.findings, *result.findings)] == []
    expected = module.reference(q, k, v, dout, dsums, causal=sizes.causal)
    for actual, right, bound in zip(result.outputs, expected, magnitudes(sizes, inputs)[1:], strict=True):
        assert_close(actual, right, (BF16 + F32) * bound)


@pytest.mark.torch
@pytest.mark.long
def test_torch_differentiates_attention() -> None:
    import torch

    draws = torch.Generator().manual_seed(7)
    shapes = ((1, 40, 2, 64), (1, 72, 1, 64), (1, 72, 1, 64))
    tensors = [torch.randn(shape, generator=draws).bfloat16().requires_grad_() for shape in shapes]
    out, sums = backward().ATTENTION[64](*tensors, causal=True)
    (out.float().square().sum() + sums.sum()).backward()
    doubles = [each.detach().double().requires_grad_() for each in tensors]
    q, k, v = doubles
    seen = torch.ones(40, 72, dtype=torch.bool).tril(72 - 40)
    scores = (torch.einsum("bqhd,bkgd->bhqk", q, k) / 8).masked_fill(~seen, -torch.inf)
    exact = torch.einsum("bhqk,bkgd->bqhd", scores.softmax(3), v)
    total: Any = exact.square().sum() + scores.logsumexp(3).sum()
    total.backward()
    assert torch.allclose(out.double(), exact, atol=2**-7)
    for actual, right in zip(tensors, doubles, strict=True):
        assert actual.grad is not None
        assert right.grad is not None
        assert (actual.grad.double() - right.grad).abs().max() <= 2**-6 * right.grad.abs().max()


def test_maxima_that_grow_slowly_fast_and_never_give_the_right_result_side_by_side() -> None:
    """Scores of rows 0, 1, 2 and 3 modulo 4 grow by 3, 1.5, 0.5 and -3 from each step of keys to the next.

    As exponents of 2 these are 4.3, 2.2 and 0.7: rows are rescaled after two steps, after four, or never. Rows of
    different growth share warps.
    """
    sizes = Sizes(64, 1, 130, 5 * 128 + 9, 1, 1)
    inputs = sizes.inputs()
    q, k, v = inputs[:3]
    for row, growth in enumerate((3, 1.5, 0.5, -3)):
        q[:, row::4, :, 0] = 8 * growth
    k[0, :, 0, 0] = -(np.arange(sizes.keys) // 128)  # the kernel processes steps of 128 keys from the last to the first
    out, sums = forward().KERNELS[64].simulate(q, k, v, checks="none").outputs
    expected, exact = forward().reference(q, k, v)
    assert_close(out, expected, (BF16 + F32) * magnitudes(sizes, inputs)[0])
    assert_close(sums, exact, F32 / 8)


def test_no_polynomial_of_the_same_degree_is_better_by_more_than_two_percent() -> None:
    """De la Vallee Poussin: a polynomial with an error over 2 % lower has smaller errors at all five extrema.

    The errors at the extrema alternate in sign, if errors for negative r are negated. So the difference of the two
    polynomials, divided by r, is of degree 3 and would change sign four times. The next test includes f32 rounding.
    """
    exponentials = import_module("examples.blackwell.exponentials")
    r = np.linspace(-0.5, 0.5, 200_001)
    error = np.polynomial.Polynomial(exponentials.COEFFICIENTS)(r) / np.exp2(r) - 1
    assert exponentials.COEFFICIENTS[0] == 1
    turns = np.array([0, *(np.flatnonzero(np.diff(np.sign(np.diff(error)))) + 1), r.size - 1])
    highest = turns[np.abs(error[turns]) > 0.98 * np.abs(error).max()]
    signs = np.sign(error[highest] * r[highest])
    assert signs.size == 5
    assert (signs[1:] == -signs[:-1]).all()
    assert np.abs(error).max() < exponentials.ERROR


def test_powers_of_two_are_right_over_all_exponents() -> None:
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32

    exponentials = import_module("examples.blackwell.exponentials")

    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N // 256, block=128, arch="sm_100a")
    def powers(X: Any, Y: Any) -> None:
        thread = reg.from_(ptx.special.ctaid.x(), u32) * 128 + reg.from_(ptx.special.tid.x(), u32)
        x, y = (pointer + thread * 8 for pointer in ptx.global_ptrs(X, Y))
        values = reg.array(f32, 2)
        ptx.ld(f32, values, ptx.addr(x))
        exponentials.Powers().polynomial(values)
        ptx.st(f32, ptx.addr(y), values)
        ptx.ret()

    whole = np.arange(-128, 128, dtype=np.float32)
    x = np.concatenate([whole, whole + 0.5, np.linspace(-126, 8, 15_872), np.full(128, -np.inf), np.full(128, -1e30)])
    x = x[x < 127.5].astype(np.float32)
    x = x[: x.size // 256 * 256] if x.size % 256 else x
    found, exact = powers(x).astype(np.float64), np.exp2(x.astype(np.float64))
    normal = x >= -126
    assert (np.abs(found[normal] / exact[normal] - 1) <= exponentials.ERROR).all()
    assert (np.abs(found[~normal]) <= 2.0**-126).all()
    assert (found[x <= -127] == 0).all()


def test_results_leave_through_shared_memory_without_a_bank_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = Sizes(64, 1, 100, 130, 1, 1).inputs()[:3]
    assert set(conflicts(monkeypatch, forward().KERNELS[64], *arrays).items()) > {("st.shared", 0), ("ld.shared", 0)}


def test_heads_head_dimensions_and_scales_that_do_not_fit_are_refused() -> None:
    q, k, v = Sizes(64, 1, 8, 8, 3, 2).inputs()[:3]
    with pytest.raises(ValueError, match="scores must be positive"):
        forward().flash_attention(q, q, q, scale=-1.0)
    with pytest.raises(ValueError, match="3 heads of Q do not share 2 heads of K and V evenly"):
        forward().flash_attention(q, k, v)
    with pytest.raises(ValueError, match="head dimensions 64, 128, not 32"):
        forward().flash_attention(*(array[..., :32] for array in (q, k, v)))


@pytest.mark.parametrize("head_dim", full([64, 128], default=[64]))
def test_the_text_does_not_grow_with_the_problem(head_dim: int) -> None:
    small, large = (Sizes(head_dim, *shape, 8, 2, causal=True) for shape in ((1, 512, 512), (4, 8192, 16384)))
    for kernel, steps in ((forward().KERNELS[head_dim], False), (backward().BACKWARD[head_dim], True)):
        texts = [
            kernel.ptx(**each.dimensions(), **{"T": each.queries // 64} if steps else {}) for each in (small, large)
        ]
        assert texts[0].count("\n") == texts[1].count("\n")


def the_loop(found: list[Loop], opcode: str) -> Loop:
    """Return the loop in which an opcode has the largest share of instructions: the innermost loop with the opcode."""
    return max(found, key=lambda loop: loop.histogram[opcode] / len(loop.opcodes))


@pytest.mark.ptxas
@pytest.mark.parametrize("sizes", ASSEMBLED, ids=str)
def test_registers_suffice_and_every_warp_does_its_own_job(sizes: Sizes) -> None:
    kernel = forward().KERNELS[sizes.head_dim]
    resources = kernel.resources(**sizes.dimensions())  # pytest turns ptxas advisories, which are warnings, into errors
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0
    found = loops(kernel.sass(**sizes.dimensions()))
    multiplying, weighing = the_loop(found, "UTCHMMA").histogram, the_loop(found, "MUFU").histogram
    assert multiplying["UTCHMMA"] == 2 * (sizes.head_dim // 16 + 128 // 16)  # MMAs of S and of O for two query tiles
    assert multiplying["UTCBAR"] == 2 + 2  # tcgen05.commit: for scores of two query tiles, and for stages of K and V
    assert not {"LDTM", "MUFU", "UTMALDG", "LDL", "STL"} & multiplying.keys()
    assert weighing["MUFU"] == 128 * 3 // 4 + 1  # polynomials replace a quarter of the EX2; one EX2 is for rescaling O
    assert weighing["F2FP"] == weighing["FMNMX3"] == 128 // 2
    assert weighing["LDTM"] == 4
    assert weighing["STTM"] == 4
    assert not {"UTCHMMA", "UTMALDG", "LDL", "STL", "BAR"} & weighing.keys()
    (loading,) = (loop.histogram for loop in found if loop.histogram["UTMALDG"])
    assert loading["UTMALDG"] == 2 * sizes.head_dim // 64


@pytest.mark.ptxas
@pytest.mark.parametrize("sizes", ASSEMBLED, ids=str)
def test_gradients_spill_nothing_and_change_no_score_in_shared_memory(sizes: Sizes) -> None:
    kernel = backward().BACKWARD[sizes.head_dim]
    resources = kernel.resources(**sizes.dimensions(), T=64)
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0
    found = loops(kernel.sass(**sizes.dimensions(), T=64))
    multiplying = [loop.histogram for loop in found if loop.histogram["UTCHMMA"]]
    scores, sums = sizes.head_dim // 16, 128 // 16
    assert sorted(each["UTCHMMA"] for each in multiplying) == [2 * scores + sums, 2 * scores + 2 * sums]
    computing = [loop.histogram for loop in found if loop.histogram["MUFU"] == 64]
    assert {each["STTM"] for each in computing} == {1, 2}  # one loop stores dS only, another loop P and dS
    for each in (*multiplying, *computing):
        assert not {"STS", "LDL", "STL"} & each.keys()
