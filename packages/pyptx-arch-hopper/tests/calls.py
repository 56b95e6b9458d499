"""Calls of every function in Hopper's `ptx` namespaces with every option, their instruction counts and targets.

Each call is a line of user code, and an error for it must name that line.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from pyptx_arch_hopper.mma import Form, forms
from pyptx_arch_hopper.ptx.fences import FENCES
from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import b16, b32, b64, bf16, f16, f16x2, f32, f64, from_name, pred, s32, s64, u16, u32, u64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOPPER = "sm_90"
WARPGROUPS = "sm_90a"
BLACKWELL = "sm_100"
DATACENTER = "sm_100f"
REGISTERS, MAPS = "setmaxnreg", "tensormap"  # keys of TARGETS, for instructions with more targets than one family
TARGETS = dict.fromkeys((REGISTERS, MAPS), ("sm_90a", "sm_100a", "sm_103a", "sm_120a"))


class Bench:
    """Registers and shared memory for arguments of calls, created inside a trace."""

    def __init__(self) -> None:
        self.u32, self.u64, self.u16 = reg.scalar(u32), reg.scalar(u64), reg.scalar(u16)
        self.s32, self.p, self.f32, self.b32 = reg.scalar(s32), reg.scalar(pred), reg.scalar(f32), reg.scalar(b32)
        self.b64, self.s64, self.b16, self.f64 = reg.scalar(b64), reg.scalar(s64), reg.scalar(b16), reg.scalar(f64)
        self.floats, self.words, self.integers = reg.array(f32, 128), reg.array(b32, 64), reg.array(s32, 128)
        self.bar = smem.mbarrier(2)
        self.tile = smem.tile(SharedTile(bf16, (64, 64), stages=2))
        self.across = smem.tile(SharedTile(bf16, (64, 64), major="MN", stages=2))
        self.bytes = smem.tile(SharedTile(from_name("e4m3"), (64, 128)))


@dataclass(frozen=True, slots=True)
class Call:
    """One call: name, function, number of emitted instructions, required target and PTX version."""

    name: str
    run: Callable[[Bench], object]
    emits: int = 1
    needs: str = HOPPER
    since: tuple[int, int] = (8, 0)
    columns: int = 0


def accumulator(bench: Bench, form: Form, columns: int) -> list[Any]:
    registers = {"f32": bench.floats, "f16": bench.words, "s32": bench.integers}[form.d]
    return list(registers)[: form.accumulators(columns)]


def _multiply(form: Form, columns: int, options: dict[str, Any], *, sparse: bool, held: bool) -> Call:
    types = {f"dtype_{name}": from_name(kind) for name, kind in zip("dab", (form.d, form.a, form.b), strict=True)}
    shape = (64, columns, form.depth * (2 if sparse else 1))

    def run(bench: Bench) -> None:
        given = {key: value(bench) if callable(value) else value for key, value in options.items()}
        a = list(bench.words)[:4] if held else bench.u64
        where = {"shape": shape, **types, "d": accumulator(bench, form, columns), "a": a, "b": bench.b64, **given}
        if sparse:
            ptx.wgmma.mma_async_sp(metadata=bench.b32, selector=form.selectors - 1, **where)
        else:
            ptx.wgmma.mma_async(**where)

    kind = (
        f"{'sp ' if sparse else ''}{form.types} {shape} {'registers' if held else 'descriptor'} {list(options.items())}"
    )
    mixed = {form.a, form.b} == {"s8", "u8"}
    since = (8, 4) if mixed else (8, 2) if sparse else (8, 0)
    return Call(f"wgmma {kind}", run, needs=WARPGROUPS, since=since, columns=columns)


def _options(form: Form, *, held: bool) -> Iterator[dict[str, Any]]:
    """Yield every value of every option of an MMA, then one call with all options that can be combined."""
    scales: tuple[Any, ...] = (False, True, 0, 1, lambda bench: bench.p, lambda bench: ~bench.p)
    yield from ({"scale_d": scale} for scale in scales)
    if form.negates:
        yield from ({"scale_a": a, "scale_b": b} for a, b in product((-1, 1), repeat=2))
    if form.transposes:
        yield from ({"trans_a": a, "trans_b": b} for a, b in product((0,) if held else (0, 1), (0, 1)))
    if form.saturates:
        yield {"satfinite": True}
    yield {"pred": lambda bench: bench.p}


def products() -> Iterator[Call]:
    """Yield MMA calls of every type and shape, A in registers and in shared memory, dense and sparse."""
    for form, sparse, held in product(forms(), (False, True), (False, True)):
        if sparse and not form.selectors:
            continue
        options = list(_options(form, held=held))
        for number, columns in enumerate(form.columns):
            yield _multiply(form, columns, options[number % len(options)], sparse=sparse, held=held)
        for each in options:
            yield _multiply(form, 8, each, sparse=sparse, held=held)


BF16 = {"shape": (64, 64, 16), "dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16}


def _tiles(bench: Bench, **more: Any) -> None:
    ptx.wgmma.mma_async(**BF16, d=list(bench.floats)[:32], a=bench.tile[0], b=bench.across[1], **more)


def descriptors() -> tuple[Call, ...]:
    """Return MMA calls with tiles, and calls that compute descriptors."""
    wgmma = ptx.wgmma
    return (
        Call("wgmma.fence", lambda _: wgmma.fence(), needs=WARPGROUPS),
        Call("wgmma.commit_group", lambda _: wgmma.commit_group(), needs=WARPGROUPS),
        *(Call(f"wgmma.wait_group {n}", lambda _, n=n: wgmma.wait_group(n), needs=WARPGROUPS) for n in (0, 1, 7)),
        Call("tiles", _tiles, emits=9, needs=WARPGROUPS),
        Call("tiles with offsets", lambda b: _tiles(b, a_k_offset=32, b_k_offset=2048), emits=9, needs=WARPGROUPS),
        Call("tiles with trans_a and trans_b", lambda b: _tiles(b, trans_a=0, trans_b=1), emits=9, needs=WARPGROUPS),
        Call("scale_d in a u32 register", lambda b: _tiles(b, scale_d=b.u32), emits=10, needs=WARPGROUPS),
        Call("descriptor of stage 1", lambda b: wgmma.descriptor(b.tile[1], k=16), emits=4, needs="any"),
        Call("descriptor of a stage", lambda b: wgmma.descriptor(b.tile[b.u32], k=16), emits=6, needs="any"),
        Call("descriptor advance", lambda b: wgmma.advance(b.u64, 32), emits=3, needs="any"),
        Call("advance times a register", lambda b: wgmma.advance(b.u64, 8192, times=b.u32), emits=3, needs="any"),
        Call("masked", lambda b: wgmma.masked_descriptor(b.u32), emits=4, needs="any"),
        Call("masked with offset", lambda b: wgmma.masked_descriptor(b.u32, byte_offset=-64), emits=5, needs="any"),
        Call(
            "of an address",
            lambda b: wgmma.make_descriptor(b.u32, leading_byte_offset=16, stride_byte_offset=1024, swizzle=1),
            emits=3,
            needs="any",
        ),
        Call(
            "of a generic address",
            lambda b: wgmma.make_descriptor(b.u64, leading_byte_offset=16, stride_byte_offset=512, swizzle=2),
            emits=2,
            needs="any",
        ),
        Call(
            "make_descriptor with a byte offset",
            lambda b: wgmma.make_descriptor(
                b.tile, leading_byte_offset=0, stride_byte_offset=256, swizzle=3, base_offset=7, addr_byte_offset=64
            ),
            emits=4,
            needs="any",
        ),
        Call(
            "auto_descriptor of an MN-major matrix",
            lambda b: wgmma.auto_descriptor(b.u32, dtype=bf16, shape=(64, 64), major="MN"),
            emits=3,
            needs="any",
        ),
    )


def _coordinates(bench: Bench, count: int) -> tuple[Any, ...]:
    return (bench.u32, bench.s32, 0, -1, 7)[:count]


def _copies_of_rank(rank: int) -> Iterator[Call]:
    copy, wide = getattr(ptx.cp.async_.bulk, f"tensor_{rank}d"), f"tensor_{rank}d"
    named = ptx.cp.async_.bulk.tensor
    tile, store = getattr(named, f"tile_{rank}d"), getattr(named, f"store_{rank}d")
    at = lambda b: {"dst": b.tile[0], "src": b.u64, "coord": _coordinates(b, rank), "mbar": b.bar[0]}
    to = lambda b: {"dst": b.u64, "src": b.tile[1], "coord": _coordinates(b, rank)}
    yield Call(wide, lambda b: copy(**at(b)))
    yield Call(f"{wide} multicast", lambda b: copy(**at(b), multicast_mask=b.u16))
    yield Call(f"{wide} all", lambda b: copy(**at(b), multicast_mask=3, cache_hint=b.u64, mode="tile", pred=b.p))
    yield Call(f"{wide} hint", lambda b: copy(**at(b), cache_hint=b.b64))
    yield Call(f"{wide} near", lambda b: copy(**at(b), space="shared::cta"), since=(8, 6))
    yield Call(f"{wide} two blocks", lambda b: copy(**at(b), cta_group=2), needs=DATACENTER, since=(8, 6))
    yield Call(f"{wide} one block", lambda b: copy(**at(b), cta_group=1), needs=DATACENTER, since=(8, 6))
    yield Call(f"{wide}.shared_cta_global_tile", lambda b: copy.shared_cta_global_tile(**at(b)), since=(8, 6))
    yield Call(f"{wide}.store", lambda b: copy.store(**to(b)))
    yield Call(f"{wide}.store hint", lambda b: copy.store(**to(b), mode="tile", cache_hint=b.u64, pred=b.p))
    yield Call(f"{wide}.prefetch", lambda b: copy.prefetch(src=b.u64, coord=_coordinates(b, rank)))
    yield Call(
        f"{wide}.prefetch hint",
        lambda b: copy.prefetch(src=b.u64, coord=_coordinates(b, rank), mode="tile", cache_hint=b.u64),
    )
    for op in ("add", "min", "max", "inc", "dec", "and", "or", "xor"):
        yield Call(f"{wide}.reduce {op}", lambda b, op=op: copy.reduce(op, **to(b)))
        reduce = getattr(ptx.cp.reduce.async_.bulk, wide)
        yield Call(f"cp.reduce {wide} {op}", lambda b, op=op, r=reduce: r(op, **to(b), cache_hint=b.u64))
    yield Call(f"tensor.tile_{rank}d", lambda b: tile(b.tile[0], b.u64, _coordinates(b, rank), mbar=b.bar[1]))
    yield Call(
        f"tensor.tile_{rank}d all",
        lambda b: tile(b.tile[0], b.u64, _coordinates(b, rank), mbar=b.bar[1], multicast_mask=b.u16, cache_hint=b.u64),
    )
    yield Call(f"tensor.store_{rank}d", lambda b: store(b.u64, b.tile[0], _coordinates(b, rank), cache_hint=b.u64))
    if rank >= 3:
        yield from _im2col(rank)


def _im2col(rank: int) -> Iterator[Call]:
    copy, named = getattr(ptx.cp.async_.bulk, f"tensor_{rank}d"), getattr(ptx.cp.async_.bulk.tensor, f"im2col_{rank}d")
    at = lambda b: {"dst": b.tile[0], "src": b.u64, "coord": _coordinates(b, rank), "mbar": b.bar[0]}
    far = lambda b: (b.u16, 1, 0)[: rank - 2]
    yield Call(f"im2col {rank}d", lambda b: copy(**at(b), mode="im2col", offsets=far(b)))
    yield Call(
        f"im2col {rank}d all",
        lambda b: copy(**at(b), mode="im2col", offsets=far(b), multicast_mask=1, cache_hint=b.u64),
    )
    yield Call(
        f"tensor.im2col_{rank}d", lambda b: named(b.tile[0], b.u64, _coordinates(b, rank), far(b), mbar=b.bar[0])
    )
    yield Call(
        f"im2col prefetch {rank}d",
        lambda b: copy.prefetch(src=b.u64, coord=_coordinates(b, rank), mode="im2col", offsets=far(b)),
    )
    yield Call(
        f"im2col store {rank}d",
        lambda b: copy.store(dst=b.u64, src=b.tile[0], coord=_coordinates(b, rank), mode="im2col_no_offs"),
    )
    for mode in ("im2col::w", "im2col::w::128"):
        yield Call(
            f"{mode} {rank}d",
            lambda b, mode=mode: copy(**at(b), mode=mode, offsets=(b.u16, 1)),
            needs=DATACENTER,
            since=(8, 6),
        )


def tensor_copies() -> Iterator[Call]:
    """Yield calls of TMA box copies."""
    for rank in range(1, 6):
        yield from _copies_of_rank(rank)
    named = ptx.cp.async_.bulk.tensor
    rows = lambda b: (b.u32, b.s32, 1, 2, 3)
    new = {"needs": DATACENTER, "since": (8, 6)}
    yield Call("gather4", lambda b: named.gather4_2d(b.tile[0], b.u64, rows(b), mbar=b.bar[0]), **new)
    yield Call("scatter4", lambda b: named.scatter4_2d(b.u64, b.tile[0], rows(b)), **new)
    tma = ptx.tma
    yield Call("tma.load_3d", lambda b: tma.load_3d(b.tile[0], b.u64, b.u32, 64, b.bar[0]))
    yield Call("tma.load_3d shifted", lambda b: tma.load_3d(b.tile[0], b.u64, b.u32, b.u32, b.bar[0]), emits=2)
    yield Call("tma.load_3d coords", lambda b: tma.load_3d(b.u32, b.u64, mbar=b.bar[0], coords=(0, b.u32, b.u32)))
    yield Call(
        "tma.load_3d_multicast",
        lambda b: tma.load_3d_multicast(b.u32, b.u64, 0, 0, b.bar[0], b.u16, issuer=b.p),
    )
    yield Call(
        "tma.load_3d_multicast rank",
        lambda b: tma.load_3d_multicast(b.u32, b.u64, 0, 0, b.bar[0], 3, issuer=0, cache_hint=b.u64),
        emits=3,
    )
    yield Call("tma.store_3d", lambda b: tma.store_3d(b.u64, b.tile[0], b.u32, 0, cache_hint=b.u64, pred=b.p))


REDUCTIONS = (
    *((op, kind) for op in ("and", "or", "xor") for kind in (b32, b64)),
    *(("add", kind) for kind in (u32, s32, u64, f32, f64)),
    *((op, kind) for op in ("min", "max") for kind in (u32, s32, u64, s64, f16, bf16)),
    *((op, u32) for op in ("inc", "dec")),
)
NEAR_REDUCTIONS = (
    *((op, b32) for op in ("and", "or", "xor")),
    *(("add", kind) for kind in (u32, s32, u64)),
    *((op, kind) for op in ("min", "max") for kind in (u32, s32)),
    *((op, u32) for op in ("inc", "dec")),
)


def bulk_copies() -> Iterator[Call]:
    """Yield calls of bulk copies, bulk reductions and bulk groups."""
    bulk, reduce = ptx.cp.async_.bulk, ptx.cp.reduce.async_.bulk
    yield Call("bulk.load", lambda b: bulk.load(b.tile[0], b.u64, 1024, mbar=b.bar[0]))
    yield Call(
        "bulk.load all",
        lambda b: bulk.load(b.tile, ptx.addr(b.u64, 16), b.u32, mbar=b.bar[0], multicast_mask=b.u16, cache_hint=b.u64),
    )
    yield Call(
        "bulk.load near", lambda b: bulk.load(b.u32, b.u64, 16, mbar=b.bar[0], space="shared::cta"), since=(8, 6)
    )
    yield Call("bulk.store", lambda b: bulk.store(b.u64, b.tile[1], b.u32, cache_hint=b.u64, pred=b.p))
    yield Call(
        "bulk.store masked",
        lambda b: bulk.store(b.u64, b.tile[1], 64, byte_mask=b.u16),
        needs=BLACKWELL,
        since=(8, 6),
    )
    yield Call("bulk.send", lambda b: bulk.send(b.u32, b.tile, 64, mbar=b.u32))
    yield Call("bulk.prefetch", lambda b: bulk.prefetch(b.u64, 4096))
    yield Call("bulk.prefetch hint", lambda b: bulk.prefetch(b.u64, b.u32, cache_hint=b.u64))
    yield Call("bulk.commit_group", lambda _: bulk.commit_group())
    yield Call("bulk.wait_group", lambda _: bulk.wait_group(1))
    yield Call("bulk.wait_group read", lambda _: ptx.cp.async_bulk.wait_group(0, read=True))
    newer = {"needs": WARPGROUPS, "since": (9, 3)}
    yield Call(
        "bulk.load ends",
        lambda b: bulk.load(b.tile, b.u64, 64, mbar=b.bar[0], space="shared::cta", ignore=(b.u32, 4)),
        since=(9, 2),
    )
    yield Call("bulk.load weak", lambda b: bulk.load(b.tile, b.u64, 64, mbar=b.bar[0], sem="weak"), **newer)
    for scope in ("cta", "gpu"):
        strong = {"sem": "relaxed", "scope": scope}
        yield Call(f"bulk.load {scope}", lambda b, s=strong: bulk.load(b.tile, b.u64, 64, mbar=b.bar[0], **s), **newer)
    near = {"sem": "relaxed", "scope": "cluster"}
    yield Call("bulk.store relaxed", lambda b: bulk.store(b.u64, b.tile, 64, cache_hint=b.u64, **near), **newer)
    yield Call("bulk.send relaxed", lambda b: bulk.send(b.u32, b.tile, 64, mbar=b.u32, **near), **newer)
    yield Call("bulk.wait_group restricted", lambda _: bulk.wait_group(0, restrict="proxy::async"), since=(9, 5))
    for op, kind in REDUCTIONS:
        yield Call(f"reduce {op} {kind}", lambda b, op=op, kind=kind: reduce.store(op, kind, b.u64, b.tile, 64))
    for kind in (f16, bf16):
        yield Call(
            f"reduce add {kind}",
            lambda b, kind=kind: reduce.store("add", kind, b.u64, b.tile, 64, noftz=True, cache_hint=b.u64),
        )
    for op, kind in NEAR_REDUCTIONS:
        yield Call(
            f"reduce send {op} {kind}",
            lambda b, op=op, kind=kind: reduce.send(op, kind, b.u32, b.tile, 64, mbar=b.u32),
        )


MAP_FIELDS = {
    "global_address": lambda b: b.u64,
    "rank": lambda b: b.u32,
    "box_dim": lambda b: b.u32,
    "global_dim": lambda b: b.u32,
    "element_stride": lambda _: 1,
    "global_stride": lambda b: b.u64,
    "elemtype": lambda _: 12,
    "interleave_layout": lambda _: 2,
    "swizzle_mode": lambda _: 3,
    "fill_mode": lambda _: 1,
}


def tensor_maps() -> Iterator[Call]:
    """Yield `tensormap.replace` calls."""
    edited, new = ptx.tensormap, {"needs": MAPS, "since": (8, 3)}
    for field, value in MAP_FIELDS.items():
        ordinal = 4 if field in {"box_dim", "global_dim", "element_stride", "global_stride"} else None
        for space in ("global", "shared::cta", "generic"):
            yield Call(
                f"tensormap.replace {field} {space}",
                lambda b, f=field, v=value, o=ordinal, s=space: edited.replace(
                    f, b.tile[1] if s == "shared::cta" else b.u64, v(b), ordinal=o, space=s, pred=b.p
                ),
                **new,
            )
    for scope in ("cta", "cluster", "gpu", "sys"):
        yield Call(
            f"tensormap.cp_fenceproxy {scope}",
            lambda b, s=scope: edited.cp_fenceproxy(b.u64, b.tile, s),
            since=(8, 3),
        )


def control() -> Iterator[Call]:
    """Yield calls of cluster barriers, fences, and warp and grid control (`setmaxnreg`, `griddepcontrol`, …)."""
    cluster = ptx.cluster
    for aligned in (False, True):
        yield Call(f"cluster.arrive {aligned}", lambda _, a=aligned: cluster.arrive(aligned=a))
        for sem in ("release", "relaxed"):
            yield Call(f"cluster.arrive {sem} {aligned}", lambda _, a=aligned, s=sem: cluster.arrive(aligned=a, sem=s))
        yield Call(f"cluster.wait {aligned}", lambda _, a=aligned: cluster.wait(aligned=a))
        yield Call(f"cluster.wait acquire {aligned}", lambda _, a=aligned: cluster.wait(aligned=a, acquire=True))
        yield Call(f"cluster.sync {aligned}", lambda _, a=aligned: cluster.sync(aligned=a), emits=2)
    yield Call("cluster.rank", lambda _: cluster.rank(0), emits=2)
    yield Call("cluster.map_shared_u32", lambda b: cluster.map_shared_u32(b.u32, b.u32))
    yield Call("cluster.map_shared_u32 of a barrier", lambda b: cluster.map_shared_u32(b.bar[1], 1, pred=b.p))
    yield Call("cluster.map_shared_u64", lambda b: cluster.map_shared_u64(b.u64, 1))
    yield Call("cluster.rank_of", lambda b: cluster.rank_of(b.u32))
    yield Call("cluster.rank_of generic", lambda b: cluster.rank_of(b.u64))
    yield Call("cluster.arrive_remote", lambda b: cluster.arrive_remote(b.u32, b.u32, 2, pred=b.p), emits=2)
    yield Call("cluster.arrive_multicast", lambda b: cluster.arrive_multicast(b.u32, 0b1011), emits=6)
    new = ("proxy_async_generic_acquire_shared_cluster", "proxy_async_generic_release_shared_cta")
    for name in FENCES:
        fence = getattr(ptx.fence, name)
        since = (8, 6) if name in new else (8, 3) if "tensormap" in name else (9, 4) if "read" in name else (8, 0)
        given = (lambda b: (b.u64,)) if name == "proxy_tensormap_acquire" else (lambda _: ())
        yield Call(f"fence.{name}", lambda b, f=fence, given=given: f(*given(b)), since=since)
    yield Call("fence.acquire_shared_cluster", lambda _: ptx.fence.acquire_shared_cluster(), since=(8, 6))
    yield Call("fence.release_shared_cta", lambda _: ptx.fence.release_shared_cta(), since=(8, 6))
    for sem in ("acquire", "release"):
        yield Call(f"fence.proxy.alias_sys {sem}", lambda _, s=sem: ptx.fence.proxy.alias_sys(s), since=(9, 4))
    for count in range(24, 257, 8):
        yield Call(f"setmaxnreg {count}", lambda _, n=count: ptx.setmaxnreg_inc(n), needs=REGISTERS)
        yield Call(f"setmaxnreg dec {count}", lambda _, n=count: ptx.setmaxnreg(n, inc=False), needs=REGISTERS)
    yield Call("setmaxnreg_dec", lambda b: ptx.setmaxnreg_dec(24, pred=b.p), needs=REGISTERS)
    yield Call("elect_sync", lambda _: ptx.elect_sync())
    yield Call("elect_sync given", lambda b: ptx.elect_sync(b.u32, b.p, b.u32))
    yield Call("griddepcontrol.wait", lambda _: ptx.griddepcontrol.wait())
    yield Call("griddepcontrol.launch_dependents", lambda b: ptx.griddepcontrol.launch_dependents(pred=b.p))
    yield Call(
        "stmatrix_x4_trans_f32_bf16",
        lambda b: ptx.stmatrix_x4_trans_f32_bf16(frag=list(b.floats)[:32], smem_base=b.u32, lane=b.u32, row_stride=72),
        emits=10 + 4 * 13,
    )


def stores() -> Iterator[Call]:
    """Yield calls of asynchronous stores and multimem accesses."""
    for kind in (b32, u32, s32, f32, b64, u64, s64, f64):
        name = {"b32": "b32", "u32": "u32", "s32": "s32", "f32": "f32", "f64": "f64", "s64": "s64"}.get(
            kind.name, "u64"
        )
        for count in (0, 2) if kind.bits == 64 else (0, 2, 4):
            value = lambda b, name=name, count=count: getattr(b, name) if not count else [getattr(b, name)] * count
            yield Call(
                f"st_async {kind} {count}",
                lambda b, k=kind, v=value: ptx.st_async(k, b.u32, v(b), mbar=b.u32),
                since=(8, 1),
            )
    yield Call("st_async generic", lambda b: ptx.st_async(b32, b.u64, 7, mbar=b.u64, space="generic"), since=(8, 1))
    yield Call(
        "red_async generic",
        lambda b: ptx.red_async("add", u32, b.u64, b.u32, mbar=b.u64, space="generic"),
        since=(8, 1),
    )
    for scope, mmio in (("gpu", False), ("sys", False), ("sys", True)):
        order = {"sem": "release", "scope": scope, "mmio": mmio}
        yield Call(
            f"st_async {order}",
            lambda b, o=order: ptx.st_async(b32, b.u64, b.b32, space="global", **o),
            needs=BLACKWELL,
            since=(8, 7),
        )
        yield Call(
            f"red_async {order}",
            lambda b, o=order: ptx.red_async("add", s64, b.u64, b.s64, space="generic", **o),
            needs=BLACKWELL,
            since=(8, 7),
        )
    yield Call("st_async weak", lambda b: ptx.st_async(b32, b.u32, 7, mbar=b.u32, weak=True, pred=b.p), since=(8, 1))
    for op, kind in NEAR_REDUCTIONS:
        held = {"b32": "b32", "u32": "u32", "s32": "s32", "u64": "u64"}[kind.name]
        yield Call(
            f"red_async {op} {kind}",
            lambda b, op=op, k=kind, held=held: ptx.red_async(op, k, b.u32, getattr(b, held), mbar=b.u32),
            since=(8, 1),
        )
    yield from multimem()


MULTIMEM = (
    *((op, kind, 0, kind.name) for op in ("min", "max") for kind in (u32, u64, s32, s64)),
    *(("add", kind, 0, kind.name) for kind in (u32, u64, s32)),
    *((op, kind, 0, kind.name) for op in ("and", "or", "xor") for kind in (b32, b64)),
    *((op, kind, count, "b16") for op in ("add", "min", "max") for kind in (f16, bf16) for count in (2, 4, 8)),
    *((op, f16x2, count, "b32") for op in ("add", "min", "max") for count in (0, 2, 4)),
    *(("add", f32, count, "f32") for count in (0, 2, 4)),
    ("add", f64, 0, "f64"),
)


def multimem() -> Iterator[Call]:
    """Yield calls of multimem accesses."""
    for op, kind, count, held in MULTIMEM:
        value = lambda b, held=held, count=count: [getattr(b, held)] * count if count else getattr(b, held)
        name = f"{op} {kind} {count}"
        for order in ({}, {"sem": "acquire", "scope": "gpu"}, {"sem": "relaxed", "scope": "sys"}):
            yield Call(
                f"multimem.ld_reduce {name} {order}",
                lambda b, op=op, k=kind, v=value, o=order: ptx.multimem.ld_reduce(op, k, v(b), b.u64, **o),
                since=(8, 1),
            )
        if op == "add" or kind.is_integer:
            yield Call(
                f"multimem.red {name}",
                lambda b, op=op, k=kind, v=value: ptx.multimem.red(op, k, b.u64, v(b), sem="release", scope="sys"),
                since=(8, 1),
            )
        if op == "add":
            yield Call(f"multimem.st {name}", lambda b, k=kind, v=value: ptx.multimem.st(k, b.u64, v(b)), since=(8, 1))
    acc = lambda b: ptx.multimem.ld_reduce("add", f16x2, b.b32, b.u64, acc="f32")
    yield Call("multimem.ld_reduce in f32", acc, since=(8, 2))
    yield Call("multimem.cp.async_.bulk", lambda b: ptx.multimem.cp.async_.bulk(b.u64, b.tile, 64), since=(9, 1))
    yield Call("multimem.cp.reduce", lambda b: ptx.multimem.cp.reduce.bulk("add", u32, b.u64, b.tile, 64), since=(9, 1))


def mbarriers() -> Iterator[Call]:
    """Yield calls of the mbarrier operations that Hopper added."""
    bar = ptx.mbarrier
    for sem, scope in product(("release", "relaxed"), ("cta", "cluster")):
        order, since = {"sem": sem, "scope": scope}, (8, 6) if sem == "relaxed" else (8, 0)
        name = f"{sem} {scope}"
        yield Call(f"arrive {name}", lambda b, o=order: bar.arrive(b.bar[0], 2, **o), since=since)
        yield Call(f"arrive_drop {name}", lambda b, o=order: bar.arrive_drop(b.bar[0], 2, **o), since=since)
        yield Call(f"expect {name}", lambda b, o=order: bar.arrive_expect_tx(b.bar[0], b.u32, **o), since=since)
        yield Call(f"drop {name}", lambda b, o=order: bar.arrive_drop_expect_tx(b.bar[0], 64, **o), since=since)
        for more in ({}, {"count": 2}, {"tx_count": 64}, {"drop": True}, {"drop": True, "tx_count": 64}):
            yield Call(
                f"arrive_cluster {name} {more}",
                lambda b, o=order, more=more: bar.arrive_cluster(b.u32, **more, **o),
                since=since,
            )
    for more in ({}, {"drop": True}):
        own = {"space": "shared::cta", **more}
        yield Call(f"arrive_cluster own {more}", lambda b, o=own: bar.arrive_cluster(b.bar[0], 2, **o))
        near = lambda b, m=more: bar.arrive_cluster(b.u64, space=None, **m)
        yield Call(f"arrive_cluster generic {more}", near, needs="sm_80", since=(7, 1))  # the mbarrier is the CTA's own
    yield Call("expect_tx plain", lambda b: bar.expect_tx(b.u64, 64, scope=None, space=None))
    for scope, space in product(("cta", "cluster"), ("shared::cta", "shared::cluster")):
        where = {"scope": scope, "space": space}
        yield Call(f"expect_tx {where}", lambda b, w=where: bar.expect_tx(b.u32, 64, **w))
        yield Call(f"complete_tx {where}", lambda b, w=where: bar.complete_tx(b.u32, b.u32, **w))
    for sem, scope, parity in product(("acquire", "relaxed"), ("cta", "cluster"), (True, False)):
        since = (8, 6) if sem == "relaxed" else (8, 0)
        how = {"sem": sem, "scope": scope, "parity": parity}
        phase = (lambda b: b.u32) if parity else (lambda b: b.u64)
        ampere = "any" if (sem, scope) == ("acquire", "cta") else HOPPER
        test = lambda b, h=how, p=phase: bar.test_wait(b.bar[0], p(b), **h)
        yield Call(f"test_wait {how}", test, needs=ampere, since=since)
        yield Call(
            f"try_wait {how}",
            lambda b, h=how, p=phase: bar.try_wait(b.bar[0], p(b), suspend_time_hint=b.u32, **h),
            since=since,
        )
    yield Call("wait", lambda b: bar.wait(b.bar[0], 0, sem="acquire", scope="cluster"), emits=3)


def calls() -> tuple[Call, ...]:
    """Return every `ptx` call that this Python module describes."""
    return (
        *products(),
        *descriptors(),
        *tensor_copies(),
        *bulk_copies(),
        *tensor_maps(),
        *control(),
        *stores(),
        *mbarriers(),
    )
