"""MMAs to run on hardware: the cases of the simulator's tests, as modules with an entry `probe`.

A warp-level MMA (mma, mma.sp, wmma) is one instruction between loads and stores of its registers. A wgmma uses the
kernel of the Hopper plugin's tests. Inputs, fragments and bounds are those of the tests that compare the simulator with
exact arithmetic; this module uses neither the simulator nor a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_ir.fragments import mma_fragment, sparse_fragment, wmma_fragment
from pyptx_ir.isa.modules import check_text
from pyptx_ir.isa.targets import default_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Test modules of other distributions, by file path: the names of their folders are not valid in an import statement.
warp_tests: Any = import_module("packages.pyptx-sim.tests.test_semantics_mma")
group_tests: Any = import_module("packages.pyptx-arch-hopper.tests.test_simulated_wgmma")
reference: Any = import_module("packages.pyptx-sim.tests.mma_reference")

LANES = 32
NEWEST_FORMS = (8, 7)  # PTX version with the newest forms for these targets: fp8 with f16 accumulators
SEED = 11
FP8 = ("e4m3", "e5m2")


@dataclass(frozen=True, slots=True)
class WarpProduct:
    """A warp-level MMA; `operands` are the registers of A, B, C and of metadata, each `[registers, 32]`."""

    name: str
    opcode: str
    tail: str
    types: tuple[str, str, str, str]
    fragments: tuple[Any, ...]
    operands: tuple[np.ndarray, ...]
    columns: dict[int, list[int]] | None = None  # for a sparse A: columns of the stored elements of each row

    def probe(self, target: str) -> str:
        """Return the PTX module of the MMA; its entry takes a pointer for each operand, then a pointer for D."""
        sizes = [(each.shape[0], each.itemsize) for each in self.operands]
        sizes.append((self.fragments[0].registers, self.fragments[0].width // 8))
        body = ["mov.u32 lane, %tid.x;"]
        declared = [f".reg .b{8 * size} v{i}_<{count}>;" for i, (count, size) in enumerate(sizes)]
        for i, (_, size) in enumerate(sizes):
            body += [f"ld.param.u64 a{i}, [p{i}];", f"mad.wide.u32 a{i}, lane, {size}, a{i};"]
        for i, (count, size) in enumerate(sizes[:-1]):
            body += [f"ld.global.b{8 * size} v{i}_{r}, [a{i}+{r * LANES * size}];" for r in range(count)]
        body.append(f"{self.opcode} {self._spelt([count for count, _ in sizes])};")
        last, (count, size) = len(sizes) - 1, sizes[-1]
        body += [f"st.global.b{8 * size} [a{last}+{r * LANES * size}], v{last}_{r};" for r in range(count)]
        return module(len(sizes), [*declared, *body, "ret;"], target)

    def _spelt(self, counts: Sequence[int]) -> str:
        """Return the operands of the MMA instruction as PTX: D first, metadata and selector last."""
        lists = [f"{{{', '.join(f'v{i}_{r}' for r in range(count))}}}" for i, count in enumerate(counts)]
        metadata = [f"v3_0, {self.tail}"] if self.tail else []
        return ", ".join([lists[-1], *lists[:3], *metadata])

    def empty(self) -> np.ndarray:
        """Return an uninitialized array for the registers of D."""
        held = self.fragments[0]
        return np.zeros((held.registers, LANES), np.uint64 if held.width == 64 else np.uint32)

    @property
    def recorded_operands(self) -> dict[str, np.ndarray]:
        """Registers that are recorded by name: the operands of wmma, whose fragment layout the manual leaves open."""
        if not self.opcode.startswith("wmma"):
            return {}
        return {f"{self.name} (operand {i})": registers for i, registers in enumerate(self.operands)}

    def of(self, recorded: Mapping[str, np.ndarray]) -> WarpProduct:
        """Return this MMA with its recorded operands from `recorded`; unchanged if no operands are recorded."""
        return replace(self, operands=tuple(recorded[name] for name in self.recorded_operands) or self.operands)

    def check(self, d: np.ndarray) -> None:
        """Raise AssertionError unless every element of D is within its error bound of the exact result."""
        one_warp = [each[:, None, :] for each in self.operands[:3]]
        a, b, c = warp_tests.matrices(self.fragments, self.types, one_warp, 0)
        depth, words = self.fragments[1].columns, self.opcode.split(".")

        def pairs(place: tuple[int, int, int]) -> list[tuple[Any, Any]]:
            if self.columns is None:
                found: list[tuple[Any, Any]] = reference.terms(a, b, place, depth)
                return found
            _, row, column = place
            return [(a[0, row, i], b[0, k, column]) for i, k in enumerate(self.columns[row])]

        def wanted(place: tuple[int, int, int]) -> tuple[Any, Any]:
            terms = pairs(place)
            total, bound = warp_tests.expected_of(self.types, terms, c[place], words)
            return total, bound + self._roundings_within(terms)

        warp_tests.agree(self.fragments[0], d[:, None, :], 0, self.types[0], wanted)

    def _roundings_within(self, terms: Sequence[tuple[Any, Any]]) -> float:
        """Return the additional bound for fp8 operands with f16 accumulators, for which sm_90 has no instruction.

        There, two f16 MMAs, whose results are rounded to f16, precede the addition of C.
        """
        if self.types[0] != "f16" or self.types[1] not in FP8:
            return 0.0
        return 2 * max(sum(abs(a * b) for a, b in terms) * 2.0**-11, 2.0**-25)


def module(parameters: int, body: Sequence[str], target: str) -> str:
    """Return a module whose entry `probe` takes `parameters` pointers and runs `body` in one warp."""
    version = "{}.{}".format(*max(default_version(target), NEWEST_FORMS))
    registers = ["\t.reg .b32 lane;", f"\t.reg .b64 a<{parameters}>;"]
    lines = "\n".join([*registers, *(f"\t{line}" for line in body)])
    listed = ",\n".join(f"\t.param .u64 p{i}" for i in range(parameters))
    header = f".version {version}\n.target {target}\n.address_size 64\n\n.visible .entry probe(\n"
    return f"{header}{listed}\n)\n{{\n{lines}\n}}\n"


@cache
def every_product() -> tuple[WarpProduct, ...]:
    """Return every form of mma.sync, wmma.mma and mma.sp as an MMA with random matrices."""
    return (*dense_products(), *sparse_products())


def dense_products() -> Iterator[WarpProduct]:
    """Yield every form of mma.sync and of wmma.mma."""
    for opcode, shape, types, layouts in warp_tests.DENSE:
        yield dense(opcode, types, warp_tests.dense_fragments(shape, types, layouts))
    for opcode, shape, sums in warp_tests.WMMA:
        named = tuple(word for word in opcode.split(".") if word in reference.WIDTHS)
        types = (sums[0], "f16", "f16", sums[1]) if sums[0] else named
        yield dense(
            opcode, types, tuple(wmma_fragment(shape, which, t) for which, t in zip("dabc", types, strict=True))
        )


def dense(opcode: str, types: tuple[str, str, str, str], fragments: tuple[Any, ...]) -> WarpProduct:
    """Return an MMA of random matrices."""
    drawn = warp_tests.inputs(np.random.default_rng(SEED), fragments, types)
    return WarpProduct(opcode, opcode, "", types, fragments, tuple(np.ascontiguousarray(each[:, 0]) for each in drawn))


def sparse_products() -> Iterator[WarpProduct]:
    """Yield every form of mma.sp, with every selector."""
    for opcode, shape, types, selector in warp_tests.SPARSE_CASES:
        fragments = (
            mma_fragment(shape, "d", types[0]),
            sparse_fragment(shape, types[1]),
            mma_fragment(shape, "b", types[2]),
            mma_fragment(shape, "c", types[3]),
        )
        rng = np.random.default_rng(SEED + selector)
        drawn = warp_tests.inputs(rng, fragments, types)
        metadata, columns = warp_tests.random_metadata(rng, shape, types[1], selector)
        operands = (*(np.ascontiguousarray(each[:, 0]) for each in drawn), metadata[None])
        yield WarpProduct(f"{opcode} {selector}", opcode, str(selector), types, fragments, operands, columns)


@cache
def warp_products(target: str) -> tuple[WarpProduct, ...]:
    """Return the warp-level MMAs that a target supports."""
    return tuple(
        each for each in every_product() if not any(found.is_error for found in check_text(each.probe(target)))
    )


@cache
def group_products() -> dict[str, list[Any]]:
    """Return the wgmma cases by types, dense and sparse separately.

    Cases with the smallest and the largest N come first, so that they run even if the time limit is reached.
    """
    held: dict[str, list[Any]] = {}
    for name, cases in groupby(group_tests.cases(), key=group_name):
        held.setdefault(name, []).extend(cases)
    edges = {name: {min(numbers), max(numbers)} for name, numbers in ((n, columns_of(c)) for n, c in held.items())}
    return {name: sorted(cases, key=lambda case: case.columns not in edges[name]) for name, cases in held.items()}


def columns_of(cases: Sequence[Any]) -> set[int]:
    """Return the values of N that occur in wgmma cases."""
    return {case.columns for case in cases}


def group_name(case: Any) -> str:
    """Return the name and types of a wgmma case: `wgmma f32 bf16 bf16`, or `wgmma.sp f32 bf16 bf16`."""
    kind = "wgmma" if case.selector is None else "wgmma.sp"
    return f"{kind} {case.form.d} {case.form.a} {case.form.b}"
