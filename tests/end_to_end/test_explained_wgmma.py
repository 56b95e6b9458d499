"""Advisories of ptxas about wgmma become warnings and explanations at a line of Python.

Not every release of ptxas names a line; without one, the warning is at the kernel's `def`.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyptx import Kernel, Tile, kernel, ptx, reg
from pyptx.types import f32, pred, u32, u64
from pyptx_dsl.errors import PtxasAdvisory

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.ptxas

SOURCE = Path(__file__).read_text(encoding="utf-8").splitlines()


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path))


@dataclass(frozen=True, slots=True)
class Product:
    """An m64n8k16 wgmma on arbitrary operands; `d` are a thread's four accumulator registers."""

    d: Any
    matrices: Any

    def fence(self) -> None:
        ptx.inst.wgmma.fence.sync.aligned()

    def multiply(self) -> None:
        accumulators, at = list(self.d), self.matrices
        ptx.inst.wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16(accumulators, at, at, 1, 1, 1, 0, 0)

    def commit(self) -> None:
        ptx.inst.wgmma.commit_group.sync.aligned()

    def wait(self) -> None:
        ptx.inst.wgmma.wait_group.sync.aligned(0)


def built(steps: Callable[[Product], None]) -> Kernel:
    """Return a kernel that clears the accumulators, executes `steps`, and stores the accumulators."""

    @kernel(out_specs=(Tile(128, 4, f32),), grid=1, block=128)
    def product(Y: Any) -> None:
        (py,) = ptx.global_ptrs(Y)
        matrices = reg.scalar(u64)
        ptx.inst.mov.u64(matrices, 0)
        d = reg.array(f32, 4)
        for each in d:
            ptx.inst.mov.f32(each, 0.0)
        steps(Product(d, matrices))
        for number, each in enumerate(d):
            ptx.inst.st.global_.f32(ptx.addr(py, 4 * number), each)
        ptx.ret()

    return product


def in_order(product: Product) -> None:
    product.fence()
    product.multiply()
    product.commit()
    product.wait()


def touches_early(product: Product) -> None:
    product.fence()
    product.multiply()
    product.commit()
    ptx.inst.add.f32(product.d[0], product.d[0], 1.0)  # reads the accumulator before wgmma.wait_group
    product.wait()


def parts_warps(product: Product) -> None:
    others = reg.scalar(pred)
    ptx.inst.setp.ne.u32(others, reg.from_(ptx.special.tid.x(), u32), 0)
    product.fence()
    with ptx.if_(others):
        product.multiply()
    product.commit()
    product.wait()


def waits_sometimes(product: Product) -> None:
    some = reg.scalar(pred)
    ptx.inst.setp.ne.u32(some, reg.from_(ptx.special.ctaid.x(), u32), 0)
    product.fence()
    product.multiply()
    product.commit()
    with ptx.if_(some):
        product.wait()


CASES = [
    (touches_early, "wait(_group)? is injected in around line", "after the wgmma.wait_group"),
    (parts_warps, "serialized due to program dependence on compiler-inserted", "branch on a value that is uniform"),
    (
        waits_sometimes,
        "serialized due to non wgmma instructions reading accumulator",
        "read them after wgmma.wait_group",
    ),
]


def advised(build: Kernel, words: str) -> warnings.WarningMessage:
    """Compile a kernel; return the only warning whose message matches `words`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build.cubin()
    (told,) = (each for each in caught if re.search(words, str(each.message)))
    return told


def source_of(build: Kernel, said: str) -> str:
    """Return the Python line that emitted the PTX line named by ptxas; the kernel's `def` line if ptxas names none."""
    named = re.search(r"\bline ([1-9]\d*)", said)
    return SOURCE[build._trace({}).origins[int(named[1])][0].line - 1] if named else "    def product(Y: Any) -> None:"


@pytest.mark.parametrize(("steps", "words", "remedy"), CASES)
def test_an_advisory_on_products_is_shown_at_its_line_with_a_remedy(
    steps: Callable[[Product], None], words: str, remedy: str
) -> None:
    build = built(steps)
    told = advised(build, words)
    assert told.category is PtxasAdvisory
    assert re.search(rf"\nhelp: .*{remedy}", str(told.message))
    assert told.filename == __file__
    assert SOURCE[told.lineno - 1] == source_of(build, str(told.message))

    (finding,) = (each for each in build.explain().split("\n//\n") if re.search(words, each))
    shown, said = finding.split("// ptxas: ")
    assert re.match(
        rf"// \S*{Path(__file__).name}:{told.lineno}: in .*\n//     {re.escape(SOURCE[told.lineno - 1].strip())}\n",
        shown,
    )
    assert re.search(rf"\n//   meaning: .*\n//   to do: .*{remedy}", said)


def test_the_line_that_touches_accumulators_too_early_is_named() -> None:
    told = advised(built(touches_early), "is injected")
    assert SOURCE[told.lineno - 1].endswith("# reads the accumulator before wgmma.wait_group")


def test_products_in_order_are_no_subject_of_advice() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built(in_order).cubin()
