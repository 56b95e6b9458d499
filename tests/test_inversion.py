"""Round trip from instructions to calls: the call found for an instruction of a compiler emits this instruction.

For each compiler, every opcode is tested with every combination of operand kinds in its files.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest
from tests.test_instruction_table import PRODUCERS, declared, instructions
from tools.shares import FULL

from pyptx_dsl import ptx
from pyptx_dsl.instructions.forms.call_forms import Call, perform, source
from pyptx_dsl.instructions.forms.inversion import call_of
from pyptx_dsl.instructions.forms.wrapper import Wrapper
from pyptx_dsl.registers.register import NegPred, Reg
from pyptx_dsl.tracing.trace import Trace, tracing
from pyptx_dsl.types import BY_NAME, b64, f32, from_name, pred, u32
from pyptx_ir.isa.check import patterns_of
from pyptx_ir.isa.forms import forms, register_type, some_forms
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import decode, nodes, parse, parse_instruction
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyptx_ir.syntax.operands import Operand

pytestmark = pytest.mark.scaled(2)

WRAPPERS = sorted({each.opcode for name in ptx.__all__ if isinstance(each := getattr(ptx, name), Wrapper)})
# Minimum share of the compilers' instruction forms that become calls. The other forms order their modifiers differently
# from the manual, or have no function.
LEAST = 0.9
# Register types for which a trace declares registers of another type.
HELD = {"b8": "e2m1x2"}


class Case(NamedTuple):
    """Instruction, the types of the registers in scope, and its target and version."""

    node: nodes.Instruction
    types: dict[str, str]
    target: str
    version: tuple[int, int]


def cases(path: Path) -> Iterator[Case]:
    """Yield the instructions of the functions in a PTX file."""
    module = parse(decode(path.read_bytes()), path.name)
    version = next((node.major, node.minor) for node in module.body if isinstance(node, nodes.Version))
    target = next(node.names[0] for node in module.body if isinstance(node, nodes.Target))
    for function in module.body:
        if isinstance(function, nodes.Function) and function.body is not None:
            parameters = (*(function.parameters or ()), *function.returns)
            outer = declared(module.body) | {each.name: each.type for each in parameters if each.space == "reg"}
            for node, types in instructions(function.body.body, outer):
                yield Case(node, types, target, version)


@cache
def distinct(producer: Path) -> list[Case]:
    """Return one instruction for each opcode and combination of operand kinds that a compiler emits."""
    found: dict[tuple[object, ...], Case] = {}
    for path in sorted(producer.glob("*.ptx")):
        for case in cases(path):
            kinds = tuple(type(operand) for operand in case.node.operands)
            found.setdefault((case.node.opcode, kinds, case.node.guard is None), case)
    return list(found.values())


def emitted(call: Call, case: Case) -> nodes.Instruction:
    """Execute a call in a trace that declares the instruction's registers; return the instruction that it emits."""
    trace = Trace("k", case.target, case.version)
    node = case.node
    names = {name for operand in node.operands for name in names_in(operand)}
    names |= set() if node.guard is None else {node.guard.register}
    with tracing(trace):
        registers = {
            name: trace.fresh(from_name(HELD.get(case.types[name], case.types[name])), name)
            for name in sorted(names)
            if case.types.get(name) in BY_NAME
        }
        trace.fresh = lambda dtype: registers[spelt(call.result)]  # type: ignore[method-assign,misc,assignment]  # the register that the call is to return
        perform(call, lambda operand: value(operand, registers))
    (last,) = trace.root_scope.nodes
    assert isinstance(last, nodes.Instruction)
    return last


def names_in(operand: object) -> Iterator[str]:
    """Yield the names in an operand; registers of inline assembly lack the `%`."""
    match operand:
        case tree.Register(name=name) | tree.Symbol(name=name):
            yield name
        case tuple():
            for part in operand:
                yield from names_in(part)
        case _ if is_dataclass(operand):
            for field in fields(operand):
                yield from names_in(getattr(operand, field.name))
        case _:
            return


def value(operand: Operand, registers: dict[str, Reg]) -> object:
    """Return the Python value that a kernel would pass for an operand."""
    match operand:
        case tree.Register(name=name) | tree.Symbol(name=name) if name in registers:
            return registers[name]
        case tree.Negated(operand=inner):
            negated = value(inner, registers)
            return NegPred(negated) if isinstance(negated, Reg) else operand
        case _:
            return operand


def spelt(operand: Operand | None) -> str:
    assert isinstance(operand, tree.Register | tree.Symbol)
    return operand.name


def same(first: nodes.Instruction, second: nodes.Instruction) -> bool:
    return (first.opcode, first.operands, first.guard) == (second.opcode, second.operands, second.guard)


@pytest.mark.parametrize("producer", PRODUCERS, ids=lambda path: path.name)
def test_the_call_of_what_a_compiler_wrote_emits_it_again(producer: Path) -> None:
    inverted = [(case, call_of(case.node, case.types.get)) for case in distinct(producer)]
    assert inverted
    for case, call in inverted:
        if call is not None:
            assert same(emitted(call, case), case.node), source(call)


@pytest.mark.long
def test_most_of_what_compilers_write_is_calls() -> None:
    every = {
        (case.node.opcode, tuple(map(type, case.node.operands))): case for each in PRODUCERS for case in distinct(each)
    }
    calls = sum(call_of(case.node, case.types.get) is not None for case in every.values())
    assert calls >= LEAST * len(every), f"{calls} of {len(every)}"


OPCODES = sorted({row.opcode for row in manager().instructions()})
# Opcodes that only `ptx.inst` can emit, by design, with the reason.
ONLY_INST = {
    r"acme\.": "a fictitious instruction of the plugin tests, without a DSL function",
    r"(fabric|spcompress|spdecompress)\.": "of PTX 9.3 and later, for which no device is sold yet",
    r"tcgen05\.ld(\.red)?\.spcompress": "compressing loads require sm_107a",
    r"tcgen05\.mma\.\S+\.block32\.decompress": "the modifier has no effect, and requires sm_107f",
    r"fence\.proxy\.\w+::\w+\.alias": "of PTX 9.3 and later, for which no device is sold yet",
    r"(bra|brx)\b": "a branch ends a basic block of the trace; control-flow structures emit it",
    r"call(\.uni)? (?!\w+;)": "`call` has lists of operands, unlike other instructions",
    r"(shfl|vote)\.(?!sync)": "removed in PTX 6.4 for sm_70 and later; the .sync forms have a membermask",
    r"membar\.proxy": "the older spelling of ptx.fence.proxy",
    r"bar(rier)?(\.cta)?\.(sync\S*|red\S+ \S+,) \S+, 0[,;]": "a barrier with a thread count of 0 is a mistake",
    r"cvt\.(rn\.relu\.satfinite\.e\dm\dx2|relu\.rn)": "the modifiers of another row in a different order",
}


def only_inst(text: str) -> bool:
    return any(re.match(pattern, text) for pattern in ONLY_INST)


@pytest.mark.parametrize("opcode", OPCODES)
def test_every_form_in_the_table_has_a_call(opcode: str) -> None:
    """Test some forms of each instruction-table row by default, all forms with `PYPTX_KERNELS=all`."""
    chance = Random(opcode)
    for row in (pattern.row for pattern in patterns_of(opcode)):
        for text in forms(row) if FULL else some_forms(row, chance, 2):
            call = call_of(parse_instruction(text), register_type)
            assert (call is None) == only_inst(text), text
            assert call is None or opcode not in WRAPPERS or call.name.rstrip("_") == opcode


def test_what_only_inst_writes_is_in_the_table() -> None:
    texts = [
        form for opcode in OPCODES for pattern in patterns_of(opcode) for form in some_forms(pattern.row, Random(1), 8)
    ]
    assert [pattern for pattern in ONLY_INST if not any(re.match(pattern, text) for text in texts)] == []


PRINTED = {
    "@!%p1 fma.rz.ftz.f32 %f1, %f2, %f3, 0f3F800000;": (
        'ptx.fma(f32, f1, f2, f3, "0f3F800000", rounding="rz", ftz=True, pred=~p1)'
    ),
    "add.sat.u8x4 %r1, %r2, %r3;": "ptx.add(u8x4, r1, r2, r3, sat=True)",
    "add.rn.f32.f16 %f1, %h1, %f2;": 'ptx.add((f32, f16), f1, h1, f2, rounding="rn")',
    "cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2;": ('ptx.cvt(e4m3x2, f32, rs1, f1, f2, rounding="rn", satfinite=True)'),
    "setp.lt.and.s32 %p1|%p2, %r1, 5, !%p3;": ('ptx.setp("lt", s32, reg.PipeRef(p1, p2), r1, 5, combine="and", c=~p3)'),
    "ld.global.nc.L1::no_allocate.v2.f32 {%f1, %f2}, [%rd1+16];": (
        'ptx.ld(f32, [f1, f2], ptx.addr(rd1, 16), nc=True, evict_l1="no_allocate")'
    ),
    "st.shared.b32 [tile+-4], %r1;": 'ptx.st(b32, ptx.addr("tile", -4), r1, space="shared")',
    "atom.relaxed.gpu.add.u64 _, [%rd1], 1;": (
        'ptx.atom.add(u64, None, ptx.addr(rd1), 1, space=None, sem="relaxed", scope="gpu")'
    ),
    "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;": "ptx.shfl.sync.bfly(r1, r2, 1, 31, -1, p=p1)",
    "bar.red.popc.u32 %r1, 2, 64, !%p1;": "ptx.bar.red.popc(r1, 2, ~p1, 64)",
    "mov.u32 %r1, %tid.x;": 'ptx.mov(u32, r1, ptx.sreg("%tid.x"))',
    "mbarrier.arrive.shared::cta.b64 %rd1, [%r1];": "rd1 = ptx.mbarrier.arrive(ptx.addr(r1))",
    "ld.mmio.relaxed.sys.global.u32 %r1, [%rd1];": ('ptx.ld(u32, r1, ptx.addr(rd1), sem="relaxed", mmio=True)'),
    "tex.level.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6}], %f7;": (
        'ptx.tex((f32, f32), [f1, f2, f3, f4], ptx.tensor_addr("t", [f5, f6]), f7, level=True, geom="2d")'
    ),
    "vadd.s32.u32.u32.sat.add %r1, %r2, %r3, %r4;": (
        'ptx.vadd((s32, u32, u32), r1, r2, r3, r4, sat=True, second="add")'
    ),
    "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r4}], [%r3];": (
        "ptx.cp.async_.bulk.tensor_2d(dst=ptx.addr(r1), src=rd1, coord=[r2, r4], mbar=ptx.addr(r3), "
        'space="shared::cta")'
    ),
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], 2;": (
        'ptx.mbarrier.arrive_cluster(ptx.addr(r1), 2, sem="release", scope="cluster")'
    ),
    "cvta.to.shared.u64 %rd1, %rd2;": "rd1 = ptx.cvta.to_shared(rd2)",
    "fence.proxy.alias;": "ptx.fence.proxy.alias()",
    "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%fd1}, [%rd1], 8;": (
        'ptx.wmma.load("a", shape=(8, 8, 4), dtype=f64, dst=[fd1], src=ptx.addr(rd1), stride=8, space=None)'
    ),
}
PREFIXES = {"%r": u32, "%rd": b64, "%f": f32, "%fd": from_name("f64"), "%h": from_name("f16"), "%p": pred}


def kind(name: str) -> str | None:
    """Return the register type that the prefix of a register's name implies."""
    found = PREFIXES.get(name.rstrip("0123456789"))
    return None if found is None else found.name


@pytest.mark.parametrize(("text", "python"), PRINTED.items(), ids=list(PRINTED))
def test_a_call_is_printed_as_python(text: str, python: str) -> None:
    call = call_of(parse_instruction(text), kind)
    assert call is not None
    assert source(call) == python


def test_operands_are_written_as_the_caller_says() -> None:
    call = call_of(parse_instruction("add.u32 %r1, %r2, %r3;"))
    assert call is not None
    names = {"%r1": "total", "%r2": "total", "%r3": "step"}
    assert source(call, lambda operand: names[spelt(operand)]) == "ptx.add(u32, total, total, step)"


@pytest.mark.parametrize(
    "text",
    [
        "add.ftz.rn.f32 %f1, %f2, %f3;",  # no DSL call is found: the modifiers are not in the manual's order
        "fabric.fence.acquire.sys;",  # no DSL call is found: the DSL has no function for this instruction
        "add.u32 %r1, %r2;",  # no DSL call is found: add has an operand too few
        "acme.frob.b32 %r1;",
        "bra done;",  # no DSL call is found: control-flow structures emit branches
    ],
)
def test_what_only_inst_emits_has_no_call(text: str) -> None:
    assert call_of(parse_instruction(text), kind) is None
