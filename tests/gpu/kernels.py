"""Handwritten PTX for the launch tests: one entry per launch feature."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, indent

from pyptx_ir.isa.targets import default_version

INDEX = """
.reg .b32 i, block, size;
mov.u32 i, %tid.x;
mov.u32 block, %ctaid.x;
mov.u32 size, %ntid.x;
mad.lo.u32 i, block, size, i;
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A PTX entry: name, parameter declarations, body, directives, and module-level text before it (`head`)."""

    name: str
    parameters: tuple[str, ...]
    body: str
    directives: str = ""
    head: str = ""

    def ptx(self, target: str) -> str:
        """Return a module that contains the entry."""
        version = "{}.{}".format(*default_version(target))
        parameters = ",\n".join(f"\t.param {each}" for each in self.parameters)
        body = indent(dedent(self.body).strip(), "\t")
        return (
            f".version {version}\n.target {target}\n.address_size 64\n{self.head}\n"
            f".visible .entry {self.name}(\n{parameters}\n)\n{self.directives}{{\n{body}\n\tret;\n}}\n"
        )


def scale(kind: str) -> Entry:
    """y[i] = x[i] * factor for i < n, in one type of float."""
    size = int(kind[1:]) // 8
    return Entry(
        "scale",
        (".u64 x", ".u64 y", f".{kind} factor", ".u32 n"),
        INDEX
        + f"""
        .reg .b64 px, py, offset;
        .reg .b32 n_;
        .reg .{kind} value, factor_;
        .reg .pred past;
        ld.param.u32 n_, [n];
        setp.ge.u32 past, i, n_;
        @past ret;
        ld.param.u64 px, [x];
        ld.param.u64 py, [y];
        ld.param.{kind} factor_, [factor];
        mul.wide.u32 offset, i, {size};
        add.u64 px, px, offset;
        add.u64 py, py, offset;
        ld.global.{kind} value, [px];
        mul.rn.{kind} value, value, factor_;
        st.global.{kind} [py], value;
        """.replace("\n        ", "\n"),
    )


def constant(number: int) -> Entry:
    """Kernel out[0] = number. Each number gives a different kernel."""
    return Entry(
        "constant",
        (".u64 out",),
        f"""
        .reg .b64 p;
        ld.param.u64 p, [out];
        st.global.u32 [p], {number};
        """,
    )


ADD = Entry(  # kernel x[i] += amount: lost or repeated launches change the result
    "add",
    (".u64 x", ".u32 amount"),
    INDEX
    + """
.reg .b64 p, offset;
.reg .b32 amount_;
ld.param.u64 p, [x];
ld.param.u32 amount_, [amount];
mul.wide.u32 offset, i, 4;
add.u64 p, p, offset;
red.global.add.u32 [p], amount_;
""",
)

SPIN = Entry(  # kernel that spins for `nanoseconds`, then stores out[0] = value
    "spin",
    (".u64 out", ".u32 value", ".u64 nanoseconds"),
    """
    .reg .b64 p, start, now, wanted;
    .reg .b32 value_;
    .reg .pred early;
    ld.param.u64 p, [out];
    ld.param.u32 value_, [value];
    ld.param.u64 wanted, [nanoseconds];
    mov.u64 start, %globaltimer;
    again:
    mov.u64 now, %globaltimer;
    sub.u64 now, now, start;
    setp.lt.u64 early, now, wanted;
    @early bra again;
    st.global.u32 [p], value_;
    """,
)

SMALL = Entry("small", (".u64 out",), constant(1).body, directives=".maxntid 128, 1, 1\n")

# Dynamic shared memory, accessed at its last byte: out[0] = the byte written there, out[1] = %dynamic_smem_size.
SHARED = Entry(
    "reach",
    (".u64 out", ".u32 bytes"),
    """
    .reg .b64 p;
    .reg .b32 last, size, value;
    ld.param.u64 p, [out];
    ld.param.u32 last, [bytes];
    mov.u32 size, room;
    add.u32 last, last, size;
    st.shared.u8 [last + -1], 42;
    ld.shared.u8 value, [last + -1];
    mov.u32 size, %dynamic_smem_size;
    st.global.v2.u32 [p], {value, size};
    """,
    head=".extern .shared .align 16 .b8 room[];\n",
)

# Each CTA of a cluster reads its right neighbor's shared memory: out[3 * block] = rank, cluster size, neighbor's index.
CLUSTER = Entry(
    "neighbours",
    (".u64 out",),
    """
    .reg .b64 p, offset;
    .reg .b32 me, rank, size, next, address, seen;
    .reg .pred last;
    .shared .align 4 .b8 mine[4];
    mov.u32 me, %ctaid.x;
    mov.u32 rank, %cluster_ctarank;
    mov.u32 size, %cluster_nctarank;
    st.shared.u32 [mine], me;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    add.u32 next, rank, 1;
    setp.eq.u32 last, next, size;
    selp.u32 next, 0, next, last;
    mov.u32 address, mine;
    mapa.shared::cluster.u32 address, address, next;
    ld.shared::cluster.u32 seen, [address];
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ld.param.u64 p, [out];
    mul.wide.u32 offset, me, 12;
    add.u64 p, p, offset;
    st.global.u32 [p], rank;
    st.global.u32 [p + 4], size;
    st.global.u32 [p + 8], seen;
    """,
)

# Kernel with a grid barrier: no CTA continues before all CTAs have arrived. Without a cooperative launch, a grid that
# is too large hangs.
COOPERATIVE = Entry(
    "meet",
    (".u64 counter", ".u64 out"),
    """
    .reg .b64 p, q, offset;
    .reg .b32 me, blocks, count;
    .reg .pred waiting;
    ld.param.u64 p, [counter];
    ld.param.u64 q, [out];
    mov.u32 me, %ctaid.x;
    mov.u32 blocks, %nctaid.x;
    red.global.add.u32 [p], 1;
    again:
    ld.volatile.global.u32 count, [p];
    setp.lt.u32 waiting, count, blocks;
    @waiting bra again;
    mul.wide.u32 offset, me, 4;
    add.u64 q, q, offset;
    st.global.u32 [q], count;
    """,
)

# Programmatic dependent launch: times[0] = end of the first kernel, times[1] = start of the second, times[2] = word
# that the first writes at its end, times[3] = that word as read by the second.
FIRST = Entry(
    "first",
    (".u64 times", ".u64 nanoseconds"),
    """
    .reg .b64 p, start, now, wanted;
    .reg .pred early;
    ld.param.u64 p, [times];
    ld.param.u64 wanted, [nanoseconds];
    griddepcontrol.launch_dependents;
    mov.u64 start, %globaltimer;
    again:
    mov.u64 now, %globaltimer;
    sub.u64 now, now, start;
    setp.lt.u64 early, now, wanted;
    @early bra again;
    mov.u64 now, 7;
    st.global.u64 [p + 16], now;
    mov.u64 now, %globaltimer;
    st.global.u64 [p], now;
    """,
)
SECOND = Entry(
    "second",
    (".u64 times",),
    """
    .reg .b64 p, begun, seen;
    ld.param.u64 p, [times];
    mov.u64 begun, %globaltimer;
    griddepcontrol.wait;
    ld.global.u64 seen, [p + 16];
    st.global.u64 [p + 8], begun;
    st.global.u64 [p + 24], seen;
    """,
)

# Kernel with more local memory than fits in registers: the device needs it for every thread that could be resident.
LOCAL = Entry(
    "deep",
    (".u64 out", ".u32 at"),
    """
    .reg .b64 p, q, offset;
    .reg .b32 at_, value;
    .local .align 16 .b8 room[16384];
    ld.param.u64 p, [out];
    ld.param.u32 at_, [at];
    mov.u64 q, room;
    mul.wide.u32 offset, at_, 4;
    add.u64 q, q, offset;
    st.local.u32 [q], at_;
    st.local.u32 [room + 400], 5;
    ld.local.u32 value, [q];
    st.global.u32 [p], value;
    """,
)

TRAP = Entry("stop", (), "trap;")
STORE = Entry("store", (".u64 x",), ".reg .b64 p;\nld.param.u64 p, [x];\nst.global.u32 [p], 1;")
CROOKED = Entry(
    "crooked",
    (".u64 x",),
    """
    .reg .b64 p;
    .reg .b32 a;
    ld.param.u64 p, [x];
    mov.u32 a, 1;
    st.global.v4.u32 [p + 4], {a, a, a, a};
    """,
)


def tile(slot: str) -> Entry:
    """Copy box (x, y) of a tensor map by TMA, and then its bytes in shared memory to out[y * blocks + x].

    `slot` is "value" (the map is the parameter) or "pointer" (the parameter is its address).
    """
    declared, fetch = {
        "value": (".align 64 .b8 map[128]", "mov.b64 map_, map;\ncvta.param.u64 map_, map_;"),
        "pointer": (".u64 map", "ld.param.u64 map_, [map];"),
    }[slot]
    return Entry(
        "tile",
        (declared, ".u64 out", ".u32 width", ".u32 height", ".u32 bytes"),
        f"""
.reg .b64 map_, p, offset;
.reg .b32 t, x, y, blocks, width_, height_, bytes_, at, to, a, b, c, d;
.reg .pred other, waiting, done;
.shared .align 1024 .b8 room[32768];
.shared .align 8 .b64 arrived;
{fetch}
ld.param.u64 p, [out];
ld.param.u32 width_, [width];
ld.param.u32 height_, [height];
ld.param.u32 bytes_, [bytes];
mov.u32 t, %tid.x;
mov.u32 x, %ctaid.x;
mov.u32 y, %ctaid.y;
mov.u32 blocks, %nctaid.x;
mad.lo.u32 at, y, blocks, x;
mul.wide.u32 offset, at, bytes_;
add.u64 p, p, offset;
mul.lo.u32 x, x, width_;
mul.lo.u32 y, y, height_;
setp.ne.u32 other, t, 0;
@other bra together;
mbarrier.init.shared::cta.b64 [arrived], 1;
fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [arrived], bytes_;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [room], [map_, {{x, y}}], [arrived];
together:
bar.sync 0;
again:
mbarrier.try_wait.parity.shared::cta.b64 waiting, [arrived], 0;
@!waiting bra again;
shl.b32 at, t, 4;
mov.u32 to, %ntid.x;
shl.b32 to, to, 4;
copy:
setp.ge.u32 done, at, bytes_;
@done ret;
mov.u32 x, room;
add.u32 x, x, at;
ld.shared.v4.u32 {{a, b, c, d}}, [x];
cvt.u64.u32 offset, at;
add.u64 offset, p, offset;
st.global.v4.u32 [offset], {{a, b, c, d}};
add.u32 at, at, to;
bra copy;
""",
    )


def many(count: int) -> Entry:
    """out[i] = scalar i."""
    body = ["ld.param.u64 p, [out];"]
    for number in range(count):
        body += [f"ld.param.u32 value, [s{number}];", f"st.global.u32 [p + {4 * number}], value;"]
    parameters = (".u64 out", *(f".u32 s{number}" for number in range(count)))
    return Entry("many", parameters, ".reg .b64 p;\n.reg .b32 value;\n" + "\n".join(body))


ENTRIES = (
    scale("f32"), scale("f64"), constant(1), ADD, SPIN, SMALL, SHARED, CLUSTER, COOPERATIVE, FIRST, SECOND, LOCAL, TRAP,
    STORE, CROOKED, tile("value"), tile("pointer"), many(17),
)  # fmt: skip
