"""Injected faults in the programs: text edits, and the rules and source lines by which each must be found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..table import PROGRAMS_FOLDER


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one program: `old` occurs once in its text, and `new` replaces it.

    `rules` are the rules of which one must find the fault as an error. `lines` are the edited statement and the
    accesses that it breaks, each as its text without indentation; the first line of the finding must be one of them.
    A test runs the program at `SIZES[size]`. `inherent` is the reason if the fault cannot be found there.
    """

    name: str
    program: str
    old: str
    new: str
    rules: frozenset[str]
    lines: tuple[str, ...]
    size: int = -1
    inherent: str = ""

    @property
    def text(self) -> str:
        """The program with the fault. Raises ValueError if the text to edit does not occur exactly once."""
        text = (PROGRAMS_FOLDER / f"{self.program}.py").read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.name}: {self.old!r} occurs {text.count(self.old)} times in {self.program}, expected once"
            )
        return text.replace(self.old, self.new)


def fault(
    name: str, program: str, old: str, new: str, rules: str, *lines: str, size: int = -1, inherent: str = ""
) -> Fault:
    """Return a `Fault`; `rules` are separated by blanks, and the only line is by default the edited statement."""
    return Fault(name, program, old, new, frozenset(rules.split()), lines or (new.strip(),), size, inherent)


OUTSIDE: Final = "out-of-bounds"
UNINITIALIZED: Final = "uninitialized-memory"
RACE: Final = "global-race"

FAULTS: Final = (
    # Masks, bounds and strides
    fault("load-without-mask", "vector_add", "right = tl.load(y + at, mask=inside)", "right = tl.load(y + at)", OUTSIDE),
    fault("store-without-mask", "vector_add", "tl.store(out + at, left + right, mask=inside)",
          "tl.store(out + at, left + right)", OUTSIDE),
    fault("bound-off-by-one", "vector_add", "inside = at < n", "inside = at <= n", OUTSIDE,
          "left = tl.load(x + at, mask=inside)"),
    fault("mask-of-rows-missing", "transpose",
          "tile = tl.load(x + r[:, None] * columns + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < columns))",
          "tile = tl.load(x + r[:, None] * columns + c[None, :], mask=c[None, :] < columns)", OUTSIDE),
    fault("stride-of-the-other-matrix", "transpose",
          "tl.store(out + c[:, None] * rows + r[None, :], tl.trans(tile), mask=inside)",
          "tl.store(out + c[:, None] * columns + r[None, :], tl.trans(tile), mask=inside)", f"{OUTSIDE} {RACE}"),
    fault("neighbor-after-the-end", "stencil", "right = tl.load(x + at + 1, mask=at < n - 1, other=0.0)",
          "right = tl.load(x + at + 1, mask=at < n, other=0.0)", OUTSIDE),
    fault("neighbor-before-the-start", "stencil", "left = tl.load(x + at - 1, mask=(at > 0) & (at < n), other=0.0)",
          "left = tl.load(x + at - 1, mask=at < n, other=0.0)", OUTSIDE),
    fault("strides-swapped", "matmul", "matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),",
          "matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride()[::-1],", f"{OUTSIDE} {RACE}",
          "tl.store(into, total.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))"),
    fault("mask-of-k-missing", "matmul", "y = tl.load(right, mask=(k[:, None] + start < K) & (n[None, :] < N), other=0.0)",
          "y = tl.load(right, mask=n[None, :] < N, other=0.0)", OUTSIDE),
    fault("pointer-advanced-twice", "matmul", "left += BK * stride_ak", "left += 2 * BK * stride_ak", OUTSIDE,
          "x = tl.load(left, mask=(m[:, None] < M) & (k[None, :] + start < K), other=0.0)"),
    fault("heuristic-of-another-block", "tuned_matmul", 'arguments["K"] % arguments["BK"] == 0', 'arguments["K"] > 0',
          OUTSIDE, "x = tl.load(left)", "y = tl.load(right)", size=0),
    fault("rows-not-wrapped", "tuned_matmul", "left = a + (m % M)[:, None] * K + k[None, :]",
          "left = a + m[:, None] * K + k[None, :]", OUTSIDE, "x = tl.load(left)",
          "x = tl.load(left, mask=k[None, :] < K - start, other=0.0)"),
    fault("row-stride-of-a-view", "softmax", "kernel[(rows,)](x, out, columns, x.stride(0), BLOCK=BLOCK)",
          "kernel[(rows,)](x, out, columns, 2 * x.stride(0), BLOCK=BLOCK)", OUTSIDE,
          'values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))'),
    fault("second-pass-without-mask", "softmax", "again = tl.load(x + row * stride + at, mask=at < columns)",
          "again = tl.load(x + row * stride + at)", OUTSIDE),
    fault("grid-too-large", "reductions", "sort_kernel[(1,)](x, out, n, BLOCK=BLOCK)",
          "sort_kernel[(2,)](x, out, n, BLOCK=BLOCK)", RACE, "tl.store(out + at, tl.sort(values), mask=at < n)"),
    fault("grid-of-rows", "embedding", "lookup_kernel[(tokens,)](table, index, out, D, BLOCK=BLOCK)",
          "lookup_kernel[(tokens + 1,)](table, index, out, D, BLOCK=BLOCK)", OUTSIDE,
          "row = tl.load(index + tl.program_id(0))"),
    fault("index-not-checked", "embedding", 'torch.randint(0, words, (tokens,), device="cuda")',
          'torch.randint(0, words, (tokens,), device="cuda") + words', OUTSIDE,
          "values = tl.load(table + row * D + at, mask=at < D)"),
    fault("table-entry-of-the-next-group", "grouped_gemm", "a = tl.load(a_table + group).to(",
          "a = tl.load(a_table + group + 1).to(", OUTSIDE,
          "a = tl.load(a_table + group + 1).to(tl.pointer_type(tl.float16))",
          "x = tl.load(a + m[:, None] * K + at[None, :], mask=(m[:, None] < M) & (at[None, :] < K), other=0.0)"),
    # Lifetime and initialization of memory
    fault("stale-pointer", "grouped_gemm", "    sizes = torch.tensor(shapes",
          "    left = [each.clone() for each in left]\n    sizes = torch.tensor(shapes", f"use-after-free {OUTSIDE}",
          "x = tl.load(a + m[:, None] * K + at[None, :], mask=(m[:, None] < M) & (at[None, :] < K), other=0.0)"),
    fault("output-accumulated-uninitialized", "split_k", 'c = torch.zeros(M, N, device="cuda")',
          'c = torch.empty(M, N, device="cuda")', UNINITIALIZED, 'tl.atomic_add(into, total, mask=inside, sem="relaxed")'),
    fault("gradient-uninitialized", "embedding", "dtable = torch.zeros_like(table)", "dtable = torch.empty_like(table)",
          UNINITIALIZED, "tl.atomic_add(dtable + row * D + at, gradient, mask=at < D)"),
    fault("parts-uninitialized", "layer_norm", "parts = torch.zeros(2, GROUPS, N, device=x.device)",
          "parts = torch.empty(2, GROUPS, N, device=x.device)", UNINITIALIZED,
          "partial_w = tl.load(dweight + group * N + at, mask=inside)",
          "tl.store(dweight + group * N + at, partial_w + gradient * normal, mask=inside)"),
    fault("locks-uninitialized", "layer_norm", "locks = torch.zeros(GROUPS, dtype=torch.int32, device=x.device)",
          "locks = torch.empty(GROUPS, dtype=torch.int32, device=x.device)", UNINITIALIZED,
          "while tl.atomic_cas(locks + group, 0, 1) == 1:"),
    fault("statistics-not-stored", "layer_norm", "    tl.store(scales + row, scale)\n", "", UNINITIALIZED,
          "scale = tl.load(scales + row)",
          "tl.store(dx + row * N + at, (weighted - normal * along - tl.sum(weighted, 0) / N) * scale, mask=inside)"),
    fault("flags-uninitialized", "producer_consumer", "flags = torch.zeros(tiles, dtype=torch.int32",
          "flags = torch.empty(tiles, dtype=torch.int32", UNINITIALIZED,
          'while tl.atomic_cas(flags + tile, 1, 1, sem="acquire") != 1:'),
    fault("sum-of-too-many-parts", "cooperative",
          "tl.load(parts + each, mask=each < tl.num_programs(0), other=0.0)", "tl.load(parts + each)", OUTSIDE,
          "largest = tl.max(tl.load(parts + each), 0)"),
    # Data races between programs
    fault("halo-in-place", "stencil", "step_kernel[(triton.cdiv(n, BLOCK),)](x, out, n, BLOCK=BLOCK)",
          "step_kernel[(triton.cdiv(n, BLOCK),)](x, x, n, BLOCK=BLOCK)", RACE,
          "left = tl.load(x + at - 1, mask=(at > 0) & (at < n), other=0.0)",
          "right = tl.load(x + at + 1, mask=at < n - 1, other=0.0)",
          "tl.store(out + at, here / 2 + (left + right) / 4, mask=at < n)"),
    fault("transpose-in-place", "transpose", "16))](x, out, rows, columns, TILE=16)",
          "16))](x, x, rows, columns, TILE=16)", RACE,
          "tile = tl.load(x + r[:, None] * columns + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < columns))",
          "tl.store(out + c[:, None] * rows + r[None, :], tl.trans(tile), mask=inside)"),
    fault("split-k-without-atomics", "split_k", 'tl.atomic_add(into, total, mask=inside, sem="relaxed")',
          "tl.store(into, tl.load(into, mask=inside) + total, mask=inside)", RACE),
    fault("split-k-by-stores", "split_k", 'tl.atomic_add(into, total, mask=inside, sem="relaxed")',
          "tl.store(into, total, mask=inside)", RACE),
    fault("gradient-without-atomics", "embedding", "tl.atomic_add(dtable + row * D + at, gradient, mask=at < D)",
          "tl.store(dtable + row * D + at, tl.load(dtable + row * D + at, mask=at < D) + gradient, mask=at < D)", RACE),
    fault("query-gradient-without-atomics", "attention",
          'tl.atomic_add(dq + base + rows, tl.dot(change.to(tl.float16), keys), mask=m[:, None] < N, sem="relaxed")',
          "tl.store(dq + base + rows, tl.load(dq + base + rows, mask=m[:, None] < N) + tl.dot(change.to(tl.float16), "
          "keys), mask=m[:, None] < N)", RACE),
    fault("counter-without-atomics", "work_queue", "        row = tl.atomic_add(counters, 1)\n",
          "        row = tl.load(counters)\n        tl.store(counters, row + 1)\n", f"{RACE} lane-race",
          "row = tl.load(counters)", "tl.store(counters, row + 1)"),
    fault("rows-of-one-output", "softmax", "tl.store(out + row * columns + at, powers / tl.sum(powers, 0), mask=inside)",
          "tl.store(out + at, powers / tl.sum(powers, 0), mask=inside)", RACE, size=1),
    fault("workspace-shared", "cooperative", "tl.store(parts + tl.program_id(0), tl.max(tl.abs(values), 0))",
          "tl.store(parts, tl.max(tl.abs(values), 0))", f"{RACE} {UNINITIALIZED}"),
    # Synchronization
    fault("lock-not-acquired", "layer_norm", "    while tl.atomic_cas(locks + group, 0, 1) == 1:\n        pass\n", "", RACE,
          "partial_w = tl.load(dweight + group * N + at, mask=inside)",
          "tl.store(dweight + group * N + at, partial_w + gradient * normal, mask=inside)"),
    fault("lock-of-another-group", "layer_norm", "tl.atomic_cas(locks + group, 0, 1)", "tl.atomic_cas(locks + row, 0, 1)",
          f"{RACE} {OUTSIDE} deadlock", "while tl.atomic_cas(locks + row, 0, 1) == 1:"),
    fault("lock-relaxed", "layer_norm", "tl.atomic_xchg(locks + group, 0)", 'tl.atomic_xchg(locks + group, 0, sem="relaxed")',
          RACE, "partial_w = tl.load(dweight + group * N + at, mask=inside)",
          "tl.store(dweight + group * N + at, partial_w + gradient * normal, mask=inside)",
          "partial_b = tl.load(dbias + group * N + at, mask=inside)",
          "tl.store(dbias + group * N + at, partial_b + gradient, mask=inside)"),
    fault("lock-not-released", "layer_norm", "    tl.atomic_xchg(locks + group, 0)\n", "", "deadlock",
          "while tl.atomic_cas(locks + group, 0, 1) == 1:"),
    fault("flag-set-relaxed", "producer_consumer", 'tl.atomic_xchg(flags + tile, 1, sem="release")',
          'tl.atomic_xchg(flags + tile, 1, sem="relaxed")', RACE, "tl.store(between + at, squares * squares, mask=at < n)",
          "received = tl.load(between + at, mask=at < n)"),
    fault("flag-read-relaxed", "producer_consumer", 'tl.atomic_cas(flags + tile, 1, 1, sem="acquire")',
          'tl.atomic_cas(flags + tile, 1, 1, sem="relaxed")', RACE,
          "tl.store(between + at, squares * squares, mask=at < n)", "received = tl.load(between + at, mask=at < n)"),
    fault("flag-of-cta-scope", "producer_consumer", 'tl.atomic_xchg(flags + tile, 1, sem="release")',
          'tl.atomic_xchg(flags + tile, 1, sem="release", scope="cta")', RACE,
          'tl.atomic_xchg(flags + tile, 1, sem="release", scope="cta")',
          'while tl.atomic_cas(flags + tile, 1, 1, sem="acquire") != 1:',
          "tl.store(between + at, squares * squares, mask=at < n)", "received = tl.load(between + at, mask=at < n)"),
    fault("flag-before-data", "producer_consumer",
          "        tl.store(between + at, squares * squares, mask=at < n)\n        tl.debug_barrier()\n"
          '        tl.atomic_xchg(flags + tile, 1, sem="release")\n',
          '        tl.atomic_xchg(flags + tile, 1, sem="release")\n'
          "        tl.store(between + at, squares * squares, mask=at < n)\n", f"{RACE} {UNINITIALIZED}",
          "tl.store(between + at, squares * squares, mask=at < n)", "received = tl.load(between + at, mask=at < n)"),
    fault("flag-not-awaited", "producer_consumer",
          '        while tl.atomic_cas(flags + tile, 1, 1, sem="acquire") != 1:\n            pass\n', "",
          f"{RACE} {UNINITIALIZED}", "tl.store(between + at, squares * squares, mask=at < n)",
          "received = tl.load(between + at, mask=at < n)"),
    fault("flag-of-the-wrong-tile", "producer_consumer", 'tl.atomic_xchg(flags + tile, 1, sem="release")',
          'tl.atomic_xchg(flags, 1, sem="release")', f"deadlock {RACE}",
          'while tl.atomic_cas(flags + tile, 1, 1, sem="acquire") != 1:'),
    fault("carry-read-before-flag", "chained_scan",
          '        while tl.atomic_add(flags + block - 1, 0, sem="acquire") == 0:\n            pass\n'
          "        before = tl.load(carries + block - 1)\n",
          "        before = tl.load(carries + block - 1)\n"
          '        while tl.atomic_add(flags + block - 1, 0, sem="acquire") == 0:\n            pass\n',
          f"{RACE} {UNINITIALIZED}", "before = tl.load(carries + block - 1)",
          "tl.store(carries + block, before + tl.sum(values, 0))"),
    fault("carry-flag-relaxed", "chained_scan", 'tl.atomic_xchg(flags + block, 1, sem="release")',
          'tl.atomic_xchg(flags + block, 1, sem="relaxed")', RACE, "before = tl.load(carries + block - 1)",
          "tl.store(carries + block, before + tl.sum(values, 0))"),
    fault("grid-barrier-missing", "cooperative",
          '    while tl.atomic_add(arrived, 0, sem="acquire") < tl.num_programs(0):\n        pass\n', "",
          f"{RACE} {UNINITIALIZED}",
          "largest = tl.max(tl.load(parts + each, mask=each < tl.num_programs(0), other=0.0), 0)",
          "tl.store(parts + tl.program_id(0), tl.max(tl.abs(values), 0))"),
    fault("grid-barrier-of-too-many", "cooperative", "< tl.num_programs(0):", "<= tl.num_programs(0):",
          "deadlock", 'while tl.atomic_add(arrived, 0, sem="acquire") <= tl.num_programs(0):'),
    fault("last-program-relaxed", "work_queue",
          "        row = tl.atomic_add(counters, 1)\n    tl.debug_barrier()\n    ended = tl.atomic_add(counters + 1, 1)",
          '        row = tl.atomic_add(counters, 1, sem="relaxed")\n    tl.debug_barrier()\n'
          '    ended = tl.atomic_add(counters + 1, 1, sem="relaxed")', RACE,
          "parts = tl.load(norms + each, mask=each < rows, other=0.0)", "tl.store(norms + row, tl.sum(values * values, 0))"),
    fault("dependent-launch-does-not-wait", "dependent", "    gdc_wait()\n", "", f"{RACE} {UNINITIALIZED}",
          "values = tl.load(x + at, mask=at < n)", "tl.store(out + at, values + 1, mask=at < n)",
          "tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)"),
    # Asynchronous copies
    fault("copy-not-awaited", "gluon_copy", "    async_copy.wait_group(0)\n", "", "read-before-wait shared-race",
          "turned = tile.permute((1, 0)).load(layout)", "copy_tile(tile, x + r[:, None] * columns + c[None, :], mask=inside)"),
    fault("mbarrier-not-awaited", "gluon_tma", "        mbarrier.wait(full.index(stage), step // 2 & 1)\n", "",
          "read-before-wait early-reuse", "load_box(a, [row, start], full, left)",
          "total = warpgroup_mma(left.index(stage), right.index(stage), total, is_async=True)"),
    fault("mbarrier-phase-not-flipped", "gluon_tma", "mbarrier.wait(full.index(stage), step // 2 & 1)",
          "mbarrier.wait(full.index(stage), 0)", "read-before-wait mbarrier-phase deadlock", "load_box(a, [row, start], full, left)",
          "total = warpgroup_mma(left.index(stage), right.index(stage), total, is_async=True)",
          "mbarrier.wait(full.index(stage), 0)"),
    fault("mbarrier-bytes-of-one-tile", "gluon_tma", "BYTES: gl.constexpr = (BM * BK + BK * BN) * 2",
          "BYTES: gl.constexpr = BM * BK * 2", "read-before-wait mbarrier-tx-count mbarrier-phase",
          "load_box(b, [start, column], full, right)", "load_box(a, [row, start], full, left)",
          "mbarrier.expect(full, BYTES)",
          "total = warpgroup_mma(left.index(stage), right.index(stage), total, is_async=True)"),
    fault("mbarrier-bytes-of-more", "gluon_tma", "BYTES: gl.constexpr = (BM * BK + BK * BN) * 2",
          "BYTES: gl.constexpr = (BM * BK + BK * BN) * 4", "deadlock", "mbarrier.wait(full.index(stage), step // 2 & 1)"),
    fault("mbarrier-not-initialized", "gluon_tma",
          "    for each in gl.static_range(2):\n        mbarrier.init(full.index(each), count=1)\n", "",
          "mbarrier-uninitialized uninitialized-memory", "mbarrier.expect(full, BYTES)", "load_box(a, [row, start], full, left)"),
    fault("mma-not-awaited", "gluon_tma", "warpgroup_mma_wait(num_outstanding=0", "warpgroup_mma_wait(num_outstanding=1",
          "early-reuse read-before-wait wgmma-register-before-wait unfinished-wgmma",
          "total = warpgroup_mma(left.index(stage), right.index(stage), total, is_async=True)",
          "load_box(a, [row, start], full, left)", "result.store(total.to(gl.float16))"),
)  # fmt: skip
