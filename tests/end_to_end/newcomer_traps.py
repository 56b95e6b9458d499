"""Beginner habits that would silently give wrong results: each must give an error, a warning or a finding.

A case is a program. The line that the message must name ends with the comment `# <-`. `told` is the class of the error
or warning. If the program runs on the simulator, `told` is the rule of the finding, and the program sets `report`
(the simulator's result).
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, indent

HEADER = """\
import numpy as np
from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import b32, bf16, f16, f32, pred, s32, u32, u64
"""
VECTOR = '@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid={grid}, block=128, arch="sm_80")\n'
COPY = """\
def copy(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    i = reg.from_(ptx.special.ctaid.x(), u32) * 128 + ptx.special.tid.x()
    v = ptx.ld(f32, reg.scalar(f32), ptx.addr(px + i * 4))
    ptx.inst.st.global_.f32(ptx.addr(py + i * 4), v)  # <-
    ptx.ret()
"""


@dataclass(frozen=True, slots=True)
class Trap:
    """A program, the class or rule that must be reported, and words that the message must contain."""

    title: str
    source: str
    told: str
    words: tuple[str, ...]


def traced(title: str, body: str, told: str, *words: str) -> Trap:
    """Return a test case with a mistake in a kernel's body, reported while tracing."""
    return Trap(
        title, f"@kernel\ndef k():\n{indent(dedent(body).strip(), '    ')}\n    ptx.ret()\nk.ptx()\n", told, words
    )


def program(title: str, source: str, told: str, *words: str) -> Trap:
    """Return a test case: a whole program that contains a mistake."""
    return Trap(title, dedent(source).strip() + "\n", told, words)


def loop(title: str, body: str, *words: str) -> Trap:
    """Return a test case: a `with` block rebinds a name; `v` and `w` are registers, `i` an index, `acc` a list."""
    before = """
        v, w, i = reg.scalar(f32, init=0.0), reg.scalar(f32, init=1.0), reg.scalar(u32, init=0)
        acc = [reg.scalar(f32, init=0.0) for _ in range(4)]
    """
    return traced(title, dedent(before).strip() + "\n" + dedent(body).strip(), "ControlFlowError", *words)


REBINDING = (
    loop(
        "a register's name rebound by `v = v + 1` in a loop",
        "for _ in ptx.range_(10):\n    v = v + 1.0  # <-",
        "`v`",
        "`v += …`",
        "ptx.mov(type, v",
    ),
    loop(
        "a register's name rebound by `v = 2 * v` in a loop", "for _ in ptx.range_(10):\n    v = 2.0 * v  # <-", "`v`"
    ),
    loop(
        "a register's name rebound in a ptx.if_ block",
        "with ptx.if_(v > w):\n    v = w * 2.0  # <-\nw += v",
        "`v`",
        "threads that skip",
    ),
    loop(
        "a name bound in both arms of ptx.if_ and ptx.else_",
        "with ptx.if_(v > w):\n    t = v * 2.0\nwith ptx.else_():\n    t = w * 2.0  # <-\nw += t",
        *("`t`", "ptx.else_"),
    ),
    loop(
        "a loop index rebound by `i = i + 1` in ptx.while_",
        "with ptx.while_(lambda: i < 10):\n    i = i + 1  # <-",
        "`i`",
        "`i += …`",
    ),
    loop(
        "a Python number counted up in a ptx.loop",
        "n = 0\nwith ptx.loop(pred=lambda: i < 10):\n    i += n\n    n += 1  # <-",
        *("number", "n = reg.scalar(…, init=0)"),
    ),
    loop(
        "a Python number rebound in a ptx.if_ block",
        "n = 4\nwith ptx.if_(v > w):\n    n = 8  # <-\ni += n",
        "number",
        "`n`",
    ),
    loop(
        "a pointer's name rebound in a loop",
        "p = reg.scalar(u64)\nfor _ in ptx.range_(4):\n    p = p + 16  # <-",
        "`p += …`",
    ),
    loop(
        "the names of two registers swapped in a loop",
        "for _ in ptx.range_(10):\n    v, w = w, v  # <-",
        "bound to another register",
    ),
    loop(
        "a list of accumulators rebound in a loop",
        "for _ in ptx.range_(10):\n    acc = [a + v for a in acc]  # <-",
        "`acc[i] += …`",
    ),
    loop(
        "an item of a list of registers rebound in a loop",
        "for _ in ptx.range_(9):  # <-\n    acc[0] = acc[0] + v",
        "`acc[i] += …`",
    ),
    loop(
        "a value of a dict of registers rebound in a loop",
        "state = {'sum': v}\nfor _ in ptx.range_(9):  # <-\n    state['sum'] = state['sum'] + w",
        "`state[key] += …`",
    ),
    loop("a register's name rebound to a maximum in a loop", "for _ in ptx.range_(9):\n    v = w.max(v)  # <-", "`v`"),
)

SHARED = (
    traced(
        "a u32 compared with >= 0",
        "u = reg.scalar(u32, init=3)\nwith ptx.if_(u >= 0):  # <-\n    ptx.bar.sync(0)",
        "ConstantConditionWarning",
        "always true",
    ),
    traced(
        "a u32 compared with < 0",
        "u = reg.scalar(u32, init=3)\nwith ptx.if_(u < 0):  # <-\n    ptx.bar.sync(0)",
        "ConstantConditionWarning",
        "never true",
        "s32",
    ),
    traced(
        "ld.shared with an element's value as the address",
        "s, v = smem.alloc(u32, 32), reg.scalar(u32)\nptx.inst.ld.shared.u32(v, ptx.addr(s[3]))  # <-",
        *("OperandError", "value of an element of smem_0", "s.address(i)"),
    ),
    traced(
        "st.shared with an element's value as the address",
        "s, v = smem.alloc(f32, 32), reg.scalar(f32)\nptx.inst.st.shared.f32(ptx.addr(s[3]), v)  # <-",
        *("OperandError", "s.address(i)"),
    ),
)

SWIZZLED = tuple(
    traced(
        f"an offset from {title} of a swizzled tile",
        "s, v = smem.alloc(f32, (32, 32), swizzle='128B'), reg.scalar(f32)\n"
        f"ptx.ld(f32, v, {address}, space='shared')  # <-",
        *("OperandError", "another element, due to the swizzle 128B", "index the element", "ptx.mov(u32, register"),
    )
    for title, address in (
        ("the beginning", "ptx.addr(s, 128)"),
        ("a row", "ptx.addr(s[3], 16)"),
        ("an element", "ptx.addr(s.address(5, 4), 16)"),
    )
)

LANES = (
    traced(
        "ptx.shfl.sync.up in the argument order of __shfl_up_sync",
        "v = reg.scalar(u32)\nptx.shfl.sync.up(v, 1, 0)  # <-",
        "OperandError",
        "__shfl_up_sync",
    ),
    traced(
        "ptx.shfl.sync.down without a destination register",
        "v = reg.scalar(u32)\nptx.shfl.sync.down(v, 1)  # <-",
        "OperandError",
        "dst, v, delta",
    ),
    traced(
        "ptx.shfl.sync.idx in the argument order of __shfl_sync",
        "v = reg.scalar(u32)\nptx.shfl.sync.idx(0xFFFFFFFF, v, 0)  # <-",
        *("OperandError", "dst, v, lane", "__shfl_sync(mask, v, lane)"),
    ),
    traced(
        "ptx.shfl.sync.bfly without a destination register",
        "v = reg.scalar(u32)\nptx.shfl.sync.bfly(v, 16, 31)  # <-",
        *("OperandError", "__shfl_xor_sync"),
    ),
    traced(
        "ptx.vote.sync.ballot in the argument order of __ballot_sync",
        "p = reg.scalar(pred)\nptx.vote.sync.ballot(-1, p)  # <-",
        "OperandError",
        "__ballot_sync",
    ),
    traced(
        "ptx.vote.sync.ballot without a destination register",
        "p = reg.scalar(pred)\nptx.vote.sync.ballot(p)  # <-",
        "OperandError",
        "dst",
    ),
    traced(
        "ptx.vote.sync.any in the argument order of __any_sync",
        "p = reg.scalar(pred)\nptx.vote.sync.any(p, -1)  # <-",
        "OperandError",
        "__any_sync",
    ),
    traced(
        "ptx.match.any.sync in the argument order of __match_any_sync",
        "v = reg.scalar(u32)\nptx.match.any.sync(u32, v, -1)  # <-",
        "OperandError",
        "__match_any_sync",
    ),
    traced(
        "ptx.redux.sync.add without a destination register",
        "v = reg.scalar(u32)\nptx.redux.sync.add(u32, v)  # <-",
        "OperandError",
        "__reduce_add_sync",
    ),
)

GRID = 'Tile("M", "N", f32)'
DECLARED = (
    program(
        "a grid function whose parameters are not dimensions",
        f"@kernel(in_specs=({GRID},), grid=lambda cols, rows: (cols, rows))  # <-\ndef k(X): ptx.ret()",
        *("SignatureError", "cols, rows", "M, N"),
    ),
    program(
        "a grid function with dimension names in lower case",
        f"@kernel(in_specs=({GRID},), grid=lambda m, n: (m, n))  # <-\ndef k(X): ptx.ret()",
        *("SignatureError", "m, n", "lambda M, N"),
    ),
    program(
        "a grid function with a parameter for an undeclared dimension",
        f"@kernel(in_specs=({GRID},), grid=lambda M, N, K: (M, N))  # <-\ndef k(X): ptx.ret()",
        *("SignatureError", "K"),
    ),
    program(
        "a kernel that returns a register",
        """
        @kernel
        def k():
            v = reg.scalar(f32, init=0.0)
            return v  # <-
        k.ptx()
        """,
        *("ReturnedValueError", "out_specs"),
    ),
    program(
        "a kernel that returns its output parameter",
        """
        @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=1, block=32)
        def k(X, Y):
            ptx.ret()
            return Y  # <-
        k(np.ones(32, np.float32))
        """,
        *("ReturnedValueError", "TensorSpec"),
    ),
)

RACE = """
@kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), grid=1, block=128, arch="sm_80")
def reverse(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    i, s = reg.from_(ptx.special.tid.x(), u32), smem.alloc(f32, 128)
    s[i] = ptx.ld(f32, reg.scalar(f32), ptx.addr(px + i * 4))
    v = s[127 - i]  # <-
    ptx.inst.st.global_.f32(ptx.addr(py + i * 4), v)
    ptx.ret()
"""
FOUND = (
    program(
        "a simulated grid that omits the tail of the array",
        VECTOR.format(grid="lambda N: N // 128") + COPY + "report = copy.simulate(np.ones(200, np.float32))",
        *("unwritten-output", "72 of 200", "'Y'", "Y[128]", "-(-N // 128)"),
    ),
    program(
        "a simulated grid of one CTA for an array of two",
        VECTOR.format(grid="1") + COPY + "report = copy.simulate(np.ones(256, np.float32))",
        *("unwritten-output", "128 of 256", "Y[128]"),
    ),
    program(
        "a kernel call whose grid omits the tail of the array",
        VECTOR.format(grid="lambda N: N // 128") + COPY + "copy(np.ones(200, np.float32))",
        *("FindingWarning", "unwritten-output", "copy.simulate(…)"),
    ),
    program(
        "a kernel call with a missing CTA barrier",
        RACE + "reverse(np.ones(128, np.float32))",
        "FindingWarning",
        "shared-race",
    ),
    program(
        "a simulation with a missing CTA barrier",
        RACE + "report = reverse.simulate(np.ones(128, np.float32))",
        "shared-race",
    ),
)


def on_vector(title: str, dtype: str, body: str, given: str, told: str, *words: str) -> Trap:
    """Return a simulated kernel of 128 threads on a vector: pointers `x` and `y`, thread index `i`."""
    declared = f"@kernel(in_specs=(Tile(128, {dtype}),), out_specs=(Tile(128, {dtype}),), grid=1, block=128)\n"
    start = "def k(X, Y):\n    x, y = ptx.global_ptrs(X, Y)\n    i = reg.from_(ptx.special.tid.x(), u32)\n"
    lines = indent(dedent(body).strip(), "    ")
    return Trap(title, f"{declared}{start}{lines}\n    ptx.ret()\nreport = k.simulate({given})\n", told, words)


VALUES = (
    on_vector(
        "an integer division by zero",
        "u32",
        """
        v = ptx.ld(u32, reg.scalar(u32), ptx.addr(x + i * 4))
        ptx.st(u32, ptx.addr(y + i * 4), 100 // v)  # <-
        """,
        *("np.arange(128, dtype=np.uint32)", "undefined-value", "integer division by zero", "test the divisor"),
    ),
    on_vector(
        "a remainder of a division by zero as an index",
        "u32",
        """
        v = ptx.ld(u32, reg.scalar(u32), ptx.addr(x + i * 4))
        w = i % v
        ptx.st(u32, ptx.addr(y + (w.min(127)) * 4), v)  # <-
        """,
        *("np.zeros(128, np.uint32)", "undefined-value", "integer division by zero"),
    ),
    on_vector(
        "an f16 array read by f32 loads",
        "f16",
        """
        with ptx.if_(i < 64):
            v = ptx.ld(f32, reg.scalar(f32), ptx.addr(x + i * 4))  # <-
            ptx.st(b32, ptx.addr(y + i * 4), v)
        """,
        *("np.ones(128, np.float16)", "element-type", "an array of f16 elements"),
    ),
)

ENDLESS = on_vector(
    "a loop whose counter is never increased",
    "f32",
    """
    count, v = reg.scalar(u32, init=0), reg.scalar(f32, init=0.0)
    with ptx.while_(lambda: count < 10):
        v += 1.0  # <-
    ptx.st(f32, ptx.addr(y + i * 4), v)
    """,
    *("np.zeros(128, np.float32)", "deadlock", "livelock: ", "loop's condition"),
)
NEIGHBORS = tuple(
    Trap(
        f"an index past a {kind} allocation into the next one",
        f"""\
@kernel(out_specs=(Tile(128, f32),), grid=1, block=128, arch="sm_90a")
def k(Y):
    (y,) = ptx.global_ptrs(Y)
    i = reg.from_(ptx.special.tid.x(), u32)
    short, long = smem.alloc(f32, {size}), smem.alloc(f32, 128)
    short[i + {size - 64}] = 7.0  # <-
    long[i] = 1.0
    ptx.st(f32, ptx.addr(y + i * 4), long[i])
    ptx.ret()
report = k.simulate()
""",
        "other-variable",
        (f"formed from smem_0 ({4 * size} bytes)", "smem_1+0", "64 occurrences"),
    )
    for kind, size in (("static", 64), ("dynamic", 20000))
)

TRAPS = (*REBINDING, *SHARED, *SWIZZLED, *LANES, *DECLARED, *FOUND, *VALUES, *NEIGHBORS, ENDLESS)
