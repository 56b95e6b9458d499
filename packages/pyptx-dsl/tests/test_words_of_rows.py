"""Keyword arguments of `ptx` functions come from the instruction table; other modifiers are errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.errors import OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import b32, b64, b128, f32, f64, pred, s32, u8x4, u16x2, u32, u64
from pyptx_ir.toolchain import assemble

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).name


class Bench:
    """Registers and an mbarrier for the operands of calls; create it inside a trace."""

    def __init__(self) -> None:
        self.a, self.w, self.p, self.q = reg.scalar(u32), reg.scalar(u64), reg.scalar(pred), reg.scalar(pred)
        self.x, self.wide = reg.scalar(f32), reg.scalar(b128)
        self.four, self.words, self.pair = reg.array(f32, 4), reg.array(b32, 4), reg.array(f64, 4)
        self.bar = smem.mbarrier(1)[0]


def instruction(call: Callable[[Bench], object], arch: str, version: tuple[int, int]) -> str:
    """Return the instruction that a call emits for a target and a PTX version."""

    def k() -> None:
        call(Bench())
        ptx.ret()

    text = kernel(k, arch=arch, version=version, block=(32, 1, 1)).ptx()
    if version <= (9, 0):  # newest PTX version that ptxas 13.0 accepts
        assemble(text, arch)
    lines = [line.strip() for line in text.splitlines() if line.startswith("\t") and not line.strip().startswith(".")]
    return lines[-2].rstrip(";").split(" ")[0]


HOPPER, BLACKWELL, LATER = ("sm_90", (8, 6)), ("sm_100", (8, 8)), ("sm_90", (9, 5))
WRITTEN: dict[str, tuple[tuple[str, tuple[int, int]], Callable[[Bench], object]]] = {
    "ld.mmio.relaxed.sys.global.u32": (
        HOPPER,
        lambda b: ptx.ld(u32, b.a, b.w, mmio=True, sem="relaxed", scope="sys"),
    ),
    "ld.relaxed.gpu.global.L1::no_allocate.L2::128B.u32": (
        HOPPER,
        lambda b: ptx.ld(u32, b.a, b.w, sem="relaxed", scope="gpu", evict_l1="no_allocate", prefetch="128B"),
    ),
    "ld.global.b128": (HOPPER, lambda b: ptx.ld(b128, b.wide, b.w)),
    "ld.global.L1::evict_last.L2::evict_first.v4.f64": (
        BLACKWELL,
        lambda b: ptx.ld(f64, b.pair, b.w, evict_l1="evict_last", evict_l2="evict_first"),
    ),
    "ld.proxy::readonly.global.u32": (LATER, lambda b: ptx.ld(u32, b.a, b.w, readonly=True)),
    "st.volatile.v2.f32": (HOPPER, lambda b: ptx.st(f32, b.w, b.four[:2], sem="volatile", space=None)),
    "st.mmio.relaxed.sys.f32": (
        HOPPER,
        lambda b: ptx.st(f32, b.w, b.x, space="generic", mmio=True, sem="relaxed", scope="sys"),
    ),
    "prefetch.param.tensormap": (HOPPER, lambda b: ptx.prefetch(b.w, "tensormap", space="param")),
    "createpolicy.range.L2::evict_last.b64": (
        HOPPER,
        lambda b: ptx.createpolicy.range_(reg.scalar(b64), b.w, 64, 128, "evict_last", space=None),
    ),
    "cvta.to.shared::cta.u64": (HOPPER, lambda b: ptx.cvta.to_shared__cta(b.w)),
    "bar.cta.red.popc.u32": (HOPPER, lambda b: ptx.bar.cta.red.popc(b.a, 0, b.p)),
    "barrier.red.or.aligned.pred": (HOPPER, lambda b: ptx.barrier.red.or_(b.q, 0, b.p, aligned=True)),
    "fence.gpu": (HOPPER, lambda _: ptx.fence(None, "gpu")),
    "mbarrier.inval.b64": (HOPPER, lambda b: ptx.mbarrier.inval(b.bar, space=None)),
    "mbarrier.arrive.noComplete.shared::cta.b64": (
        HOPPER,
        lambda b: ptx.mbarrier.arrive_cluster(b.bar, 1, no_complete=True, space="shared::cta"),
    ),
    "mbarrier.expect_tx.shared::cta.b64": (HOPPER, lambda b: ptx.mbarrier.expect_tx(b.bar, 16, scope=None)),
    "mbarrier.try_wait.phase_type::primary.acquire.cta.shared::cta.b64": (
        LATER,
        lambda b: ptx.mbarrier.try_wait(b.bar, b.w, parity=False, phases="primary", sem="acquire", scope="cta", q=b.q),
    ),
    "mbarrier.check_layout.layout::v1.shared::cta.b64": (LATER, lambda b: ptx.mbarrier.check_layout(b.bar, "v1")),
    "cp.async.cg.shared::cta.global.L2::256B": (
        HOPPER,
        lambda b: ptx.cp.async_.cg(b.a, b.w, space="shared::cta", prefetch="256B"),
    ),
    "ldmatrix.sync.aligned.m8n8.x4.b16": (HOPPER, lambda b: ptx.ldmatrix(dst=b.words, src=b.w, space=None)),
    "ldmatrix.sync.aligned.m8n16.x2.shared.s8.s4": (
        ("sm_90a", (9, 5)),
        lambda b: ptx.ldmatrix(dst=b.words[:2], src=b.a, shape="m8n16", layout="x2", source="s4"),
    ),
    "wmma.store.d.sync.aligned.row.m16n16k16.shared::cta.f16": (
        HOPPER,
        lambda b: ptx.wmma.store(shape=(16, 16, 16), dtype="f16", dst=b.a, src=b.words, space="shared::cta"),
    ),
    "set.ne.u8x4": (
        ("sm_107f", (9, 5)),
        lambda _: ptx.set_("ne", u8x4, None, reg.scalar(u8x4), reg.scalar(u8x4), reg.scalar(u8x4)),
    ),
    "add.u16x2": (HOPPER, lambda _: ptx.add(u16x2, *(reg.scalar(u16x2) for _ in range(3)))),
    "clmad.hi.u64": (LATER, lambda b: ptx.clmad(u64, b.w, b.w, b.w, b.w, mode="hi")),
    "vadd.s32.u32.u32.sat.min": (
        HOPPER,
        lambda b: ptx.vadd((s32, u32, u32), b.a, b.a, b.a, b.a, sat=True, second="min"),
    ),
    "vset4.u32.u32.ge.add": (HOPPER, lambda b: ptx.vset4((u32, u32), b.a, b.a, b.a, b.a, compare="ge", op="add")),
    "istypep.texref": (("sm_90", (9, 5)), lambda b: ptx.istypep("texref", b.p, b.w)),
    "alloca.u64": (HOPPER, lambda b: ptx.alloca(u64, b.w, b.w, 16)),
    "stackrestore.u64": (HOPPER, lambda b: ptx.stackrestore(u64, ptx.stacksave(u64, b.w))),
    "pmevent.mask": (HOPPER, lambda _: ptx.pmevent(5, mask=True)),
}


@pytest.mark.hopper
@pytest.mark.ptxas
@pytest.mark.parametrize("opcode", WRITTEN)
def test_a_function_writes_what_the_rows_have(opcode: str) -> None:
    (arch, version), call = WRITTEN[opcode]
    assert instruction(call, arch, version) == opcode


WRONG: dict[str, Callable[[Bench], object]] = {
    "ptx.ld of f32 with sem='acquire' needs one of cta, cluster, gpu, sys": lambda b: ptx.ld(
        f32, b.x, b.w, sem="acquire"
    ),
    "ptx.ld of f32 with scope='gpu' needs one of relaxed, acquire": lambda b: ptx.ld(f32, b.x, b.w, scope="gpu"),
    "invalid space='constant'": lambda b: ptx.ld(f32, b.x, b.w, space="constant"),
    "invalid cache='wb'": lambda b: ptx.ld(f32, b.x, b.w, cache="wb"),
    "invalid level='L3'": lambda b: ptx.prefetch(b.w, "L3"),
    "invalid sem='relaxed'": lambda _: ptx.fence("relaxed", "cta"),
    "ptx.mbarrier.arrive with scope='cta' needs one of release, relaxed": lambda b: ptx.mbarrier.arrive(
        b.bar, scope="cta"
    ),
    "invalid layout='v2'": lambda b: ptx.mbarrier.init(b.bar, 1, layout="v2"),
    "invalid space='local'": lambda b: ptx.cp.async_.ca(b.a, b.w, 4, space="local"),
    "ptx.ldmatrix: shape='m8n16' needs source=": lambda b: ptx.ldmatrix(dst=b.words, src=b.a, shape="m8n16"),
    "ptx.mma.sync has no form for f32.f32.f32.f32": lambda b: ptx.mma.sync(
        shape=(16, 8, 8), dtype_d=f32, dtype_a=f32, dtype_b=f32, dtype_c=f32, d=b.four, a=b.four, b=b.four, c=b.four
    ),
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 requires .aligned": lambda b: ptx.wmma.load(
        "a", shape=(16, 16, 16), dtype="bf16", dst=b.words, src=b.a, aligned=False
    ),
    "ptx.tex of f32.s32 needs one of": lambda b: ptx.tex((f32, s32), b.four, ptx.tensor_addr("t", [b.a])),
    "ptx.vadd has no form for u32": lambda b: ptx.vadd(u32, b.a, b.a, b.a),
    "invalid kind='texture'": lambda b: ptx.istypep("texture", b.p, b.w),
    "ptx.alloca has no form for f32": lambda b: ptx.alloca(f32, b.w, 16),
    "cvta.shared needs a register or a symbol, got 5": lambda _: ptx.cvta.shared(5),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_word_that_no_row_has_is_refused_at_its_line(said: str) -> None:
    def k() -> None:
        WRONG[said](Bench())

    with pytest.raises(OperandError) as caught:
        kernel(k, arch="sm_90", version=(8, 6)).ptx()
    assert str(caught.value.message).startswith(said)
    assert f"{HERE}:" in str(caught.value)
    assert caught.value.help


def test_a_help_names_the_types_that_have_a_modifier() -> None:
    def k() -> None:
        ptx.add(u32, reg.scalar(u32), 1, 2, rounding="rz")

    with pytest.raises(OperandError) as caught:
        kernel(k, arch="sm_90").ptx()
    assert caught.value.message == "ptx.add of u32 has no modifier 'rounding'"
    assert "types with this modifier:" in str(caught.value.help)
    assert "f32" in str(caught.value.help)
