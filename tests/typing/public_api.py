"""Types of the public API. Never run: `nox -s types` checks it with mypy and pyright, strict.

`assert_type` fails if a type changes; a `# type: ignore[code]` fails if mypy no longer reports that error.
"""

from __future__ import annotations

from typing import assert_type

from pyptx import Kernel, Tile, kernel, module, ptx, reg, smem
from pyptx.modules import FunctionName, ModuleBuilder
from pyptx.types import PtxType, b32, f32, u32, u64
from pyptx_dsl.inspect.side_by_side import KernelListing
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_dsl.shared_memory.allocations import SharedSlice
from pyptx_ir.banks import bank_conflicts
from pyptx_ir.plugins.rows import Argument, EntryParameter, Output, Runtime, Specialization
from pyptx_ir.plugins.semantics import Semantics
from pyptx_ir.syntax import evolve, parse, parse_instruction, parse_recovering, spell
from pyptx_ir.syntax.errors import PtxSyntaxError
from pyptx_ir.syntax.nodes import Instruction, Module
from pyptx_ir.syntax.style import Style


def reading() -> None:
    """Parsed and edited trees are typed."""
    module = parse("")
    assert_type(module, Module)
    assert_type(parse_recovering(""), tuple[Module, tuple[PtxSyntaxError, ...]])
    instruction = parse_instruction("ret;")
    assert_type(instruction, Instruction)
    assert_type(instruction.opcode, tuple[str, ...])
    assert_type(evolve(instruction, opcode=("exit",)), Instruction)
    assert_type(spell(instruction), str)


def values_are_frozen(instruction: Instruction) -> None:
    """A tree can only be edited by `evolve`."""
    instruction.opcode = ("exit",)  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]  frozen


def rows(argument: Argument, runtime: Runtime, specialization: Specialization) -> None:
    """Objects that kernels and runtimes exchange (arguments, specializations) are typed."""
    assert_type(argument.shape, tuple[int, ...])
    assert_type(specialization.parameters, tuple[EntryParameter, ...])
    assert_type(specialization.outputs, tuple[Output, ...])
    assert_type(runtime.claims([argument]), bool)
    Semantics("add", lambda form: form.words)


@kernel(in_specs=(Tile("B", "N", f32),), out_specs=(Tile("B", "N", f32),), grid=1)
def copy(X: object, Y: object) -> None:
    """Kernel as a user would write it."""


@kernel
def bare() -> None:
    """Kernel decorated without `in_specs` and `out_specs`."""


def instructions(d: Reg, pointer: Reg) -> None:
    """An instruction has existing modifiers only, a fixed number of operands, and returns its destination."""
    assert_type(ptx.inst.mad.lo.u32(d, d, 2, d), Reg)
    assert_type(ptx.inst.fma.rn.f32(d, d, 0.5, "%f1", pred=d), Reg)
    assert_type(ptx.inst.ld.global_.v2.f32([d, d], ptx.addr(pointer)), None)
    assert_type(ptx.inst.bar.sync(0), None)
    ptx.inst.mad.low.u32(d, d, d, d)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo
    ptx.inst.mad.lo.u32(d, d, d)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  an operand is missing
    ptx.inst.add.u32(3, d, d)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  a literal is not a destination
    ptx.inst["mad.u32.lo"](d, d, d, d)


def writing() -> None:
    """Types of a kernel and of the objects in its body."""
    assert_type(copy, Kernel[tuple[Tile]])
    assert_type(bare, Kernel[None])
    assert_type(copy.ptx(B=1, N=2), str)
    assert_type(copy.listing(B=1, N=2), KernelListing)
    assert_type(bank_conflicts([0, None, 4], bytes=4).wavefronts, int)
    assert_type(copy.module(B=1, N=2), Module)
    assert_type(copy.cubin(B=1, N=2), bytes)
    assert_type(copy.resources(B=1, N=2).registers, int)
    assert_type(f32, PtxType)
    assert_type(Tile("B", f32).symbolic_dims, tuple[str, ...])


def registers() -> None:
    """Operators on registers, also comparisons, return registers."""
    a = reg.scalar(u32)
    assert_type(a, Reg)
    assert_type(reg.array(f32, 4), RegArray)
    assert_type(a + 1, Reg)
    assert_type(1 + a, Reg)
    assert_type(a == 0, Reg)
    assert_type(a < a, Reg)


def shared_memory(row: Reg) -> None:
    """The rank of an allocation determines whether an index gives an element or a slice."""
    assert_type(smem.alloc(f32, 32)[row], Reg)
    assert_type(smem.alloc(f32, (32,))[3], Reg)
    matrix = smem.alloc(f32, (4, 32))
    assert_type(matrix[row], SharedSlice)
    assert_type(matrix[0, row], Reg)
    stages = smem.alloc(f32, (3, 4, 32))
    assert_type(stages[row], SharedSlice)
    assert_type(stages[0, row], SharedSlice)
    assert_type(stages[0, row, 1], Reg)
    assert_type(smem.alloc(f32, [4, 32])[0], Reg | SharedSlice)


def truth(a: Reg) -> None:
    """A register has no truth value; mypy reports only plain names, and only with truthy-bool."""
    if a < 1:  # pyright: ignore[reportGeneralTypeIssues]  known on the GPU only
        ptx.ret()
    while a:  # type: ignore[truthy-bool]  # pyright: ignore[reportGeneralTypeIssues]  as above
        ptx.ret()


def modifiers(a: Reg) -> None:
    """Wrappers have typed keywords; keywords with few values have literal types."""
    assert_type(ptx.fma(f32, a, a, a, a, rounding="rz", ftz=True), Reg)
    assert_type(ptx.mad(a, a, a, mode="wide"), Reg)
    ptx.fma(f32, a, a, a, a, roundng="rn")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  a typo
    ptx.fma(f32, a, a, a, a, rounding="nearest")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  no such value
    assert_type(ptx.clmad(u64, a, a, a, a, mode="hi"), Reg)
    assert_type(ptx.vadd((u32, u32, u32), a, a, a, sat=True, second="min"), Reg | str)
    assert_type(ptx.alloca(u64, a, 16), Reg)
    assert_type(ptx.cvta.to_shared__cta(a), Reg)
    assert_type(ptx.bar.cta.red.popc(a, 0, a), Reg)
    assert_type(ptx.mbarrier.check_layout(a, "v1"), Reg)
    ptx.tex((f32, f32), [a, a, a, a], ptx.tensor_addr("t", [a]), geom="1d", level=True)
    ptx.tex((f32, f32), [a, a, a, a], ptx.tensor_addr("t", [a]), geom="1D")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  no such value
    ptx.vset((u32, u32), a, a, a, second="add", compare="equ")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  no such value
    ptx.ld(f32, a, ptx.addr(a), spce="shared")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  a typo


def control_flow(p: Reg, r: RegArray) -> None:
    """Control-flow structures take label names; `ptx.block` yields its label, a counted loop its register."""
    with ptx.if_(~p, label="$else", uniform=True):
        ptx.ret()
    with ptx.else_(end_label="$end", end_uniform=True, define_end=False):
        ptx.ret()
    with ptx.block() as done, ptx.while_(p, guard=~p, label="$loop", end_label="$exit"):
        assert_type(done, str)
        ptx.break_(done, pred=p, uniform=True)
    for i in ptx.range_(0, r[1], counter=r[2], dtype=u32, pred=~p, spelling="setp.ge.u32", tested="bottom"):
        assert_type(i, Reg)
    for i in ptx.range_(0, 8, tested="middle"):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  no such value
        assert_type(i, Reg)
    ptx.if_(p, else_label="$else")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  its name is label


def exact_code(p: Reg, r: RegArray) -> None:
    """`ptx.expr` takes registers (`temps`), opcodes by type (`spelling`); an mbarrier wait has one of eight forms."""
    with ptx.expr(temps=(r[1], *r[2:4]), spelling={u32: "add.u32", f32: "add.f32"}):
        r[5] = (r[6] + 1) * r[7]
        assert_type(ptx.inst.mul.wide.u32(..., r[5], 4), Reg)
    with ptx.expr(temps=(3,)):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  a number is not a register
        r[5] = r[6] + 1
    with ptx.asm_region(begin="begin inline asm"), ptx.scope():
        ptx.mbarrier.wait("bar", 0, form="poll", result=r[1], done="P1")
    barrier = ptx.mbarrier.array("bars", 0, 2)[1]
    barrier.wait(0, form="scoped_done", label="LAB_WAIT", past_label="DONE", uniform=True)
    barrier.wait(0, form="spin")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  no such value
    barrier.wait(0, formm="poll")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  a typo
    ptx.mbarrier.wait("bar", 0, past="DONE", pred=p)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  a typo


def mistakes() -> None:
    """Mistakes that a type checker must report."""
    reg.scaler(f32)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo
    reg.scalar("f32")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  a type is a value, not its name


def modules() -> None:
    """Methods of a module builder have typed keywords."""
    m = module(version=(8, 7), target=["sm_90a", "debug"])
    assert_type(m, ModuleBuilder)
    assert_type(m.global_("lut", u32, 4, init=[1, 2, 3, 4], align=16), str)
    m.const("c", u32, alignment=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  its name is align

    @m.entry("k", [m.param("X", u64, ptr="global")], visible=True, maxntid=(128, 1, 1), noreturn=True)
    def k() -> None: ...

    assert_type(k, FunctionName)
    m.func("f", maxntid=1.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  thread counts are integers
    assert_type(m.ptx(), str)
    assert_type(m.module(), Module)
    assert_type(m.ptx(style="nvcc"), str)
    assert_type(module(version=(8, 7), target="sm_90a", style=Style()), ModuleBuilder)
    assert_type(m.described(), str)
    launched: Kernel = k.kernel(in_specs={"X": Tile("N", u32)}, block=32, grid=4)
    launched.ptx(N=32)
    k.kernel(in_specs=Tile("N", u32))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  the parameter is not named
    assert_type(m.ptx(style=Style()), str)
    assert_type(m.cubin(), bytes)
    assert_type(m.sass(), str)
    assert_type(m.resources()["k"].registers, int)


def declared_registers() -> None:
    """A register group is a RegArray, a name is a Reg, and a declaration of both gives a tuple of their union."""
    assert_type(reg.bank("%r", b32, 4)[0], Reg)
    assert_type(reg.declare(b32, "%a", "%b"), tuple[Reg, ...])
    assert_type(reg.declare(b32, ("%a", 4)), tuple[RegArray, ...])
    assert_type(reg.declare(b32, "%a", ("%b", 4)), tuple[Reg | RegArray, ...])
    ptx.inst.ld.global_.u32(reg.scalar(u32), ptx.unified(ptx.addr("p", 0)))
    ptx.call("f", [reg.scalar(u32)], prototype="p")
    ptx.formatted(leading="\n", text="ret;", unchecked=True)
    ptx.callprototype([ptx.parameter("_", b32)], noreturn=True)
