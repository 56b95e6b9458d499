"""Types of all functions that emit exact PTX. Never run: `nox -s types` checks it.

`assert_type` fails if a type changes; a `# type: ignore[code]` fails if mypy no longer reports that error. tests/knobs
checks that every keyword of every such function is used here.
"""

from __future__ import annotations

from typing import assert_type

from pyptx import module, ptx, reg
from pyptx.modules import FunctionName
from pyptx.types import b8, b16, b32, b64, f32, u32, u64
from pyptx_dsl.registers.operands import AddressOperand
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_ir.syntax.nodes import Declarator, Module, Parameter


def head() -> None:
    """A module begins with its header, emitted by one call, or by one call per statement."""
    m = module(
        version=(8, 7), target=["sm_90a", "debug"], address_size=None, unchecked=True, tail="\n\n", labels="$L_{block}"
    )
    m.version(8, 7)
    m.target("sm_90a", "texmode_independent")
    m.address_size(64)
    m.comment("two\nlines")
    m.formatted(leading="\n", text=";", unchecked=True)
    m.empty()
    assert_type(m.module(), Module)
    assert_type(m.ptx(), str)
    module(version="8.7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  a pair of numbers is expected
    module(arch="sm_90a")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  its name is target
    m.globl("lut", u32)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo


def variables() -> None:
    """Keywords of variable declarations in modules and in function bodies."""
    m = module(version=(8, 7), target="sm_90a")
    other = m.declarator("other", 2, init=[1, 2], count=None, dtype=u32)
    assert_type(other, Declarator)
    assert_type(m.var("const", "lut", b16, (2, 2), init=[[1, 2], [3, 4]], linking="weak"), str)
    assert_type(m.global_("v", f32, vector=4, attributes=["managed", ("unified", 1, 2)], also=[other]), str)
    assert_type(m.const("c", u32, 1, init="lut", count=None), str)
    assert_type(m.shared("dynamic", b8, 0, linking="extern", align=128), str)
    assert_type(ptx.declarator("w", size=3, init=(0, 1, 2), count=2, dtype=u32), Declarator)
    assert_type(ptx.var("shared", u32, "s", size=4, align=16, linking=None, init=None, vector=2, count=2), str)
    ptx.var("global", u32, "g", attributes=["managed"], also=[ptx.declarator("h")])
    m.global_("v", u32, initial=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  its name is init
    m.global_("v", u32, also=["w"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]  a name is not a declarator
    ptx.var("shared", u32, "s", sise=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  a typo


def functions() -> None:
    """Functions have parameters and directives; a decorated body becomes the function's name."""
    m = module(version=(8, 7), target="sm_90a")
    assert_type(m.param("X", u64, ptr="global", ptr_align=16), Parameter)
    array = ptx.parameter("map", b8, 128, align=64, ptr=False, vector=None, space="param", attributes=())
    m.param("r", b32, size=None, align=4, vector=2, space="reg", attributes=["managed"])
    assert_type(m.declare("func", "f", params=[array], returns=[m.param("r", b32)], linking="extern"), str)

    @m.entry("k", [array], visible=True, attributes=(), directives=[("pragma", "a")], brace=" ", pragma=["b", "c"])
    def kernel() -> None: ...

    assert_type(kernel, FunctionName)
    m.entry("l", maxntid=(128, 1), minnctapersm=2, maxnctapersm=4, maxnreg=64, minperctamemory=1024)
    m.entry("o", reqntid=128, reqnctapercluster=(2, 1, 1), maxclusterrank=8, explicitcluster=True)
    m.entry("p", reqntid="WARP_SZ", blocksareclusters=True)
    m.func("g", noreturn=True, abi_preserve=8, abi_preserve_control=2, language=1)
    m.alias("twice", "double")
    m.entry("k", maxtnid=128)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  a typo
    m.entry("k", ["X"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]  a name is not a parameter
    m.entry("k", returns=[array])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  entries have no return value


def directives() -> None:
    """Types of the functions for source locations, sections and other directives."""
    m = module(version=(8, 7), target="sm_90a")
    m.file(1, "a.cu", timestamp=1, size=2)
    m.pragma("nounroll")
    m.directive("@@DWARF", ".byte", 0, terminated=False)
    with m.section(".debug_str"):
        m.label("$name")
        m.data(b8, 1, "$name")
        m.lines(b8, 1, "$name", b"text\0", b32, [1, 2])
    ptx.file_(1, "a.cu")
    ptx.loc(1, 2, col=3, function_name=("$name", 4), inlined_at=(1, 5, 6))
    ptx.pragma("nounroll")
    ptx.directive("maxnreg", 32, terminated=True)
    ptx.comment("text")
    ptx.empty()
    ptx.formatted(unchecked=True)
    ptx.loc(1, 2, 3, inlined_at=(1, 2))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  three numbers are expected
    ptx.formatted(spellng="ret;")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  a typo
    with m.sections(".debug_str"):  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo
        pass


def operands(p: Reg) -> None:
    """Types of registers, scopes, addresses, calls and label lists."""
    assert_type(reg.bank("%v", f32, 2, vector=4, align=16), RegArray)
    assert_type(reg.declare(b64, "%a", vector=2, align=8), tuple[Reg, ...])
    assert_type(ptx.addr(p, 0), AddressOperand)
    ptx.inst.setp.eq.u32(reg.pair(p, "%q"), 1, 2)
    assert_type(ptx.inst.setp.eq.u32(p, 1, 2), Reg)
    assert_type(ptx.inst.shfl.sync.bfly.b32(p, p, 1, 31, -1), Reg)
    ptx.tensor_addr("map", [p, 1])
    ptx.unified(ptx.addr("v"))
    ptx.open_scope()
    ptx.close_scope()
    ptx.call(p, args=[p], returns=["%r"], prototype="prototype", uni=True, pred=p)
    ptx.callprototype(params=None, returns=[ptx.parameter("_", b32)], directives=[("noreturn", True)])
    ptx.calltargets("f", "g")
    ptx.branchtargets("a", "N<2>")
    reg.bank("%r", "b32", 4)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  a type is a value
    reg.bank("%r", b32, 4, vektor=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  a typo
    ptx.calltargets(["f"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  names as arguments, not a list
    ptx.call("f", arguments=[p])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  its name is args


def structures(p: Reg, r: RegArray) -> None:
    """Control-flow structures take label names and branch modifiers as keywords."""
    ptx.label("here")
    ptx.bra("here", pred=p, uni=True)
    with ptx.if_(p, label="out", uniform=True, define_label=False):
        ptx.continue_("loop", pred=p, uniform=True)
    with ptx.elif_(p, label="next", end_label="end", end_uniform=True, define_end=False):
        ptx.break_("loop")
    with ptx.predicated(pred=~p):
        ptx.trap()
    with ptx.block(label="done") as done:
        assert_type(done, str)
    with ptx.loop("peeled", pred=p, start_label="middle"):
        ptx.label("middle")
    with ptx.loop(label="loop", pred=p, uniform=False, next_label="again", end_label="exit", define_end=False):
        ptx.ret()
    with ptx.while_(p, guard=p, label="loop", uniform=True):
        ptx.ret()
    for i in ptx.range_(0, stop=r[0], step=2, label="top", uniform=True, tested="top"):
        assert_type(i, Reg)
    with ptx.asm_region(begin="begin", end="end"):
        ptx.ret()
    ptx.kloop(r[0], unroll=4, body=ptx.ret, loop_label="main", tail_label="tail", rest_label="rest", end_label="out")
    ptx.kloop(8, unroll=4, body=ptx.ret, uniform=True)
    ptx.kloop(8, unroll=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  the body is missing
    ptx.if_(p, define_label="no")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  a bool is expected
    ptx.block(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  a name is expected
    ptx.loop(pred=p, last_label="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  its name is end_label
    ptx.asm_region("begin")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  keyword-only


def waits(p: Reg, r: Reg) -> None:
    """An mbarrier wait takes label names and registers for the instructions that it emits."""
    ptx.mbarrier.wait("bar", r, form="poll_retry", result=r, failed=p, label="L", selp="selp.u32", setp="setp.ne.u32")
    ptx.mbarrier.wait("bar", r, form="scoped_done", past_label="D", done="P1", uniform=True, suspend_time_hint=64)
    ptx.mbarrier.wait("bar", r, poll="test_wait", parity=False, sem="acquire", scope="cluster", space=None, pred=p)
    ptx.mbarrier.wait("bar", r, form="backoff", nanoseconds=64, loc=(1, 20, 5))
    ptx.mbarrier.wait("bar", lambda: ptx.inst.mov.b32(r, 0), loc=(1, 20, 5, "$name", (1, 7, 3)))
    ptx.mbarrier.wait("bar", r, form="spin")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  no such value
