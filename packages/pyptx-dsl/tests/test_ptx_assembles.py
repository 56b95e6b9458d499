"""ptxas assembles every `ptx` wrapper with all of its types and modifiers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.errors import InstructionUseError
from pyptx_dsl.instructions.forms.row_forms import choices_of, types_in
from pyptx_dsl.instructions.forms.wrapper import Wrapper, keywords_of
from pyptx_dsl.instructions.groups.special_registers import _types
from pyptx_dsl.instructions.groups.textures import Texture
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.registers.operands import PipeRef
from pyptx_dsl.trace_context import active
from pyptx_dsl.tracing.trace import register_names
from pyptx_dsl.types import (
    TYPES,
    b8,
    b16,
    b32,
    b64,
    b128,
    bf16,
    bf16x2,
    e2m1x2,
    e4m3x2,
    e4m3x4,
    e5m2x2,
    f16,
    f16x2,
    f32,
    f64,
    from_name,
    pred,
    s8,
    s16,
    s32,
    s64,
    tf32,
    u8,
    u16,
    u32,
    u64,
    ue8m0x2,
)
from pyptx_ir.isa.check import patterns_of, verdict_on
from pyptx_ir.isa.forms import forms, register_type
from pyptx_ir.syntax import parse_statements
from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.toolchain import assemble

from .mma_forms import dense_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

pytestmark = pytest.mark.ptxas

NAMED = [value for name in ptx.__all__ if isinstance(value := getattr(ptx, name), Wrapper)]
# Wrappers without textures: texture operands are module variables, which tests/oracle declares for each form.
WRAPPERS = [wrapper for wrapper in NAMED if not isinstance(wrapper, Texture)]
VERSIONS = {"sm_80": (8, 5), "sm_90a": (8, 5), "sm_100a": (8, 8)}


def assembled(body: Callable[[], object], arch: str = "sm_90a", version: tuple[int, int] | None = None) -> str:
    """Trace a body, assemble it with ptxas, and return its PTX."""

    def k() -> None:
        body()
        ptx.ret()

    text = kernel(k, arch=arch, version=version or VERSIONS[arch], block=(128, 1, 1)).ptx()
    assemble(text, arch)
    return text


# --- wrappers made from table rows --------------------------------------------------------------------


def instructions(wrapper: Wrapper, target: str, version: tuple[int, int]) -> Iterator[Instruction]:
    """Yield the legal instructions of a wrapper's table rows for a target and version; register names contain types."""
    for pattern in patterns_of(wrapper.opcode):
        for text in forms(pattern.row):
            (node,) = parse_statements(text)
            assert isinstance(node, Instruction)
            if verdict_on(node, register_type, target, version) is None:
                yield node


def declared(node: Instruction, known: set[str]) -> None:
    """Declare the registers of an instruction that are not declared yet."""
    for name in (name.partition(".")[0] for operand in node.operands for name in register_names(operand)):
        if name not in known:
            active().fresh(from_name(str(register_type(name))), name)
            known.add(name)


@pytest.mark.long
def test_every_row_assembles_with_every_combination_of_its_modifiers() -> None:
    def body() -> None:
        known = set[str]()
        for wrapper in WRAPPERS:
            for node in instructions(wrapper, "sm_100a", VERSIONS["sm_100a"]):
                declared(node, known)
                types = tuple(map(from_name, types_in(node.opcode)))
                wrapper(types if len(types) > 1 else types[0], *node.operands, **keywords_of(wrapper, node.opcode[1:]))

    text = assembled(body, "sm_100a")
    assert text.count(";") > 700


def test_numbers_are_spelt_for_the_type() -> None:
    def body() -> None:
        x, d, h, i, j = (reg.scalar(dtype) for dtype in (f32, f64, f16, s32, u64))
        for value in (0, 1, -2, 0.5, 1e-40, float("inf"), float("nan")):
            ptx.mov(f32, x, value)
            ptx.mov(f64, d, value)
            ptx.mov(f16, h, value)
            ptx.mov(bf16, reg.scalar(bf16), value)
            ptx.add(f32, x, x, value)
            ptx.fma(f64, d, d, value, 1)
            ptx.inst.mul.rn.f32(x, x, value)
            ptx.setp("lt", f32, reg.scalar(pred), x, value)
            ptx.st(f32, ptx.addr(j), value)
            ptx.st(f16, ptx.addr(j), value)
        ptx.add(s32, i, i, -(1 << 31))
        ptx.mov(u64, j, (1 << 64) - 1)
        ptx.selp(f16, h, 1.0, 0, i == 0)
        ptx.slct(f32, s32, x, 1.0, 0, i)

    text = assembled(body)
    assert "add.f32 %f0, %f0, 0f3F800000;" in text
    assert "mov.b16 %h0, 0x3C00;" in text


# Call -> emitted instruction: each number has the type of its operand; slct and set have two operand types.
SPELT = {
    "slct.f32.s32 %f0, 1, 2, %r0": "slct.f32.s32 %f0, 0f3F800000, 0f40000000, %r0",
    "slct.f32.s32 %f0, 1, 2, 3": "slct.f32.s32 %f0, 0f3F800000, 0f40000000, 3",
    "slct.f64.f32 %fd0, 1, 2, 3": "slct.f64.f32 %fd0, 0d3FF0000000000000, 0d4000000000000000, 0f40400000",
    "slct.u32.f32 %r0, 1, 2, 0.5": "slct.u32.f32 %r0, 1, 2, 0f3F000000",
    "set.eq.u32.f32 %r0, %f0, 1": "set.eq.u32.f32 %r0, %f0, 0f3F800000",
    "set.eq.f32.s32 %f0, %r0, 1": "set.eq.f32.s32 %f0, %r0, 1",
    "cvt.rn.f32.s32 %f0, 3": "cvt.rn.f32.s32 %f0, 3",
    "cvt.rzi.s32.f32 %r0, 3": "cvt.rzi.s32.f32 %r0, 0f40400000",
}


@pytest.mark.parametrize("written", SPELT)
def test_numbers_are_spelt_for_their_own_operand(written: str) -> None:
    opcode, _, operands = written.partition(" ")

    def body() -> None:
        named: dict[str, object] = {"%f0": reg.scalar(f32), "%fd0": reg.scalar(f64), "%r0": reg.scalar(s32)}
        values = [named[word] if word in named else float(word) for word in operands.split(", ")]
        whole = [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
        active().emit(tuple(opcode.split(".")), whole)

    assert SPELT[written] in assembled(body)


# --- comparison, conversion ---------------------------------------------------------------------------


def test_every_comparison_assembles_for_the_types_that_have_it() -> None:
    tried = list[str]()

    def body() -> None:
        for relation, dtype in itertools.product(choices_of("setp", "cmp_op"), (u32, s32, b32, u16, s64, f32, f64)):
            p, a = reg.scalar(pred), reg.scalar(dtype)
            try:
                ptx.setp(relation, dtype, p, a, a)
            except InstructionUseError:
                continue
            tried.append(f"{relation} {dtype}")
            ptx.setp(relation, dtype, PipeRef(p, reg.scalar(pred)), a, a, combine="and", c=~p, pred=p)
            if dtype in {f32, u32, s32}:
                ptx.set_(relation, u32, dtype, reg.scalar(u32), a, a)
                ptx.set_(relation, f32, dtype, reg.scalar(f32), a, a, combine="or", c=p, ftz=dtype is f32)
        for relation, dtype in itertools.product(("lt", "neu", "nan"), (f16, bf16)):
            ptx.setp(relation, dtype, reg.scalar(pred), reg.scalar(dtype), reg.scalar(dtype))

    assembled(body)
    assert {"lo u32", "hs u32", "equ f32", "num f64", "eq b32", "lt s32"} <= set(tried)
    assert not {"lo s32", "equ u32", "nan u16", "lt b32"} & set(tried)


def test_selections_and_tests_assemble_for_every_type() -> None:
    def body() -> None:
        p = reg.scalar(pred)
        for dtype in (b16, b32, b64, u16, u32, u64, s16, s32, s64, f16, bf16, f16x2, bf16x2, f32, f64, tf32):
            a, b = reg.scalar(dtype), reg.scalar(dtype)
            ptx.selp(dtype, a, a, b, p, pred=~p)
            ptx.slct(dtype, s32, a, a, b, reg.scalar(s32))
            ptx.slct(dtype, f32, a, a, b, reg.scalar(f32), ftz=True)
            ptx.mov(dtype, a, b)
        for name in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            ptx.testp(name, f32, p, reg.scalar(f32))
            ptx.testp(name, f64, p, reg.scalar(f64))
        ptx.mov(pred, p, p)
        ptx.mov(b64, [reg.scalar(b32), reg.scalar(b32)], reg.scalar(b64))
        ptx.mov(b32, reg.scalar(b32), [reg.scalar(b16), reg.scalar(b16)])

    assembled(body)


def cvt(to: PtxType, source: PtxType, count: int = 1, **keywords: object) -> Callable[[], object]:
    """Return a kernel body that converts `count` registers to one register by `ptx.cvt`."""

    def emit() -> None:
        sources = [reg.scalar(source) for _ in range(count)]
        ptx.cvt(to, source, reg.scalar(to), *sources, **keywords)

    return emit


CONVERSIONS: dict[str, tuple[Callable[[], object], ...]] = {
    "sm_90a": (
        *(cvt(u64, source) for source in (u8, s16, s32, u64)),
        *(cvt(to, f32, rounding=rounding) for to in (s32, u64, s16) for rounding in ("rni", "rzi", "rmi", "rpi")),
        *(cvt(f32, source, rounding=rounding) for source in (s32, u64, s8) for rounding in ("rn", "rz", "rm", "rp")),
        cvt(f32, f64, rounding="rn", ftz=True, sat=True),
        cvt(f64, f32),
        cvt(s32, f32, rounding="rzi", sat=True),
        *(
            cvt(f16, f32, rounding="rn", relu=relu, satfinite=finite)
            for relu in (True, False)
            for finite in (True, False)
        ),
        *(cvt(bf16, f32, rounding=rounding, relu=True) for rounding in ("rn", "rz")),
        cvt(f16x2, f32, 2, rounding="rn", relu=True),
        cvt(bf16x2, f32, 2, rounding="rz"),
        cvt(tf32, f32, rounding="rna"),
        cvt(tf32, f32, rounding="rn", relu=True),
        cvt(tf32, f32, rounding="rz"),
        *(
            cvt(small, f32, 2, rounding="rn", satfinite=True, relu=relu)
            for small in (e4m3x2, e5m2x2)
            for relu in (True, False)
        ),
        cvt(e4m3x2, f16x2, rounding="rn", satfinite=True),
        cvt(f16x2, e5m2x2, rounding="rn", relu=True),
        cvt(f32, f16),
        cvt(f32, bf16),
    ),
    "sm_100a": (
        cvt(tf32, f32, rounding="rn", satfinite=True, relu=True),
        cvt(e2m1x2, f32, 2, rounding="rn", satfinite=True, relu=True),
        cvt(ue8m0x2, f32, 2, rounding="rz", satfinite=True),
        cvt(ue8m0x2, bf16x2, rounding="rp"),
        cvt(bf16x2, ue8m0x2, rounding="rn"),
    ),
}


@pytest.mark.parametrize("arch", CONVERSIONS)
def test_conversions_assemble(arch: str) -> None:
    def body() -> None:
        for conversion in CONVERSIONS[arch]:
            conversion()
        for to in (u16, s16):
            ptx.cvt_pack(to, s32, reg.scalar(u32), reg.scalar(s32), reg.scalar(s32))
        for to in (u8, s8):
            ptx.cvt_pack(to, s32, reg.scalar(u32), reg.scalar(s32), reg.scalar(s32), reg.scalar(u32))
        if arch == "sm_100a":
            bits, four = reg.scalar(b32), [reg.scalar(f32) for _ in range(4)]
            ptx.cvt(f16x2, f32, reg.scalar(f16x2), four[0], four[1], rounding="rs", random_bits=bits)
            ptx.cvt(e4m3x4, f32, reg.scalar(e4m3x4), four, rounding="rs", satfinite=True, random_bits=bits)

    assembled(body, arch)


# --- memory -------------------------------------------------------------------------------------------


def test_loads_and_stores_assemble_for_every_type_space_and_cache_operator() -> None:
    def body() -> None:
        (pointer,) = (reg.scalar(u64),)
        shared = smem.alloc(b8, (256,))
        local = ptx.var("local", b8, "scratch", size=64, align=16)
        const = ptx.var("const", b8, "table", size=64, align=16, init=[1, 2, 3])
        for dtype in TYPES:
            if dtype.memory is None or dtype.name in {"b1", "s2", "u2", "s4", "u4", "e2m1", "e2m3", "e3m2"}:
                continue
            value = reg.scalar(dtype)
            ptx.ld(dtype, value, pointer)
            ptx.ld(dtype, value, shared, space="shared")
            ptx.ld(dtype, value, local, space="local")
            ptx.ld(dtype, value, ptx.addr(const, 16), space="const")
            ptx.ld(dtype, value, pointer, space="generic")
            ptx.st(dtype, ptx.addr(pointer, -16), value)
            ptx.st(dtype, shared, value, space="shared")
        x = reg.scalar(f32)
        for cache in ("ca", "cg", "cs", "lu", "cv"):
            ptx.ld(f32, x, pointer, cache=cache)
        for cache in ("wb", "cg", "cs", "wt"):
            ptx.st(f32, pointer, x, cache=cache)
        four = reg.array(f32, 4)
        ptx.ld(f32, four, pointer, nc=True)
        ptx.ld(f32, four[:2], pointer, cache="cg")
        ptx.ld(b64, [reg.scalar(b64), reg.scalar(b64)], ptx.addr(shared, 16), space="shared::cta")
        ptx.st(f32, pointer, four)
        ptx.st(f32, pointer, [1.0, 2, x, 0.0])
        ptx.ldu(f32, x, pointer)
        ptx.ldu(f32, four, pointer)

    assembled(body)


def test_memory_orders_and_cache_hints_assemble() -> None:
    def body() -> None:
        pointer, x, policy = reg.scalar(u64), reg.scalar(u32), reg.scalar(b64)
        ptx.createpolicy.fractional(policy, "evict_last")
        ptx.createpolicy.fractional(policy, "evict_first", "evict_unchanged", fraction=0.5)
        ptx.createpolicy.range_(policy, pointer, 4096, 8192, "evict_last", "evict_unchanged")
        ptx.createpolicy.cvt(policy, reg.scalar(b64))
        for scope in ("cta", "cluster", "gpu", "sys"):
            ptx.ld(u32, x, pointer, sem="relaxed", scope=scope)
            ptx.ld(u32, x, pointer, sem="acquire", scope=scope, space="generic")
            ptx.st(u32, pointer, x, sem="relaxed", scope=scope)
            ptx.st(u32, pointer, x, sem="release", scope=scope)
        for sem in ("weak", "volatile"):
            ptx.ld(u32, x, pointer, sem=sem)
            ptx.st(u32, pointer, x, sem=sem)
        for evict in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate"):
            ptx.ld(u32, x, pointer, evict_l1=evict)
            ptx.st(u32, pointer, x, evict_l1=evict)
        for prefetch in ("64B", "128B", "256B"):
            ptx.ld(u32, x, pointer, prefetch=prefetch)
        ptx.ld(u32, x, pointer, cache_policy=policy, prefetch="128B", nc=True)
        ptx.st(u32, pointer, x, cache_policy=policy)
        for level, space in itertools.product(("L1", "L2"), ("global", "local", "generic")):
            ptx.prefetch(pointer, level, space=space)
        ptx.prefetch(pointer, "L2", evict="evict_last")
        ptx.prefetchu(pointer)
        ptx.discard(pointer)
        ptx.applypriority(pointer, space="generic")
        for space in ("const", "global", "local", "shared", "shared::cta", "shared::cluster", "param"):
            ptx.isspacep(space, reg.scalar(pred), pointer)

    assembled(body)


def test_atomics_assemble_for_every_type() -> None:
    def body() -> None:
        pointer, shared = reg.scalar(u64), smem.alloc(b64, (2,))
        for name in ("add", "min", "max", "inc", "dec", "and_", "or_", "xor_", "exch"):
            operation = getattr(ptx.atom, name)
            scalars = (form.types[0] for form in operation.forms if "vec" not in form.keywords)
            for dtype in map(from_name, sorted(set(itertools.chain.from_iterable(scalars)))):
                if dtype is b128:
                    continue
                old, value = reg.scalar(dtype), reg.scalar(dtype)
                operation(dtype, old, pointer, value)
                if dtype not in {bf16, bf16x2}:
                    operation(dtype, None, pointer, value, sem="acq_rel", scope="gpu")
                if name != "exch":
                    getattr(ptx.red, name)(dtype, pointer, value, sem="release", scope="sys")
        for dtype in (b16, u32, b32, b64, f32, f64):
            old = reg.scalar(dtype)
            ptx.atom.cas(dtype, old, pointer, old, old)
        ptx.atom.add(u32, reg.scalar(u32), shared, 1, space="shared")
        ptx.atom.cas(u32, reg.scalar(u32), ptx.addr(shared, 4), 0, 1, space="shared::cta", sem="acquire", scope="cta")
        ptx.red.add(f32, pointer, 1.5, space="generic")
        ptx.red.add(f16x2, pointer, reg.scalar(f16x2))
        ptx.atom.exch(b128, reg.scalar(b128), pointer, reg.scalar(b128))
        ptx.atom.cas(b128, reg.scalar(b128), pointer, reg.scalar(b128), reg.scalar(b128))

    assembled(body)


def test_addresses_of_every_kind_assemble() -> None:
    def body() -> None:
        stages = smem.alloc(f32, (3, 32), name="stages")
        bars = smem.mbarrier(2)
        pointer, shared = reg.scalar(u64), reg.scalar(u32)
        x = reg.scalar(f32)
        ptx.ld(f32, x, ptx.addr(pointer, -8))
        ptx.ld(f32, x, ptx.addr(ptx.addr(pointer, 8), -8))
        ptx.ld(f32, x, ptx.addr(stages[1], 4), space="shared")
        ptx.ld(f32, x, stages[reg.scalar(u32)], space="shared")
        ptx.ld(f32, x, ptx.addr(shared, 12), space="shared")
        ptx.ld(f32, x, ptx.addr("stages", 16), space="shared")
        ptx.ld(f32, x, ptx.addr(128), space="local")
        ptx.mbarrier.init(bars[1], 1)
        for name in ("param", "global_", "shared", "local", "const", "to_global", "to_shared", "to_local", "to_const"):
            getattr(ptx.cvta, name)(pointer)
        ptx.cvta.to_param(pointer, pointer)
        ptx.cvta.shared(stages[2])

    text = assembled(body)
    assert "[%rd0+-8]" in text
    assert "ld.global.f32 %f0, [%rd0];" in text
    assert "[stages+132]" in text
    assert "cvta.shared.u64 %rd10, stages+256;" in text


# --- warps, barriers, fences --------------------------------------------------------------------------


def test_lane_instructions_assemble() -> None:
    def body() -> None:
        a, b, p = reg.scalar(u32), reg.scalar(f32), reg.scalar(pred)
        for name in ("up", "down", "bfly", "idx"):
            shuffle = getattr(ptx.shfl.sync, name)
            shuffle(a, a, 1)
            shuffle(b, b, a, 0x1F, 0xFFFF, p=p, pred=~p)
        for name in ("all", "any", "uni"):
            getattr(ptx.vote.sync, name)(p, ~p)
        ptx.vote.sync.ballot(a, p, a)
        for dtype in (b32, u64):
            ptx.match.any.sync(dtype, a, reg.scalar(dtype))
            ptx.match.all.sync(dtype, a, reg.scalar(dtype), p=p)
        for name in ("add", "min", "max"):
            for dtype in (u32, s32):
                getattr(ptx.redux.sync, name)(dtype, reg.scalar(dtype), reg.scalar(dtype))
        for name in ("and_", "or_", "xor_"):
            getattr(ptx.redux.sync, name)(b32, a, a, 0xFF)
        assert ptx.activemask().dtype is u32
        ptx.dp4a(u32, s32, reg.scalar(s32), a, reg.scalar(s32), reg.scalar(s32))
        ptx.dp2a(s32, s32, reg.scalar(s32), reg.scalar(s32), reg.scalar(s32), 0, mode="hi")
        ptx.lop3(b32, a, a, a, a, 0xE8)
        for direction, mode in itertools.product("lr", ("wrap", "clamp")):
            ptx.shf(b32, a, a, a, 5, direction=direction, mode=mode)

    assembled(body, "sm_90a")


def test_reductions_of_floats_over_a_warp_in_one_instruction_need_blackwell() -> None:
    def body() -> None:
        x = reg.scalar(f32)
        ptx.redux.sync.min(f32, x, x)
        ptx.redux.sync.max(f32, x, x, abs=True, nan=True)

    assert "redux.sync.max.abs.NaN.f32" in assembled(body, "sm_100a")


WARP_TYPES = (u32, s32, b32, f32, u64, s64, b64, f64, u16, s16, f16, bf16, f16x2, bf16x2)


def test_warp_reductions_assemble_for_every_type_and_width() -> None:
    def body() -> None:
        for dtype in WARP_TYPES:
            value = reg.scalar(dtype)
            ptx.warp.reduce_sum(value)
            ptx.warp.reduce_max(value, width=4)
            ptx.warp.reduce_min(value, width=2)
            ptx.warp.broadcast(value, 5)
            ptx.warp.broadcast(value, reg.scalar(u32))
            if dtype.is_integer:
                ptx.warp.reduce_and(value, width=8)
                ptx.warp.reduce_or(value, width=16)
                ptx.warp.reduce_xor(value)
        ptx.warp.sync()
        ptx.warp.sync(reg.scalar(u32))

    assembled(body)


@pytest.mark.parametrize(
    ("dtype", "per_step"), [(f32, 2), (s32, 2), (f16x2, 2), (f16, 4), (s16, 4), (f64, 5), (u64, 5)]
)
def test_a_warp_reduction_takes_as_many_instructions_as_it_says(dtype: PtxType, per_step: int) -> None:
    def body() -> None:
        ptx.warp.reduce_max(reg.scalar(dtype), width=8)

    text = assembled(body)
    assert text.partition("{\n")[2].count(";") - text.count(".reg") == 3 * per_step + 1
    signed = {s32: "max.s32", s16: "max.s16", u64: "max.u64", f32: "max.f32"}
    assert signed.get(dtype, "max.") in text


def test_barriers_and_fences_assemble() -> None:
    def body() -> None:
        p, a = reg.scalar(pred), reg.scalar(u32)
        ptx.bar.sync()
        ptx.bar.sync(1, 64)
        ptx.bar.sync(a, 128, pred=p)
        ptx.bar.arrive(2, 64)
        ptx.bar.warp.sync()
        for namespace in (ptx.bar, ptx.barrier):
            namespace.red.popc(a, 0, p)
            namespace.red.and_(p, 1, ~p, 64)
            namespace.red.or_(p, a, p)
        ptx.barrier.sync(3)
        ptx.barrier.sync(3, 64, aligned=True)
        ptx.barrier.arrive(4, 64)
        ptx.barrier.arrive(4, 64, aligned=True)
        named = ptx.named_barrier(5, count=96)
        named.sync()
        named.arrive(pred=p)
        ptx.named_barrier(6).sync()
        ptx.fence()
        for sem, scope in itertools.product(("sc", "acq_rel"), ("cta", "cluster", "gpu", "sys")):
            ptx.fence(sem, scope)
        ptx.fence.proxy.alias()
        for level in ("cta", "gl", "sys"):
            ptx.membar(level)
        ptx.nanosleep(100)
        ptx.nanosleep(a)

    assembled(body)


def test_control_flow_and_directives_assemble() -> None:
    def body() -> None:
        p = reg.scalar(pred)
        ptx.file_(1, "kernel.py")
        ptx.file_(1, "kernel.py")
        ptx.loc(1, 3, 0)
        ptx.pragma("nounroll")
        with ptx.loop("top", pred=p):
            ptx.pmevent(1)
            ptx.nanosleep(1)
        ptx.bra("end", pred=~p)
        ptx.bra("end", uni=True)
        ptx.trap(pred=p)
        ptx.brkpt(pred=p)
        ptx.label("end")
        ptx.exit(pred=p)
        for space, dtype, size in (("shared", f16, 8), ("local", u8, 4), ("global", f32, 2), ("const", s64, None)):
            ptx.var(space, dtype, f"{space}_variable", size=size, align=16)
        ptx.var("global", f32, "weights", size=2, init=[1.5, -2])
        ptx.var("global", u64, "pointer", init="weights", linking="visible")
        ptx.var("shared", b8, "dynamic", size=0, align=16, linking="extern")
        ptx.ld(f32, reg.scalar(f32), ptx.addr("weights", 4))

    text = assembled(body)
    head, _, _ = text.partition(".visible .entry")
    assert '.file 1 "kernel.py"\n' in head
    assert head.count(".file") == 1
    assert ".global .f32 weights[2] = {0f3FC00000, 0fC0000000};" in head
    assert ".extern .shared .align 16 .b8 dynamic[];" in head
    assert ".loc 1 3 0\n" in text


def test_special_registers_have_their_own_types() -> None:
    def body() -> None:
        for name, dtype in _types().items():
            result = reg.scalar(dtype)
            ptx.mov(dtype, result, ptx.sreg(name))
        assert ptx.special.clock64().dtype is u64
        assert ptx.special.is_explicit_cluster().dtype is pred
        assert (ptx.special.tid.x() + ptx.ctaid_x()).dtype is u32
        ptx.mov(b32, reg.scalar(b32), ptx.special.envreg(3))
        ptx.mov(u64, reg.scalar(u64), ptx.special.pm_64(1))
        ptx.mov(u32, reg.scalar(u32), ptx.special.pm(7))

    assembled(body)


# --- tensor cores and asynchronous copies ---------------------------------------------------------------


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_every_shape_of_mma_assembles(arch: str) -> None:
    counted = 0

    def body() -> None:
        nonlocal counted
        for form in {(each.shape, each.types): each for each in dense_forms()}.values():
            d, a, b, c = (registers(name, count) for name, count in zip(form.types, form.counts, strict=True))
            for bit_op in ("xor", "and") if form.bitwise else (None,):
                for satfinite in (False, True) if form.saturates else (False,):
                    try:
                        multiply(form.shape, form.types, (d, a, b, c), bit_op=bit_op, satfinite=satfinite)
                    except InstructionUseError:
                        continue
                    counted += 1

    def registers(name: str, count: int) -> list[Reg]:
        kinds = {"f32": f32, "f64": f64, "s32": s32, "tf32": tf32}
        return [reg.scalar(kinds.get(name, b32)) for _ in range(count)]

    def multiply(shape: str, types: tuple[str, ...], matrices: tuple[list[Reg], ...], **keywords: object) -> None:
        m, n, k = (int(part) for part in shape[1:].replace("n", " ").replace("k", " ").split())
        dtypes = dict(zip(("dtype_d", "dtype_a", "dtype_b", "dtype_c"), map(from_name, types), strict=True))
        parts = dict(zip("dabc", matrices, strict=True))
        ptx.mma.sync(shape=(m, n, k), **dtypes, **parts, **keywords)

    assembled(body, arch)
    assert counted >= {"sm_80": 50, "sm_90a": 50, "sm_100a": 58}[arch]


@pytest.mark.hopper
def test_matrices_load_store_and_transpose_from_addresses_of_every_kind() -> None:
    def body() -> None:
        tile = smem.alloc(b16, (4, 64))
        four, shared = reg.array(b32, 4), reg.scalar(u32)
        ptx.ldmatrix(dst=four, src=tile)
        ptx.ldmatrix(dst=four, src=shared, layout="m8n8.x4", trans=True)
        ptx.ldmatrix(dst=four[:2], src=tile[1], layout="x2.trans")
        ptx.ldmatrix(dst=four[0], src=ptx.addr(shared, 16), layout="x1")
        ptx.stmatrix(smem=tile[2], regs=four, layout="x4.trans")
        ptx.stmatrix(smem=ptx.addr(shared), regs=[four[0]], layout="x1", shape="m8n8")
        ptx.movmatrix(four[0], four[1])

    text = assembled(body)
    assert "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [smem_0];" in text
    assert "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16" in text


def test_asynchronous_copies_assemble_on_ampere() -> None:
    def body() -> None:
        tile, bar = smem.alloc(f32, (4, 32)), smem.mbarrier(1)
        pointer, shared, size, policy, p = (reg.scalar(dtype) for dtype in (u64, u32, u32, b64, pred))
        for count in (4, 8, 16):
            ptx.cp.async_.ca(tile, pointer, count)
            ptx.cp.async_.ca(tile[1], ptx.addr(pointer, -16), count, size)
        ptx.cp.async_.cg(ptx.addr(shared), ptx.addr(pointer), 16)
        ptx.cp.async_.cg(shared, pointer, 16, 8, prefetch="128B")
        ptx.cp.async_.cg(shared, pointer, ignore_src=p)
        ptx.cp.async_.cg(shared, pointer, 16, 16, cache_policy=policy, prefetch="256B", pred=p)
        ptx.cp.async_.commit_group()
        ptx.cp.async_.wait_group(1)
        ptx.cp.async_.wait_all()
        ptx.cp.async_.mbarrier.arrive(bar[0])
        ptx.cp.async_.mbarrier.arrive(bar[0], noinc=True)

    assembled(body, "sm_80")


@pytest.mark.hopper
def test_mbarriers_assemble() -> None:
    def common() -> None:
        bars, state = smem.mbarrier(2), reg.scalar(b64)
        ptx.mbarrier.init(bars[0], 128)
        ptx.mbarrier.arrive(bars[1])
        ptx.mbarrier.arrive_drop(bars[0])
        ptx.mbarrier.arrive_no_complete(bars[0], 2)
        ptx.mbarrier.test_wait(bars[0], state, parity=False)
        ptx.mbarrier.test_wait(ptx.addr(bars), 0)
        ptx.mbarrier.pending_count(state)
        ptx.mbarrier.wait(bars[0], 1, poll="test_wait")
        ptx.mbarrier.inval(bars[0])

    def hopper() -> None:
        common()
        bars, phase, p = smem.mbarrier(4), reg.scalar(u32), reg.scalar(pred)
        ptx.mbarrier.arrive(bars[0], 2, sem="relaxed", scope="cluster")
        ptx.mbarrier.arrive_expect_tx(bars[0], 1024, sem="release", scope="cta")
        ptx.mbarrier.expect_tx(bars[0], reg.scalar(u32))
        ptx.mbarrier.complete_tx(bars[0], 64)
        ptx.mbarrier.try_wait(bars[0], phase, suspend_time_hint=1000)
        ptx.mbarrier.try_wait(bars[0], phase, sem="acquire", scope="cluster", pred=p)
        ptx.mbarrier.wait(bars[2], phase)
        ptx.mbarrier.wait(bars[reg.scalar(u32)], phase, pred=p)
        for base in (reg.scalar(u32), bars):
            ring = ptx.mbarrier.array(base, 8, 3)
            assert len(ring) == 3
            ring.init_all(1)
            ring[1].wait(phase)
            ring[2].arrive_expect_tx(64)
            ring.at(phase).arrive(pred=p)
            ring.at(phase).wait(0)
            ring.arrive_remote_all(phase)
            ptx.mbarrier.init(ring[0], 1)

    assembled(common, "sm_80")
    assembled(hopper, "sm_90a", (8, 8))
