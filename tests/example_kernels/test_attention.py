"""Flash attention and its gradients: correct for partial tiles and under every schedule; no extra instructions.

`PYPTX_KERNELS=all` runs the whole matrix of shapes and schedules; the default is a small share.
"""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.sass_loops import main_loop
from tools.shares import FULL, full

from pyptx_dsl.errors import AlignmentError

from .attention_problems import BF16, F32, Sizes, assert_close, magnitudes, problems
from .bank_conflicts import conflicts

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.scaled, pytest.mark.hopper]

SCHEDULES: tuple[Mapping[str, Any], ...] = ({}, {"seed": 1}, {"delay_async": True}, {"seed": 3, "delay_async": True})
# Opcodes of the MMA loops: MMAs and barriers, the softmax, matrix descriptors in uniform registers, loop counters.
SOFTMAX = {"FADD", "FFMA", "FMNMX", "FMUL", "F2FP", "MUFU", "SHFL"}
COUNTING = {
    *("BRA", "IADD3", "IMAD", "ISETP", "LEA", "LOP3", "MOV", "NOP", "PLOP3", "R2UR", "S2R", "S2UR", "SEL", "SHF"),
    *("UIADD3", "UISETP", "ULEA", "ULOP3", "UMOV", "UPLOP3", "USEL", "USGXT", "USHF", "VIADD", "WARPSYNC", "CS2R"),
}
# Shapes: keys for one loop step; partial tiles of keys and queries; more or fewer keys than queries (some see no key).
SHAPES = ((1, 1, 1, 1, 1), (2, 130, 300, 4, 2), (1, 300, 130, 3, 1), (1, 40, 520, 2, 1), (1, 256, 384, 2, 2))
FORWARD = full(problems(*SHAPES), default=[Sizes(64, 1, 200, 150, 2, 1, causal=True), Sizes(128, 1, 40, 136, 1, 1)])
# Keys split over CTAs: each CTA has one or several loop steps of keys; some have none, for some rows or for all.
SPLIT_SHAPES = ((1, 1, 1, 1, 1), (2, 130, 300, 3, 1), (1, 300, 130, 2, 2), (1, 40, 1400, 2, 1))
SPLITS = (2, 3, 4, 5, 6, 8)
SPLIT = full(
    list(zip(problems(*SPLIT_SHAPES), itertools.cycle(SPLITS), strict=False)),
    default=[(Sizes(64, 1, 50, 400, 3, 1, causal=True), 4), (Sizes(128, 1, 9, 300, 1, 1), 3)],
)
BACKWARD = full(problems(*SHAPES), default=[Sizes(64, 1, 140, 72, 2, 1, causal=True)])
BACKWARDS = ("examples.hopper.flash_attention_backward", "examples.hopper.flash_attention_backward_fused")
LARGE = problems((2, 4096, 4096, 16, 16), (2, 4096, 4096, 16, 4))
ASSEMBLED = full(LARGE, default=LARGE[-1:])
each_schedule = pytest.mark.parametrize("schedule", full(SCHEDULES, default=SCHEDULES[:1]), ids=str)


def forward() -> Any:
    return import_module("examples.hopper.flash_attention")


def backward() -> Any:
    return import_module("examples.hopper.flash_attention_backward")


@pytest.mark.parametrize(("sizes", "splits"), [*((sizes, 1) for sizes in FORWARD), *SPLIT], ids=str)
@each_schedule
@pytest.mark.long
def test_attention_equals_its_float64_reference_and_gives_nothing_to_find(
    sizes: Sizes, splits: int, schedule: Mapping[str, Any]
) -> None:
    inputs = sizes.inputs()
    kernel = forward().kernel_for(sizes.head_dim, splits)
    result = kernel.simulate(*inputs[:3], causal=sizes.causal, checks="all", **schedule)
    assert [str(finding) for finding in result.findings] == []
    out, sums = forward().reference(*inputs[:3], causal=sizes.causal)
    assert_close(result.outputs[0], out, (BF16 + F32) * magnitudes(sizes, inputs)[0])
    seen = np.isfinite(sums)
    assert (result.outputs[1][~seen] == -np.inf).all()
    assert_close(result.outputs[1][seen], sums[seen], F32 / 16)


@pytest.mark.parametrize("sizes", BACKWARD, ids=str)
@each_schedule
def test_gradients_equal_their_float64_reference_and_give_nothing_to_find(
    sizes: Sizes, schedule: Mapping[str, Any]
) -> None:
    inputs, module = sizes.inputs(seed=1), backward()
    q, k, v, dout, dsums = inputs
    exact, sums = forward().reference(q, k, v, causal=sizes.causal)
    out = np.ascontiguousarray(exact.astype(ml_dtypes.bfloat16))
    steps = module.steps_of(sizes.queries)
    prepared = module.PREPARE[sizes.head_dim].simulate(
        out, dout, sums.astype(np.float32), dsums, T=steps, checks="all", **schedule
    )
    result = module.BACKWARD[sizes.head_dim].simulate(
        q, k, v, dout, prepared.outputs[0], causal=sizes.causal, checks="all", **schedule
    )
    assert [str(finding) for finding in (*prepared.findings, *result.findings)] == []
    expected = module.reference(q, k, v, dout, dsums, causal=sizes.causal)
    for actual, right, bound in zip(result.outputs, expected, magnitudes(sizes, inputs)[1:], strict=True):
        assert_close(actual, right, (BF16 + F32) * bound)


def drawn_by_torch() -> tuple[Any, ...]:
    """Draw Q, K and V of a causal problem with grouped queries; 24 queries see no key."""
    import torch

    draws = torch.Generator().manual_seed(7)
    shapes = ((1, 96, 2, 64), (1, 72, 1, 64), (1, 72, 1, 64))
    return tuple(torch.randn(shape, generator=draws).bfloat16().requires_grad_() for shape in shapes)


def attended_by_torch(q: Any, k: Any, v: Any) -> tuple[Any, Any]:
    """Compute O and LSE with torch operators, for the queries that see a key."""
    import torch

    seen = torch.ones(96, 72, dtype=torch.bool).tril(72 - 96)
    scores = (torch.einsum("bqhd,bkgd->bhqk", q, k) / 8).masked_fill(~seen, -torch.inf)[:, :, 24:]
    return torch.einsum("bhqk,bkgd->bqhd", scores.softmax(3), v), scores.logsumexp(3)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch.compile emits the warning
@pytest.mark.parametrize("name", BACKWARDS)
@pytest.mark.parametrize("compiled", full([False, True], default=[False]))
@pytest.mark.long
def test_torch_differentiates_attention(name: str, compiled: bool) -> None:  # noqa: FBT001  a parameter of the test
    import torch

    def loss(out: Any, sums: Any) -> Any:
        return out.square().sum() + sums.sum()

    tensors, attention = drawn_by_torch(), import_module(name).ATTENTION[64]

    def attend(q: Any, k: Any, v: Any) -> tuple[Any, Any]:
        return attention(q, k, v, causal=True)

    out, sums = (torch.compile(attend, fullgraph=True, backend="aot_eager") if compiled else attend)(*tensors)
    loss(out[:, 24:].float(), sums[:, :, 24:]).backward()
    assert (out[:, :24] == 0).all()
    assert (sums[:, :, :24] == -torch.inf).all()
    doubles = [each.detach().double().requires_grad_() for each in tensors]
    exact, exact_sums = attended_by_torch(*doubles)
    loss(exact, exact_sums).backward()
    assert torch.allclose(out[:, 24:].double(), exact, atol=2**-7)
    assert torch.allclose(sums[:, :, 24:].double(), exact_sums, atol=1e-5)
    for actual, right in zip(tensors, doubles, strict=True):
        assert (actual.grad.double() - right.grad).abs().max() <= 2**-6 * right.grad.abs().max()


if FULL:

    @pytest.mark.torch
    @pytest.mark.jax
    @pytest.mark.parametrize("name", BACKWARDS)
    def test_jax_differentiates_attention(name: str) -> None:
        import jax
        import torch

        def loss(*arrays: Any) -> Any:
            out, sums = import_module(name).ATTENTION[64](*arrays, causal=True)
            return (out[:, 24:].astype("float32") ** 2).sum() + sums[:, :, 24:].sum()

        tensors = drawn_by_torch()
        arrays = [jax.numpy.asarray(each.detach().float().numpy()).astype("bfloat16") for each in tensors]
        found = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(*arrays)
        doubles = [each.detach().double().requires_grad_() for each in tensors]
        exact, exact_sums = attended_by_torch(*doubles)
        (exact.square().sum() + exact_sums.sum()).backward()
        for actual, right in zip(found, doubles, strict=True):
            error = torch.from_numpy(np.asarray(actual, dtype=np.float64)) - right.grad
            assert error.abs().max() <= 2**-6 * right.grad.abs().max()


@pytest.mark.parametrize("splits", full([1, *SPLITS], default=[1, 5]))
@pytest.mark.parametrize("head_dim", full([64, 128], default=[64]))
@pytest.mark.long
def test_results_leave_through_shared_memory_without_a_bank_conflict(
    monkeypatch: pytest.MonkeyPatch, head_dim: int, splits: int
) -> None:
    arrays = Sizes(head_dim, 1, 100, 300, 1, 1).inputs()[:3]
    found = conflicts(monkeypatch, forward().kernel_for(head_dim, splits), *arrays)
    assert found == dict.fromkeys(("stmatrix.sync",) if splits == 1 else ("st.shared", "ld.shared::cluster"), 0)


def test_keys_are_split_where_tiles_of_queries_leave_multiprocessors_idle() -> None:
    splits_for = import_module("examples.hopper.attention_plans").splits_for
    assert splits_for(64, 1, 4096, 4096) == 5  # 22 tiles of 192 queries: 22 clusters of 5 CTAs are resident at once
    assert splits_for(128, 1, 4096, 4096) == 3  # 32 tiles of 128 queries: 32 clusters of 4 are not resident at once
    assert splits_for(64, 1, 4096, 4096, causal=True) == 4  # causal: later clusters have few keys
    assert splits_for(128, 8, 1, 8192) == 8
    assert splits_for(128, 16, 1, 8192) == 6  # 16 clusters of 8 CTAs take two waves
    assert splits_for(64, 16, 512, 512) == 1  # merging partial outputs would take longer than two loop steps
    assert splits_for(64, 1, 128, 128) == 1  # one loop step processes all 128 keys
    for heads, queries in ((32, 4096), (132, 1), (66, 200)):
        assert splits_for(64, heads, queries, 1 << 16) == 1


@pytest.mark.long
def test_the_entry_splits_as_it_chooses_or_is_told() -> None:
    sizes = Sizes(64, 1, 70, 1000, 1, 1)
    q, k, v = sizes.inputs()[:3]
    expected, bound = forward().reference(q, k, v)[0], (BF16 + F32) * magnitudes(sizes, sizes.inputs())[0]
    found = {splits: forward().flash_attention(q, k, v, splits=splits)[0] for splits in (None, 1, 8)}
    for out in found.values():
        assert_close(out, expected, bound)
    assert (found[None] == found[8]).all()
    assert (found[None] != found[1]).any()  # splitting the keys changes the order of additions


@pytest.mark.parametrize("by", [1, 2, 3, 5, 7, 12, 96, 127, 128, 641, 65_535, 65_537, (1 << 30) + 1])
def test_numbers_are_divided_exactly(by: int) -> None:
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import u32

    divided = import_module("examples.attention.problem").divided

    @kernel(in_specs=(Tile("N", u32),), out_specs=(Tile("N", u32),), grid=1, block=64)
    def divide(X: Any, Y: Any) -> None:
        x, y = (pointer + reg.from_(ptx.special.tid.x(), u32) * 4 for pointer in ptx.global_ptrs(X, Y))
        ptx.st(u32, ptx.addr(y), divided(ptx.ld(u32, reg.scalar(u32), ptx.addr(x)), by))
        ptx.ret()

    rng = np.random.default_rng(by)
    near = [by * n + rest for n in (0, 1, 2, (1 << 31) // by - 1, (1 << 31) // by) for rest in (-1, 0, 1)]
    numbers = [n for n in (*near, (1 << 31) - 1) if 0 <= n < 1 << 31]
    x = np.concatenate([numbers, rng.integers(0, 1 << 31, 64 - len(numbers))]).astype(np.uint32)
    np.testing.assert_array_equal(divide(x), x // np.uint32(by))


def test_a_grid_holds_more_batches_than_its_z_would() -> None:
    from pyptx_bundles.export import specialized

    sizes = {"B": 70_000, "Sq": 64, "Hq": 2}
    keys, module = {"Skv": 64, "Hkv": 1}, backward()
    for kernel, more, blocks in (
        (forward().kernel_for(64), keys, 2),
        (forward().kernel_for(64, 4), keys, 8),
        (module.PREPARE[64], {"T": 2}, 4),
        (module.BACKWARD[64], {**keys, "T": 2}, 3),
    ):
        special, _ = specialized(kernel.declaration, {**sizes, **more})
        assert special.grid == (blocks * 70_000, 1, 1)


@pytest.mark.parametrize("which", [0, 1])
def test_arrays_between_vectors_of_16_bytes_are_refused(which: int) -> None:
    q, _, _, dout, dsums = Sizes(64, 1, 8, 8, 1, 1).inputs()
    arrays = [q, dout, dsums, dsums]
    shifted = np.empty(q.size + 1, q.dtype)[1:].reshape(q.shape)
    shifted[...] = q
    arrays[which] = shifted
    with pytest.raises(AlignmentError, match="not a multiple of 16 bytes"):
        backward().PREPARE[64](*arrays, T=2)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch.compile emits the warning
def test_torch_compiles_the_entry_that_chooses() -> None:
    import torch

    draws = torch.Generator().manual_seed(8)
    q, k, v = (torch.randn((1, length, 1, 64), generator=draws).bfloat16() for length in (70, 1000, 1000))
    attend = forward().flash_attention
    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager")
    for one, other in zip(compiled(q, k, v), attend(q, k, v, splits=8), strict=True):
        assert torch.equal(one, other)


def test_heads_head_dimensions_and_scales_that_do_not_fit_are_refused() -> None:
    q, k, v = Sizes(64, 1, 8, 8, 3, 2).inputs()[:3]
    with pytest.raises(ValueError, match="scores must be positive"):
        forward().flash_attention(q, q, q, scale=-1.0)
    with pytest.raises(ValueError, match="3 heads of Q do not share 2 heads of K and V evenly"):
        forward().flash_attention(q, k, v)
    with pytest.raises(ValueError, match="head dimensions 64, 128, not 32"):
        forward().flash_attention(*(array[..., :32] for array in (q, k, v)))
    with pytest.raises(ValueError, match="splits 1, 2, 3, 4, 5, 6, 8, not 7"):
        forward().flash_attention(q, q, q, splits=7)


@pytest.mark.parametrize("head_dim", full([64, 128], default=[64]))
def test_the_text_does_not_grow_with_the_problem(head_dim: int) -> None:
    small, large = (Sizes(head_dim, *shape, 8, 2, causal=True) for shape in ((1, 512, 512), (4, 8192, 16384)))
    attention = [forward().kernel_for(head_dim, splits) for splits in (1, 8)]
    for kernel, steps in (*((each, False) for each in attention), (backward().BACKWARD[head_dim], True)):
        texts = [
            kernel.ptx(**each.dimensions(), **{"T": each.queries // 64} if steps else {}) for each in (small, large)
        ]
        assert texts[0].count("\n") == texts[1].count("\n")


@pytest.mark.ptxas
@pytest.mark.parametrize("sizes", ASSEMBLED, ids=str)
def test_registers_suffice_and_ptxas_has_no_advice(sizes: Sizes) -> None:
    attention = [forward().kernel_for(sizes.head_dim, splits) for splits in full((1, *SPLITS), default=(1, 5))]
    for kernel, more in (*((each, {}) for each in attention), (backward().BACKWARD[sizes.head_dim], {"T": 64})):
        # A ptxas advisory is a warning, which pytest turns into an error.
        resources = kernel.resources(**sizes.dimensions(), **more)
        assert resources.spill_stores == resources.spill_loads == resources.stack == 0


@pytest.mark.ptxas
@pytest.mark.parametrize("sizes", ASSEMBLED, ids=str)
@pytest.mark.parametrize("splits", full([1, 4], default=[1]))
@pytest.mark.long
def test_exponentials_overlap_with_products(sizes: Sizes, splits: int) -> None:
    """An iteration waits for its score MMAs before its exponentials; the next iteration waits for its P · V MMAs."""
    loop = main_loop(forward().kernel_for(sizes.head_dim, splits).sass(**sizes.dimensions()))
    assert loop is not None
    found = loop.histogram
    assert found["HGMMA"] == sizes.head_dim // 16 + 128 // 16
    assert found["MUFU"] == 128 // 2 + 2  # EX2 per thread and step: 64 scores, and two rows' rescaling factors
    assert found["F2FP"] == 128 // 4
    assert found["SYNCS"] == 6  # SYNCS are mbarrier operations: two arrivals, two waits of two polls each
    assert found["BAR"] == 2
    hiding = {"FSEL"} if sizes.causal else set()  # causal: the first of two MMA loops masks keys
    assert found.keys() - COUNTING == {"HGMMA", "WARPGROUP", "SYNCS", "BAR", *SOFTMAX, *hiding}
    places = {
        name: [at for at, opcode in enumerate(loop.opcodes) if opcode.startswith(name)]
        for name in ("HGMMA", "MUFU", "F2FP", "WARPGROUP.DEPBAR")
    }
    waits = places["WARPGROUP.DEPBAR"]
    assert len(waits) == 2
    assert waits[0] < min(places["HGMMA"]) <= max(places["HGMMA"]) < waits[1] < min(places["MUFU"])
    assert max(places["F2FP"]) < min(places["HGMMA"])
