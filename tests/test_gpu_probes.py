"""The probes of tests/gpu are legal PTX, and the simulator has an answer for each; this needs no GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tools.shares import share

import pyptx_sim
from pyptx_ir.toolchain import assemble

from .gpu import golden, mma
from .gpu.instructions import RECORDED, Recorded
from .gpu.kernels import ENTRIES, Entry
from .gpu.probes import BLOCK, padded, probe, width
from .gpu.questions import CHAINS, QUESTIONS, UNWRITTEN, Question

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.scaled

TARGET, HOPPER = "sm_90", "sm_90a"


@pytest.mark.ptxas
def test_every_probe_assembles() -> None:
    first, *rest = [probe(row, TARGET).replace(" probe(", f" probe{i}(") for i, row in enumerate(RECORDED)]
    text = first + "".join(module[module.index(".visible") :] for module in rest)
    assert assemble(text, TARGET).cubin[:4] == b"\x7fELF"


@pytest.mark.parametrize("row", RECORDED, ids=[row.opcode for row in RECORDED])
def test_the_simulator_answers_every_probe(row: Recorded) -> None:
    inputs = [padded(column) for column in row.inputs()]
    result = np.zeros(len(inputs[0]), dtype=f"u{width(row.result) // 8}")
    args = [*inputs, result]
    pyptx_sim.run(probe(row, TARGET), entry="probe", grid=len(result) // BLOCK, block=BLOCK, args=args, checks="none")
    assert len(np.unique(result)) > 1, "every combination of edges gives one result"


@pytest.mark.ptxas
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
@pytest.mark.parametrize("entry", ENTRIES, ids=[f"{each.name}{number}" for number, each in enumerate(ENTRIES)])
def test_every_kernel_of_the_launch_tests_assembles(entry: Entry, target: str) -> None:
    assert entry.name in assemble(entry.ptx(target), target).resources


@pytest.mark.ptxas
@pytest.mark.long
def test_every_product_of_a_warp_assembles_and_the_simulator_is_within_its_bound() -> None:
    probes = [(product, product.probe(HOPPER)) for product in mma.warp_products(HOPPER)]
    first, *rest = [text.replace(" probe(", f" probe{i}(") for i, (_, text) in enumerate(probes)]
    assert assemble(first + "".join(text[text.index(".visible") :] for text in rest), HOPPER).cubin[:4] == b"\x7fELF"
    for product, text in share(probes, 7):
        d = product.empty()
        args = [*product.operands, d]
        pyptx_sim.run(text, entry="probe", grid=1, block=mma.LANES, args=args, checks="none")
        product.check(d)


def test_products_of_warps_and_warpgroups_are_all_those_of_the_simulators_tests() -> None:
    names = [product.name for product in mma.every_product()]
    assert len(set(names)) == len(names)
    left_out = set(names) - {product.name for product in mma.warp_products(HOPPER)}
    newer = (".kind::f8f6f4", ".f16.e4m3", ".f16.e5m2")  # words in the names of MMAs that sm_90a lacks
    assert all(any(word in name for word in newer) or ".aligned" not in name for name in left_out), left_out
    grouped = mma.group_products()
    assert sorted(map(str, mma.group_tests.cases())) == sorted(str(each) for held in grouped.values() for each in held)
    for held in grouped.values():
        edges = [min(mma.columns_of(held)), max(mma.columns_of(held))]
        assert {case.columns for case in held[:2]} <= set(edges)


def test_a_product_beyond_its_bound_is_seen() -> None:
    product = next(each for each in mma.warp_products(HOPPER) if each.name.endswith("f32.bf16.bf16.f32"))
    d = product.empty()
    args = [*product.operands, d]
    pyptx_sim.run(product.probe(HOPPER), entry="probe", grid=1, block=mma.LANES, args=args, checks="none")
    product.check(d)
    d.view(np.float32)[1, 5] *= 1 + 2.0**-10
    with pytest.raises(AssertionError):
        product.check(d)


@pytest.mark.ptxas
def test_every_question_to_the_hardware_assembles() -> None:
    for text, target in {(each.text, each.target) for each in QUESTIONS.values()}:
        assert "probe" in assemble(text, target).resources
    for chain in CHAINS.values():
        assert set(chain.entries) == assemble(chain.text, TARGET).resources.keys()


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=lambda question: question.name)
def test_the_simulator_answers_what_is_defined_and_reports_what_is_not(question: Question) -> None:
    """Run two CTAs, because all CTAs are equal; a faulty kernel gives a wrong result with `delay_async`."""
    blocks = min(question.grid, 2)
    expected, defined = (
        each[: each.shape[0] * blocks // question.grid] for each in (question.expected, question.defined)
    )
    for schedule in ({}, {"delay_async": True}):
        out = np.full_like(expected, UNWRITTEN)
        args = [*question.inputs, out]
        result = pyptx_sim.run(question.text, entry="probe", grid=blocks, block=question.block, args=args, **schedule)
        assert (out == expected)[defined].all()
        if question.once:
            assert [each.rule for each in result.findings if each.severity == "error"] == [question.faulty] * (
                question.faulty != ""
            )
            assert not (question.faulty and schedule and (out == expected).all())


def test_what_is_recorded_can_be_read_again_and_added_to(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    first, second = np.arange(6, dtype="u4").reshape(2, 3), np.array([0.5, np.nan], dtype="f2")
    golden.add(path, {"device": "a device"}, {"first": first})
    golden.add(path, {"device": "a device"}, {"second": second})
    found = golden.read(path)
    assert found["first"].dtype == first.dtype
    assert (found["first"] == first).all()
    assert np.array_equal(found["second"], second, equal_nan=True)
