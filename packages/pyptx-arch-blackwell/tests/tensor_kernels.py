"""Kernels for tests: fill shared and tensor memory, issue instructions in one thread, store all of tensor memory.

    issue = Issue()
    a, b, idesc = issue.descriptor(a_bits), issue.descriptor(b_bits), issue.word(idesc_bits)
    issue.emit(f"tcgen05.mma.cta_group::1.kind::f16 {issue.at(64)}, {a}, {b}, {idesc}, 0;")
    after = outcome(issue, memory=before, shared=tiles)

Images cover all CTAs: `memory` is uint32 `[blocks, 128, columns]`, `shared` is uint8 `[blocks, bytes]`. Two CTAs are a
CTA pair: a cluster that works in `.cta_group::2` and whose first CTA issues.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim import run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.result import Result

    Array = NDArray[Any]

__all__ = ["COLUMNS", "LANES", "Issue", "kernel_text", "launch", "outcome"]

LANES: Final = 128
COLUMNS: Final = 512
_CHUNK: Final = 16  # number of bytes that a thread copies with one vector instruction
_AT_ONCE: Final = 32  # number of tensor memory columns that one tcgen05.st or tcgen05.ld accesses
_WIDE: Final = 8  # number of 32-bit words that a thread loads or stores with one vector instruction


@dataclass
class Issue:
    """Instructions of one thread, with constants in registers.

    Constants are loaded from memory: instructions that differ only in constants have one PTX text, compiled once.
    """

    blocks: int = 1
    setup: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    constants: list[int] = field(default_factory=list)

    def descriptor(self, bits: int, *, absolute: bool = False) -> str:
        """Return a register with descriptor `bits`, whose address is relative to the shared memory image.

        With `absolute`, its leading dimension field is an address relative to the image, too.
        """
        name = self.long(bits)
        self.setup.append(f"add.u64 {name}, {name}, %base;")
        if absolute:
            self.setup.append(f"shl.b64 %more, %base, 16; add.u64 {name}, {name}, %more;")
        return name

    def long(self, bits: int) -> str:
        """Return a 64-bit register with the value `bits`."""
        return self._register(64, bits)

    def word(self, bits: int) -> str:
        """Return a 32-bit register with the value `bits`."""
        return self._register(32, bits)

    def at(self, column: int, lane: int = 0) -> str:
        """Return the operand `[register]` for a tensor memory column and lane."""
        name = self.word((lane << 16) + column)
        self.setup.append(f"add.u32 {name}, {name}, %tensor;")
        return f"[{name}]"

    def emit(self, *lines: str) -> None:
        """Append PTX lines to the instructions of the one issuing thread."""
        self.lines += lines

    def _register(self, width: int, bits: int) -> str:
        name, place = f"%c{len(self.constants)}", 8 * len(self.constants)
        self.constants.append(bits)
        self.setup.append(f".reg .b{width} {name}; ld.global.b{width} {name}, [%a+{place}];")
        return name

    @property
    def text(self) -> str:
        """PTX of the one issuing thread: loads of the constants, then the appended instructions."""
        return "\n".join((*self.setup, *self.lines))


def kernel_text(
    issued: str,
    *,
    columns: int = COLUMNS,
    blocks: int = 1,
    target: str = "sm_100a",
    everyone: str = "",
    version: str = "9.0",
    size: int = 0,
) -> str:
    """Return a kernel in which one thread executes `issued`; then all threads execute `everyone`.

    `issued` may use `%tensor`, the address of tensor memory, and `%base`, that of shared memory as encoded in
    descriptors. `everyone` may use `%thread`, `%warp`, `%lanes` (tensor memory address of the warp's lanes), `%results`
    (a pointer) and `%v0` to `%v127`. `size` is the size of the shared memory image of a CTA in bytes.
    """  # fmt: skip
    group = f"cta_group::{blocks}"
    meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" if blocks == 2 else "bar.sync 0;"
    commit = (
        f"tcgen05.commit.{group}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], %both;"
        if blocks == 2
        else f"tcgen05.commit.{group}.mbarrier::arrive::one.shared::cluster.b64 [bar];"
    )
    return f"""
.version {version}
.target {target}
.address_size 64
.extern .shared .align 1024 .b8 data[];
.visible .entry k(.param .u64 memory, .param .u64 shared, .param .u64 out, .param .u64 constants, .param .u64 results)
{{
.reg .b32 %thread, %warp, %block, %tensor, %lanes, %s, %t, %v<128>;
.reg .b64 %base, %more, %from, %to, %a, %results;
.reg .b16 %both;
.reg .pred %alone, %leads, %done, %all;
.shared .align 4 .b32 slot;
.shared .align 8 .b64 bar;
mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x; shr.u32 %warp, %thread, 5;
ld.param.u64 %results, [results];
setp.eq.u32 %alone, %warp, 0;
setp.eq.u32 %leads, %thread, 0;
{meet * (blocks == 2)}
@%alone tcgen05.alloc.{group}.sync.aligned.shared::cta.b32 [slot], {columns};
@%alone tcgen05.relinquish_alloc_permit.{group}.sync.aligned;
@%leads mbarrier.init.shared.b64 [bar], 1;
@%leads fence.mbarrier_init.release.cluster;
ld.param.u64 %from, [shared];
mad.wide.u32 %from, %block, {size}, %from; mad.wide.u32 %from, %thread, {_CHUNK}, %from;
mov.u32 %s, data; mad.lo.u32 %s, %thread, {_CHUNK}, %s;
mov.u32 %t, {size // (LANES * _CHUNK)};
FILL:
setp.eq.u32 %done, %t, 0;
@%done bra FILLED;
ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%from];
st.shared.v4.b32 [%s], {{%v0, %v1, %v2, %v3}};
add.u64 %from, %from, {LANES * _CHUNK}; add.u32 %s, %s, {LANES * _CHUNK}; sub.u32 %t, %t, 1;
bra FILL;
FILLED:
fence.proxy.async.shared::cta;
bar.sync 0;
ld.shared.b32 %tensor, [slot];
shl.b32 %lanes, %warp, 21; add.u32 %lanes, %lanes, %tensor;
ld.param.u64 %from, [memory]; ld.param.u64 %to, [out];
mad.lo.u32 %t, %block, {LANES}, %thread;
mad.wide.u32 %from, %t, {columns * 4}, %from; mad.wide.u32 %to, %t, {columns * 4}, %to;
{_moved(columns, store=True)}
tcgen05.wait::st.sync.aligned;
tcgen05.fence::before_thread_sync;
{meet}
tcgen05.fence::after_thread_sync;
setp.eq.and.u32 %all, %block, 0, %leads;
@!%all bra ISSUED;
{{
mov.u32 %s, data; shr.u32 %s, %s, 4; cvt.u64.u32 %base, %s;
ld.param.u64 %a, [constants];
{issued}
mov.b16 %both, 3;
mov.b16 %both, 3;
{commit}
}}
ISSUED:
WAIT:
mbarrier.try_wait.parity.shared.b64 %done, [bar], 0;
@!%done bra WAIT;
tcgen05.fence::after_thread_sync;
{everyone}
{_moved(columns, store=False)}
tcgen05.fence::before_thread_sync;
{meet}
tcgen05.fence::after_thread_sync;
@%alone tcgen05.dealloc.{group}.sync.aligned.b32 %tensor, {columns};
ret;
}}
"""


def _moved(columns: int, *, store: bool) -> str:
    """Return PTX that copies each warp's tensor memory lanes from global memory, or to it."""
    parts = []
    for first in range(0, columns, _AT_ONCE):
        registers = [f"%v{i}" for i in range(_AT_ONCE)]
        cells = ", ".join(registers)
        wide = [(4 * (first + i), ", ".join(registers[i : i + _WIDE])) for i in range(0, _AT_ONCE, _WIDE)]
        if store:
            parts += [f"ld.global.v8.b32 {{{part}}}, [%from+{offset}];" for offset, part in wide]
            parts.append(f"tcgen05.st.sync.aligned.32x32b.x{_AT_ONCE}.b32 [%lanes+{first}], {{{cells}}};")
            continue
        parts.append(f"tcgen05.ld.sync.aligned.32x32b.x{_AT_ONCE}.b32 {{{cells}}}, [%lanes+{first}];")
        parts.append("tcgen05.wait::ld.sync.aligned;")
        parts += [f"st.global.v8.b32 [%to+{offset}], {{{part}}};" for offset, part in wide]
    return "\n".join(parts)


def launch(
    issue: Issue,
    *,
    memory: Array,
    shared: Array | None = None,
    results: Array | None = None,
    target: str = "sm_100a",
    everyone: str = "",
    **options: Any,
) -> tuple[Array, Result]:
    """Run the kernel; return tensor memory after the run. PTX `everyone`, of all threads, may write `results`."""
    blocks, _, columns = memory.shape
    unit = LANES * _CHUNK
    given = np.zeros((blocks, unit), np.uint8) if shared is None else shared
    size = -(-given.shape[1] // unit) * unit
    tiles = np.zeros((blocks, size), np.uint8)
    tiles[:, : given.shape[1]] = given
    source = kernel_text(issue.text, columns=columns, blocks=blocks, size=size, target=target, everyone=everyone)
    after = np.zeros_like(memory)
    more = np.zeros(1, np.uint32) if results is None else results
    constants = np.array(issue.constants or [0], np.uint64)
    options = {"checks": "all", "cluster": blocks, "shared_bytes": size} | options
    return after, run(source, grid=blocks, block=LANES, args=[memory, tiles, after, constants, more], **options)


def outcome(issue: Issue, **given: Any) -> Array:
    """Run the kernel, assert that it has no findings, and return tensor memory after the run."""
    after, done = launch(issue, **given)
    assert not done.findings, "\n".join(map(str, done.findings))
    return after
