"""Shared memory accesses use the address of the indexed element, in static and dynamic layouts, swizzled or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.errors import (
    DuplicateNameError,
    ForeignRegisterError,
    OperandError,
    RegisterIndexError,
    RegisterTypeError,
    SharedMemoryError,
)
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.kernels.specialize import trace_kernel
from pyptx_dsl.registers.operands import AddressOperand
from pyptx_dsl.shared_memory.swizzle import SWIZZLES
from pyptx_dsl.tracing.trace import active
from pyptx_dsl.types import b16, b32, bf16, f32, pred, s4, u8, u16, u32, u64

if TYPE_CHECKING:
    from pyptx_dsl.kernels.kernel import Kernel


def body(build: Kernel) -> list[str]:
    return [line.strip() for line in build.ptx().splitlines() if line.startswith("\t") and "." in line]


def shared_lines(build: Kernel) -> list[str]:
    return [line for line in body(build) if not line.startswith((".reg", ".param"))]


def test_a_stage_is_an_address_of_its_own() -> None:
    @kernel
    def k() -> None:
        s = smem.alloc(bf16, (3, 64, 64))
        for stage in range(3):
            active().emit(("mov", "u32"), (reg.scalar(u32), s[stage]))
        active().emit(("ld", "shared", "b32"), (reg.scalar(b32), AddressOperand(s[2], 4)))
        active().emit(("ld", "shared", "b32"), (reg.scalar(b32), AddressOperand(s[-1][63], 4)))
        assert (s[1].shape, s[1].stage, s[1].dtype, s[1].swizzle) == ((64, 64), 1, bf16, None)
        assert len(s) == len(list(s)) == 3

    assert shared_lines(k)[1:] == [
        *("mov.u32 %r0, smem_0;", "mov.u32 %r1, smem_0+8192;", "mov.u32 %r2, smem_0+16384;"),
        *("ld.shared.b32 %r3, [smem_0+16388];", "ld.shared.b32 %r4, [smem_0+24452];"),
    ]


def test_a_stage_chosen_by_a_register_is_computed() -> None:
    @kernel
    def k() -> None:
        s = smem.alloc(f32, (4, 32))
        stage = reg.scalar(u32, init=2)
        active().emit(("ld", "shared", "f32"), (reg.scalar(f32), AddressOperand(s[stage], 8)))

    assert shared_lines(k)[2:] == [
        *("mov.u32 %r1, smem_0;", "mad.lo.u32 %r1, %r0, 128, %r1;", "ld.shared.f32 %f0, [%r1+8];"),
    ]


def test_elements_load_and_store_with_their_offsets() -> None:
    @kernel
    def k() -> None:
        s = smem.alloc(f32, (4, 8), name="tile")
        i = reg.scalar(u32, init=1)
        value = s[2, 3]
        s[0, -1] = value
        s[i, 2] = 1.5
        s[1][i] = s[i, i]
        line = smem.alloc(u16, 16)
        line[3] = reg.scalar(u16, init=1)
        line.load(4)

    assert [line for line in shared_lines(k) if "shared" in line or "mad" in line or "tile" in line] == [
        *(".shared .align 128 .b8 tile[128];", ".shared .align 128 .b8 smem_0[32];"),
        *("ld.shared.f32 %f0, [tile+76];", "st.shared.f32 [tile+28], %f0;", "mov.u32 %r1, tile+8;"),
        *("mad.lo.u32 %r1, %r0, 32, %r1;", "st.shared.f32 [%r1], 0f3FC00000;"),
        *("mov.u32 %r2, tile;", "mad.lo.u32 %r2, %r0, 32, %r2;", "mad.lo.u32 %r2, %r0, 4, %r2;"),
        *("ld.shared.f32 %f1, [%r2];", "mov.u32 %r3, tile+32;", "mad.lo.u32 %r3, %r0, 4, %r3;"),
        *("st.shared.f32 [%r3], %f1;", "st.shared.u16 [smem_0+6], %rs0;", "ld.shared.u16 %rs1, [smem_0+8];"),
    ]


def test_one_index_per_dimension_is_the_element_read_and_written() -> None:
    @kernel
    def k() -> None:
        s, i = smem.alloc(u32, 32, name="line"), reg.scalar(u32, init=1)
        s[i] = i
        ptx.mov(u32, i, s[31])
        list(s)
        s[0] = s[2]
        ptx.inst.ld.shared.u32(i, ptx.addr(s.address(3)))

    assert [line for line in shared_lines(k) if "shared" in line or "%r0, %" in line] == [
        ".shared .align 128 .b8 line[128];",
        *("st.shared.u32 [%r1], %r0;", "ld.shared.u32 %r2, [line+124];", "mov.u32 %r0, %r2;"),
        *(f"ld.shared.u32 %r{3 + i}, [line{f'+{4 * i}' if i else ''}];" for i in range(32)),
        *("ld.shared.u32 %r35, [line+8];", "st.shared.u32 [line], %r35;", "ld.shared.u32 %r0, [line+12];"),
    ]


@pytest.mark.parametrize("name", SWIZZLES)
def test_a_constant_index_is_swizzled_like_the_manual_says(name: str) -> None:
    """16-byte chunks are permuted within a row of the swizzle width, by the index of the 128-byte line."""
    swizzle = SWIZZLES[name]
    width = int(name[:-1])

    @kernel
    def k() -> None:
        s = smem.alloc(u8, (8, 128), swizzle=name)
        for row in range(8):
            for column in range(0, 128, 16):
                s.load(row, column)

    offsets = [int(offset or 0) for offset in re.findall(r"\[smem_0\+?(\d*)\]", k.ptx())]
    assert sorted(offsets) == list(range(0, 1024, 16))
    for logical, place in zip(range(0, 1024, 16), offsets, strict=True):
        assert place == logical ^ (logical // 128 % (width // 16)) << 4
    assert f".align {swizzle.period}" in k.ptx()


def test_a_register_index_is_swizzled_by_three_instructions() -> None:
    @kernel
    def k() -> None:
        s = smem.alloc(bf16, (2, 64, 64), swizzle="128B")
        i = reg.scalar(u32, init=5)
        s[1, i, 2] = reg.scalar(bf16, init=1)
        smem.apply_swizzle(i, "64B")

    assert shared_lines(k)[3:] == [
        *(
            "mad.lo.u32 %r2, %r0, 128, 8196;",
            "shr.u32 %r4, %r2, 3;",
            "and.b32 %r4, %r4, 112;",
            "xor.b32 %r3, %r2, %r4;",
        ),
        *("mov.u32 %r1, smem_0;", "add.u32 %r1, %r1, %r3;", "st.shared.b16 [%r1], %h0;"),
        *("shr.u32 %r6, %r0, 3;", "and.b32 %r6, %r6, 48;", "xor.b32 %r5, %r0, %r6;"),
    ]


def big(size: int, extern: bool | str = False, ask: int = 0) -> Kernel:  # noqa: FBT001, FBT002  the decorator's own
    @kernel(extern_smem=extern, smem=ask)
    def k() -> None:
        a = smem.alloc(f32, (4, 8))
        b = smem.alloc(u8, size)
        bars = smem.mbarrier(2)
        i = reg.scalar(u32, init=1)
        a[1, 2] = b32_of(a[i, 0])
        active().emit(("ld", "shared", "u8"), (reg.scalar(u8), AddressOperand(b, 3)))
        active().emit(("mov", "u32"), (reg.scalar(u32), bars[1]))
        active().emit(("mov", "u32"), (reg.scalar(u32), a))

    return k


def b32_of(value: object) -> object:
    return value


def test_static_and_dynamic_layouts_give_the_same_offsets() -> None:
    small, large = big(40_000), big(60_000)
    spec = trace_kernel(large._declaration, {}, {})
    assert ".extern .shared .align 128 .b8 dyn_smem[];" in spec.text
    assert spec.shared_bytes == 128 + 60_000 + 16
    assert ".shared .align 128 .b8 smem_0[128];" in small.ptx()
    assert trace_kernel(small._declaration, {}, {}).shared_bytes == 0
    places = {"smem_0": 0, "smem_1": 128, "mbar_0": 128 + 40_000}
    moved = {"smem_0": 0, "smem_1": 128, "mbar_0": 128 + 60_000}

    def offsets(build: Kernel, bases: dict[str, int]) -> list[int]:
        found: list[int] = []
        for line in body(build):
            for name, base in {**bases, "dyn_smem": 0}.items():
                places = [] if line.startswith((".reg", ".shared")) else re.findall(rf"\b{name}(?:\+(\d+))?", line)
                found += [base + int(offset or 0) for offset in places]
        return found

    static = offsets(small, places)
    dynamic = offsets(large, {})
    assert [offset - (20_000 if offset > 50_000 else 0) for offset in dynamic] == static
    assert moved["mbar_0"] - places["mbar_0"] == 20_000


def test_dynamic_allocations_lie_behind_what_the_user_asked_for() -> None:
    build = big(60_000, extern=True, ask=1000)
    spec = trace_kernel(build._declaration, {}, {})
    assert "dyn_smem" not in spec.text
    assert "[global_smem+1064]" in spec.text
    assert spec.shared_bytes == 1024 + 128 + 60_000 + 16
    assert trace_kernel(big(100, extern="mine", ask=5000)._declaration, {}, {}).shared_bytes == 5000


def test_asking_for_more_than_48_kib_makes_the_layout_dynamic() -> None:
    spec = trace_kernel(big(100, ask=50_000)._declaration, {}, {})
    assert "dyn_smem" in spec.text
    assert spec.shared_bytes == 50_000


def test_more_than_the_target_has_is_an_error_with_the_limit() -> None:
    with pytest.raises(SharedMemoryError, match=r"227 KiB \(232448 bytes\)"):
        big(231_000, ask=2000, extern=True).ptx()
    with pytest.raises(SharedMemoryError, match="99 KiB"):

        @kernel(arch="sm_86", smem=150_000)
        def k() -> None: ...


def test_barriers_are_eight_bytes_apart_and_checked() -> None:
    @kernel
    def k() -> None:
        bars = smem.mbarrier(4, name="full")
        i = reg.scalar(u32, init=1)
        active().emit(("mbarrier", "init", "shared", "b64"), (AddressOperand(bars[3]), 1))
        active().emit(("mbarrier", "init", "shared", "b64"), (AddressOperand(bars[i]), 1))
        active().emit(("mov", "u32"), (reg.scalar(u32), bars))
        assert [each.byte_offset for each in bars] == [0, 8, 16, 24]
        assert (len(bars), bars.name, bars[0].name, bars.byte_offset) == (4, "full", "full", 0)
        for index in (4, -5):
            with pytest.raises(RegisterIndexError):
                bars[index]
        with pytest.raises(OperandError):
            bars["x"]
        assert "full" in repr(bars)
        assert "full" in repr(bars[0])

    assert shared_lines(k)[2:] == [
        *("mbarrier.init.shared.b64 [full+24], 1;", "mov.u32 %r1, full;", "mad.lo.u32 %r1, %r0, 8, %r1;"),
        *("mbarrier.init.shared.b64 [%r1], 1;", "mov.u32 %r2, full;"),
    ]


def test_the_base_of_dynamic_shared_memory() -> None:
    @kernel(extern_smem="pool", smem=64)
    def k() -> None:
        smem.base()
        smem.base("pool")

    assert "\n.extern .shared .align 128 .b8 pool[];" in k.ptx()
    assert shared_lines(k) == ["mov.u32 %r0, pool;", "mov.u32 %r1, pool;"]

    @kernel
    def without() -> None:
        smem.base()

    with pytest.raises(SharedMemoryError, match="extern_smem=True"):
        without.ptx()


WRONG = [
    *(("s[4, 0]", RegisterIndexError), ("s[0, 8]", RegisterIndexError), ("s[-5]", RegisterIndexError)),
    *(("s[0, 0, 0]", RegisterIndexError), ("s['a', 0]", OperandError), ("s[wide, 0]", RegisterTypeError)),
    *(
        ("s[real, 0]", RegisterTypeError),
        ("s.store(n, 0, 0)", RegisterTypeError),
        ("s.store(wide, 0, 0)", RegisterTypeError),
    ),
    *(("s.store('x', 0, 0)", OperandError), ("s.store(s[0], 0, 0)", OperandError), ("s[0] = real", RegisterIndexError)),
    *(("smem.alloc(f32, (0, 4))", SharedMemoryError), ("smem.alloc(f32, (-1, 4))", SharedMemoryError)),
    *(("smem.alloc(f32, ())", SharedMemoryError), ("smem.alloc(f32, 'ab')", SharedMemoryError)),
    *(("smem.alloc(f32, 4, align=24)", SharedMemoryError), ("smem.alloc(f32, 4, swizzle='96B')", SharedMemoryError)),
    *(("smem.alloc(f32, 4, swizzle='128B', align=128)", SharedMemoryError), ("smem.mbarrier(0)", SharedMemoryError)),
    *(("smem.alloc(f32, 4, name='twice'); smem.alloc(f32, 4, name='twice')", DuplicateNameError),),
    *(("smem.alloc(s4, (4, 3)).load(0, 0)", RegisterTypeError), ("smem.load(pred, s)", RegisterTypeError)),
    *(("smem.store(pred, s, 1)", RegisterTypeError), ("smem.apply_swizzle(n, 'none')", SharedMemoryError)),
]


@pytest.mark.parametrize(("statement", "error"), WRONG, ids=[statement for statement, _ in WRONG])
def test_what_shared_memory_cannot_do_is_refused(statement: str, error: type[Exception]) -> None:
    @kernel
    def k() -> None:
        names = {"s": smem.alloc(f32, (4, 8)), "n": reg.scalar(u32), "wide": reg.scalar(u64), "real": reg.scalar(f32)}
        exec(statement, {"smem": smem, "f32": f32, "s4": s4, "pred": pred}, names)  # noqa: S102  the text is above

    with pytest.raises(error):
        k.ptx()


def test_an_allocation_belongs_to_its_trace() -> None:
    kept: list[smem.SharedAlloc] = []

    @kernel
    def first() -> None:
        kept.append(smem.alloc(f32, (4, 4)))
        active().emit(("ret",))

    @kernel
    def second() -> None:
        kept[0][0, 0] = 1.0

    first.ptx()
    with pytest.raises(ForeignRegisterError, match="first"):
        second.ptx()


def test_layouts_travel_with_an_allocation() -> None:
    @kernel
    def k() -> None:
        layout = object()
        s = smem.alloc_with_layout(b16, (8, 8), gmma_layout=layout, gmma_major="K")
        assert (s.gmma_layout, s.gmma_major, s.name, s.byte_offset) == (layout, "K", "smem_0", 0)
        assert repr(s) == "SharedAlloc('smem_0', b16, (8, 8))"
        active().emit(("ret",))

    k.ptx()


def test_every_operand_that_names_a_variable_moves_with_it() -> None:
    @kernel(smem=50_000)
    def k() -> None:
        trace = active()
        first, second = smem.alloc(u8, 256), smem.alloc(u8, 256)
        assert second.byte_offset == 256
        r = reg.scalar(b32)
        for text in ("smem_1", "smem_1+4", "smem_1[8]", "[smem_1]", "[smem_1+4]", "[smem_0]", "other+4"):
            trace.emit(("mov", "b32"), (r, text)) if text[0] != "[" else trace.emit(("ld", "shared", "b32"), (r, text))
        trace.emit(("call",), (("%r0",), "f", ("smem_1", 5)))
        trace.emit(("ld", "shared", "b32"), (r, AddressOperand(first, -4)))

    assert shared_lines(k) == [
        *("mov.b32 %r0, dyn_smem+256;", "mov.b32 %r0, dyn_smem+260;", "mov.b32 %r0, dyn_smem+264;"),
        *("ld.shared.b32 %r0, [dyn_smem+256];", "ld.shared.b32 %r0, [dyn_smem+260];", "ld.shared.b32 %r0, [dyn_smem];"),
        *("mov.b32 %r0, other+4;", "ld.shared.b32 %r0, [dyn_smem+-4];"),
    ]
    assert "call (%r0), f, (dyn_smem+256, 5);" in k.ptx()
