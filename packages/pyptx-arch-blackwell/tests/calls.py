"""Calls of every `ptx.tcgen05` and `ptx.tmem` function with every option, their instruction counts and targets.

Each call is a line of user code, and an error for it must name that line. The targets are copied from the manual's
target notes, not from the instruction table.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from pyptx_arch_blackwell.descriptors import InstructionDescriptor, ZeroColumnMask
from pyptx_arch_blackwell.mma import PRODUCTS, SCALE_SIZES, MmaTypes
from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import b32, b64, bf16, e2m1, e4m3, f32, pred, s8, s32, tf32, u16, u32, u64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Targets that support each group of tcgen05 instructions, from the target notes of the manual.
EVERYWHERE = ("sm_100a", "sm_103a", "sm_110a")
INTEGERS = ("sm_100a", "sm_110a")
SHIFTS_OF_SUMS = ("sm_100a", "sm_103a")  # targets with scale_input_d: arch-specific targets of family sm_100f
REDUCTIONS = ("sm_103a", "sm_110a")
DEEP = ("sm_103a",)
ANYWHERE = (*EVERYWHERE, "sm_90a", "sm_120a")
TYPES = {"f16": bf16, "tf32": tf32, "f8f6f4": e4m3, "i8": s8, "mxf8f6f4": e4m3, "mxf4": e2m1, "mxf4nvf4": e2m1}
BYTES = ("f8f6f4", "i8", "mxf8f6f4")
SUMS = {"i8": s32}


class Bench:
    """Registers, tiles and tensor memory for arguments of calls, created inside a trace."""

    def __init__(self, group: int) -> None:
        self.group = group
        self.u32, self.u64, self.u16, self.b64 = reg.scalar(u32), reg.scalar(u64), reg.scalar(u16), reg.scalar(b64)
        self.s32, self.p, self.taddr, self.scales = reg.scalar(s32), reg.scalar(pred), reg.scalar(b32), reg.scalar(b32)
        self.words, self.values = reg.array(b32, 128), reg.array(f32, 128)
        self.lanes = reg.array(b32, 4 * group)
        self.bar, self.word = smem.mbarrier(2), smem.alloc(b32, 1)
        self.t = ptx.tmem.at(self.taddr)
        self.tiles: dict[str, Any] = {}

    def tile(self, kind: str) -> Any:
        """Return a tile of 256 rows, large enough for a sparse MMA of `kind`; MN-major if `kind` is "across"."""
        kind = "f8f6f4" if kind in BYTES else "mxf4" if kind == "mxf4nvf4" else kind
        if kind not in self.tiles:
            dtype = TYPES.get(kind, bf16)
            shape = (32, 256) if kind == "across" else (256, 512 // dtype.bits)
            major = "MN" if kind == "across" else "K"
            self.tiles[kind] = smem.tile(SharedTile(dtype, shape, major=major, stages=2))
        return self.tiles[kind]


@dataclass(frozen=True, slots=True)
class Call:
    """One call: name, function, number of emitted instructions, required targets and PTX version, valid cta_group."""

    name: str
    run: Callable[[Bench], object]
    emits: int = 1
    on: tuple[str, ...] = EVERYWHERE
    since: tuple[int, int] = (8, 6)
    groups: tuple[int, ...] = (1, 2)


def described(row: MmaTypes, m: int, n: int, **more: Any) -> InstructionDescriptor:
    dtype = TYPES[row.kind].name
    scale = {"scale": "ue4m3" if row.kind == "mxf4nvf4" else "ue8m0"} if row.scales else {}
    return InstructionDescriptor(row.kind, row.sums[-1], dtype, dtype, m, n, sparse=row.sparse, **{**scale, **more})


def function(row: MmaTypes) -> Callable[..., None]:
    return getattr(ptx.tcgen05, f"mma{'_ws' if row.ws else ''}{'_sp' if row.sparse else ''}")


def given(row: MmaTypes, bench: Bench) -> dict[str, Any]:
    """Return an MMA's keyword arguments other than A, B and the instruction descriptor."""
    words: dict[str, Any] = {} if row.ws else {"cta_group": row.cta_group}
    if row.sparse:
        words["metadata"] = bench.t[:, 400:408]
    if row.scales:
        words |= {"scale_a": bench.t[:, 256:272], "scale_b": ptx.addr(bench.scales, 16)}
        words |= {"block": 16} if row.kind == "mxf4nvf4" else {}
    return words


def where(row: MmaTypes) -> tuple[str, ...]:
    return INTEGERS if row.kind == "i8" else EVERYWHERE


def since(row: MmaTypes) -> tuple[int, int]:
    """Return the first PTX version of an MMA: 8.8 with block16 or block32."""
    return (8, 8) if row.kind == "mxf4nvf4" else (8, 6)


def products() -> Iterator[Call]:
    """Yield MMA calls of every kind and size, dense and sparse, with A alternately in shared and tensor memory."""
    for row in PRODUCTS:
        for number, (m, n) in enumerate(product(row.rows, row.columns)):
            held = number % 2

            def run(bench: Bench, row: MmaTypes = row, m: int = m, n: int = n, held: int = held) -> None:
                a = bench.t[:, 256:320] if held else bench.u64
                function(row)(bench.t, a, bench.b64, idesc=described(row, m, n), **given(row, bench))

            yield Call(f"{row.words} {m} x {n}", run, on=where(row), since=since(row), groups=(row.cta_group,))


def _options(row: MmaTypes) -> Iterator[tuple[str, dict[str, Any], tuple[str, ...], tuple[int, int], int]]:
    """Yield every value of every MMA option: name, keyword arguments, targets, PTX version, instruction count."""
    place, first = where(row), since(row)
    for value in (True, False, 1, 0, "p", "~p"):
        yield f"accumulate={value}", {"accumulate": value}, place, first, 1
    yield "accumulate=register", {"accumulate": "u32"}, place, first, 2
    yield "pred", {"pred": "p"}, place, first, 1
    operations = ("fill", "use", "lastuse", "discard")
    if row.ws:
        for number, operation in product(range(4), operations):
            yield "collector", {"collector": f"b{number}::{operation}"}, place, first, 1
        yield "zero columns", {"zero_columns": ZeroColumnMask(3, 4)}, place, first, 1
        yield "zero columns in a register", {"zero_columns": "b64"}, place, first, 1
        return
    for operation in operations:
        yield f"collector_a={operation}", {"collector_a": operation}, place, first, 1
    if row.scales:
        for size in SCALE_SIZES[row.kind]:
            later = (8, 8) if size.startswith("block") else (8, 7) if row.kind == "mxf4nvf4" else (8, 6)
            words = {"block": int(size[5:])} if size.startswith("block") else {"scale_vec": size[11:]}
            yield size, words, place, later, 1
        return
    yield "lanes", {"disable_output_lanes": "lanes"}, place, first, 1
    for operation in ("lastuse", "discard", None):
        yield "ashift", {"ashift": True, "collector_a": operation, "a": "t"}, _shifts(place), first, 1
    if row.kind in ("f16", "tf32"):
        for number in (0, 15):
            yield f"scale_input_d={number}", {"scale_input_d": number}, SHIFTS_OF_SUMS, first, 1
        yield "all", {"scale_input_d": 7, "disable_output_lanes": "lanes", "pred": "p"}, SHIFTS_OF_SUMS, first, 1


def _shifts(place: tuple[str, ...]) -> tuple[str, ...]:
    return place


def options() -> Iterator[Call]:
    """Yield a call for every option of each valid combination of kind, cta_group, .ws and sparsity."""
    for row in PRODUCTS:
        for name, words, targets, version, count in _options(row):

            def run(bench: Bench, row: MmaTypes = row, words: dict[str, Any] = words) -> None:
                names = {"p": bench.p, "~p": ~bench.p, "u32": bench.u32, "lanes": bench.lanes, "b64": bench.b64}
                said = {
                    key: names.get(value, value) if isinstance(value, str) else value for key, value in words.items()
                }
                a = bench.t[:, 0:64] if said.pop("a", None) else bench.u64
                more = {} if "block" not in said and "scale_vec" not in said else {"block": None}
                fine = said.get("scale_vec") == "4X" or said.get("block") == 16 or not more
                scale = {"scale": "ue8m0"} if row.kind == "mxf4nvf4" and not fine else {}
                m, n = row.rows[-1], row.columns[-1]
                every = {**given(row, bench), **more, **said}
                function(row)(bench.t, a, bench.b64, idesc=described(row, m, n, **scale), **every)

            yield Call(f"{row.words} {name}", run, count, targets, version, (row.cta_group,))


def deep() -> Iterator[Call]:
    """Yield MMA calls with K = 96."""
    for kind, (cta_group, m), block in product(("mxf4", "mxf4nvf4"), ((1, 128), (2, 256)), (16, 32)):
        row = next(row for row in PRODUCTS if (row.kind, row.cta_group, row.sparse) == (kind, cta_group, False))
        if block not in {int(size[5:]) for size in SCALE_SIZES[kind] if size.startswith("block")}:
            continue

        def run(bench: Bench, row: MmaTypes = row, m: int = m, block: int = block) -> None:
            words = {**given(row, bench), "block": block}
            idesc = described(row, m, 128, depth=96, scale="ue8m0")
            ptx.tcgen05.mma(bench.t, bench.u64, bench.b64, idesc, **words)

        yield Call(f"{kind} K = 96 {block}", run, on=DEEP, since=(8, 8), groups=(cta_group,))


def tiles() -> Iterator[Call]:
    """Yield MMA calls with tiles, whose descriptors are computed before the MMA, and calls that compute descriptors."""
    for row in PRODUCTS:

        def run(bench: Bench, row: MmaTypes = row) -> None:
            tile, dtype = bench.tile(row.kind), TYPES[row.kind]
            types = {"dtype_d": SUMS.get(row.kind, f32), "dtype_a": dtype, "dtype_b": dtype}
            scale = {"dtype_scale": row.scales[0]} if row.scales else {}
            words = {**given(row, bench), **types, **scale, "kind": row.kind, "shape": (row.rows[-1], row.columns[-1])}
            words |= {"scale_vec": "4X", "block": None} if row.kind == "mxf4nvf4" else {}
            function(row)(bench.t, tile[0], tile[1], **words)

        first = (8, 7) if row.kind == "mxf4nvf4" else (8, 6)
        yield Call(f"tiles {row.words}", run, 9, where(row), first, (row.cta_group,))
    words = {"shape": (128, 256), "dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16}
    mma = ptx.tcgen05.mma
    one: dict[str, Any] = {"groups": (1,)}
    yield Call("MN-major b", lambda b: mma(b.t, b.tile("f16")[0], b.tile("across")[0], **words), 9, **one)
    yield Call(
        "majors", lambda b: mma(b.t, b.tile("f16")[0], b.tile("across")[0], **words, trans_a=0, trans_b=1), 9, **one
    )
    yield Call(
        "byte offsets in tiles",
        lambda b: mma(b.t, b.tile("f16")[0], b.tile("f16")[1], **words, a_k_offset=32, b_k_offset=64),
        9,
        **one,
    )
    yield Call("byte offset of descriptor", lambda b: mma(b.t, b.u64, b.b64, **words, a_k_offset=32), 4, **one)
    stage = "into a stage of a ring"
    yield Call(stage, lambda b: mma(b.t[:, 0:256].advance(256, times=b.u32), b.u64, b.b64, **words), 2, **one)
    yield Call("d in a register", lambda b: mma(b.t[:, 256:].address(), b.u64, b.b64, **words), 2, **one)
    yield Call(
        "async_2sm, one MMA of a CTA pair",
        lambda b: mma.async_2sm(b.t, b.u64, b.b64, **{**words, "shape": (256, 256, 16)}, accumulate=b.p),
        groups=(2,),
    )
    yield from descriptors()


def descriptors() -> Iterator[Call]:
    """Yield calls that compute descriptors with integer instructions on addresses."""
    any_target: dict[str, Any] = {"on": ANYWHERE, "since": (8, 0)}
    tcgen05 = ptx.tcgen05
    yield Call("descriptor of stage one", lambda b: tcgen05.descriptor(b.tile("f16")[1], k=16), 4, **any_target)
    yield Call("descriptor of a stage", lambda b: tcgen05.descriptor(b.tile("f16")[b.u32], k=16), 6, **any_target)
    yield Call("descriptor at an address", lambda b: tcgen05.descriptor(b.u32, stride_bytes=1024), 3, **any_target)
    yield Call(
        "descriptor at an address plus an offset",
        lambda b: tcgen05.descriptor(b.u32, stride_bytes=512, swizzle="64B", byte_offset=64),
        4,
        **any_target,
    )
    yield Call("descriptor advance", lambda b: tcgen05.advance(b.u64, 32), 3, **any_target)
    yield Call("advance times a register", lambda b: tcgen05.advance(b.u64, 8192, times=b.u32), 3, **any_target)
    yield Call("masked_descriptor", lambda b: tcgen05.masked_descriptor(b.u32), 4, **any_target)
    yield Call("masked descriptor, offset", lambda b: tcgen05.masked_descriptor(b.u32, byte_offset=64), 5, **any_target)
    fields = {"leading_byte_offset": 16, "stride_byte_offset": 512}
    yield Call("by fields", lambda b: tcgen05.make_descriptor(b.u32, **fields, swizzle="128B_BASE32B"), 3, **any_target)
    yield Call("64-bit address", lambda b: tcgen05.make_descriptor(b.u64, **fields, swizzle=32), 2, **any_target)


def moves() -> Iterator[Call]:
    """Yield calls of tcgen05.ld and st with every shape and size, and of tcgen05.cp and shift."""
    tcgen05 = ptx.tcgen05
    for shape, per in (("32x32b", 1), ("16x64b", 1), ("16x128b", 2), ("16x256b", 4), ("16x32bx2", 1)):
        split = {"offset": 16} if shape == "16x32bx2" else {}
        for count in (1, 2, 4, 8, 16, 32, 64, 128):
            if count * per > 128:
                continue
            words = {"shape": shape, **split}
            yield Call(
                f"ld {shape} x{count}",
                lambda b, n=count * per, w=words: tcgen05.ld(list(b.words)[:n], b.t.quarter(0), **w),
            )
            yield Call(
                f"ld {shape} x{count} packed",
                lambda b, n=count * per, w=words, c=count: tcgen05.ld(
                    list(b.words)[:n], b.taddr, pack=True, count=c, dtype="b32", **w, pred=b.p
                ),
            )
            yield Call(
                f"st {shape} x{count}",
                lambda b, n=count * per, w=words, u=count > 8: tcgen05.st(
                    ptx.addr(b.taddr, 4), list(b.words)[:n], unpack=u, **w
                ),
            )
            if per == 1 and shape != "16x64b" and count > 1:
                yield from _reductions(shape, count, words)
    yield Call("ld to f32 registers", lambda b: tcgen05.ld(list(b.values)[:8], b.t[0:32, 8:16], shape="32x32b"))
    yield Call("ld to new registers", lambda b: tcgen05.ld(None, b.t[0:32, 8:24], shape="32x32b"))
    yield Call("wait_ld", lambda _: tcgen05.wait_ld())
    yield Call("wait_st", lambda b: tcgen05.wait_st(pred=b.p))
    yield from copies()


def _reductions(shape: str, count: int, words: dict[str, Any]) -> Iterator[Call]:
    for op, dtype in (("min", f32), ("max", u32), ("max", s32)):
        yield Call(
            f"ld.red {shape} x{count} {op} {dtype}",
            lambda b, n=count, o=op, d=dtype, w=words: ptx.tcgen05.ld(
                list(b.words)[:n], b.taddr, red=o, redval=b.u32, dtype=d, **w
            ),
            on=REDUCTIONS,
            since=(8, 8),
        )
    yield Call(
        f"ld.red {shape} x{count} by amount",
        lambda b, n=count, w=words: ptx.tcgen05.ld(
            list(b.words)[:n], b.taddr, red="max", redval=b.scales, dtype=f32, abs_=True, nan=True, **w
        ),
        on=REDUCTIONS,
        since=(8, 8),
    )


def copies() -> Iterator[Call]:
    tcgen05 = ptx.tcgen05
    shapes = (("128x256b", None), ("4x256b", None), ("128x128b", None), ("32x128b", None), ("32x128b", "warpx4"))
    halves = (("64x128b", "warpx2::02_13"), ("64x128b", "warpx2::01_23"))
    for (size, multicast), decompress in product((*shapes, *halves), (None, "b4", "b6")):
        words = {"size": size, "multicast": multicast, "decompress": decompress}
        yield Call(f"cp {words}", lambda b, w=words: tcgen05.cp(b.t[:, 64:], b.u64, cta_group=b.group, **w, pred=b.p))
    yield Call("cp of a tile", lambda b: tcgen05.cp(b.taddr, b.tile("f16")[0], cta_group=b.group), 5)
    yield Call("shift", lambda b: tcgen05.shift(b.t[32:], cta_group=b.group))


def allocations() -> Iterator[Call]:
    tcgen05 = ptx.tcgen05
    for columns in (32, 64, 128, 256, 512):
        yield Call(f"alloc {columns}", lambda b, n=columns: tcgen05.alloc(b.word, n, cta_group=b.group))
        yield Call(f"dealloc {columns}", lambda b, n=columns: tcgen05.dealloc(b.t, n, cta_group=b.group))
    yield Call("alloc, count in a register", lambda b: tcgen05.alloc(b.u32, b.u32, cta_group=b.group, pred=b.p))
    yield Call("alloc by a generic address", lambda b: tcgen05.alloc(b.u64, 32, cta_group=b.group, space="generic"))
    yield Call("dealloc, count in a register", lambda b: tcgen05.dealloc(b.taddr, b.u32, cta_group=b.group))
    yield Call("relinquish", lambda b: tcgen05.relinquish_alloc_permit(cta_group=b.group))
    yield Call("before", lambda _: tcgen05.fence_before_thread_sync())
    yield Call("after", lambda b: tcgen05.fence_after_thread_sync(pred=b.p))
    yield Call("commit", lambda b: tcgen05.commit(b.bar[0], cta_group=b.group))
    yield Call("commit, generic address", lambda b: tcgen05.commit(b.u64, cta_group=b.group, space="generic"))
    yield Call("commit, mask register", lambda b: tcgen05.commit(b.bar[1], cta_group=b.group, multicast_mask=b.u16))
    yield Call("commit, constant mask", lambda b: tcgen05.commit(b.bar[1], cta_group=b.group, multicast_mask=0b11), 2)
    yield Call("held", held, 3, groups=(1,))
    for group in (1, 2):  # a kernel for a CTA pair has one more instruction, which synchronizes the two CTAs
        yield Call("tmem.alloc by one warp", lambda b: held(b, when=b.p), 6 + group, groups=(group,))
        yield Call("tmem.alloc, relinquish", lambda b: held(b, when=b.p, relinquish=True), 7 + group, groups=(group,))
    yield Call("t.quarter", lambda b: b.t.quarter(b.u32), 2, ANYWHERE, (8, 0))
    yield Call("t.advance", lambda b: b.t[:, 0:128].advance(128, times=b.u32), 1, ANYWHERE, (8, 0))
    yield Call("t.address", lambda b: b.t[32:, 8:].address(), 1, ANYWHERE, (8, 0))


def held(bench: Bench, **words: Any) -> None:
    with ptx.tmem.alloc(64, cta_group=bench.group, **words):
        pass


def calls() -> list[Call]:
    """Return every `ptx` call that this Python module describes."""
    return [*products(), *options(), *deep(), *tiles(), *moves(), *allocations()]


__all__ = ["DEEP", "EVERYWHERE", "Bench", "Call", "calls"]
