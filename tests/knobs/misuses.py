"""Common mistakes with each knob: wrong place, repeated call, call too early, wrong argument.

A misuse is a program. The line that the error must name is marked with `# <-`. `told` is the class of the error;
`words` must be in its message.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, indent

HEADER = """\
from pyptx import kernel, module, ptx, reg, smem
from pyptx.types import b8, b32, b64, f32, pred, u8, u16, u32, u64
"""
MODULE = 'm = module(version=(8, 7), target="sm_90a")\n'


@dataclass(frozen=True, slots=True)
class Misuse:
    """A program, with the error that it must raise."""

    source: str
    told: str
    words: tuple[str, ...]


def outside(source: str, told: str, *words: str) -> Misuse:
    """A mistake outside any trace."""
    return Misuse(dedent(source).strip() + "\n", told, words)


def of_module(source: str, told: str, *words: str) -> Misuse:
    """A mistake while a module is built."""
    return Misuse(MODULE + dedent(source).strip() + "\nm.ptx()\n", told, words)


def in_body(source: str, told: str, *words: str) -> Misuse:
    """A mistake in the body of a module's function, which has register groups `p`, `r` and `rd`."""
    banks = 'p, r, rd = reg.bank("%p", pred, 4), reg.bank("%r", b32, 4), reg.bank("%rd", b64, 4)\n'
    body = indent(banks + dedent(source).strip(), "    ")
    return Misuse(f'{MODULE}@m.func("f")\ndef f():\n{body}\n', told, words)


def in_kernel(source: str, told: str, *words: str) -> Misuse:
    """A mistake in a kernel, which has registers `p` and `r`, and an mbarrier `full`."""
    registers = "p, r, full = reg.array(pred, 4), reg.array(u32, 4), smem.mbarrier(1)\n"
    body = indent(registers + dedent(source).strip(), "    ")
    return Misuse(f"@kernel\ndef k():\n{body}\n    ptx.ret()\nk.ptx()\n", told, words)


HEAD = (
    outside('module(version="8.7")  # <-', "OperandError", "no pair of numbers", "version=(8, 7)"),
    outside('m = module()\nm.version("8", "7")  # <-', "OperandError", "pair of numbers", "(8, 7)"),
    outside("m = module()\nm.version(8, 9)  # <-", "DirectiveError", "there is no PTX 8.9", "8.8"),
    outside('module(version=(8, 7), target="sm_42")  # <-', "ArchError", "unknown target 'sm_42'", "unchecked=True"),
    outside('module(version=(8, 7), target="sm_90a", tail="ret;")  # <-', "OperandError", "tail='ret;'", "white space"),
    outside('module(version=(8, 7), style="nvccc")  # <-', "OperandError", "'nvccc' is no style", "nvcc"),
    of_module('m.entry("k")  # <-\nm.described()', "ControlFlowError", "a header and no body"),
    outside("m = module()\nm.cubin()  # <-", "ArchError", "no .target to compile it for", "m.target"),
    outside("m = module()\nm.sass()  # <-", "ArchError", "no .target to compile it for", "m.target"),
    outside("m = module()\nm.resources()  # <-", "ArchError", "no .target to compile it for", "m.target"),
    of_module("m.target(90)  # <-", "OperandError", "a target is text, not 90"),
    of_module("m.target()  # <-", "OperandError", "a target has a name"),
    outside('m = module(version=(7, 0))\nm.target("sm_90a")  # <-', "DirectiveError", "sm_90a needs PTX"),
    outside('m = module(version=(8, 7))\nm.target("sm_90a", "debg")  # <-', "DirectiveError", "debg"),
    outside("m = module()\nm.address_size(16)  # <-", "OperandError", "32 or 64", "address_size=64"),
    of_module("m.address_size(32)  # <-", "DirectiveError", "only once"),
    outside('m = module(target="sm_90a")\nm.entry("k")  # <-', "ArchError", "no .version", "unchecked=True"),
    of_module("m.comment(3)  # <-", "OperandError", "a comment is text, not 3"),
    of_module('m.globl("x", u32)  # <-', "UnknownNameError", "no 'globl'", "global_"),
)

VARIABLES = (
    of_module('m.global_("lut", u32, 4, init=[1, 2, 3, 4, 5])  # <-', "DirectiveError", "4 elements", "initialiser 5"),
    of_module('m.var("const", "lut", u32, (2, 2), init=[1, 2, 3])  # <-', "DirectiveError", "2 elements"),
    of_module('m.global_("x", u32, init=[1])  # <-', "DirectiveError", "more braces than dimensions"),
    of_module('m.global_("x", u32, 2, init=7)  # <-', "DirectiveError", "is an array"),
    of_module('m.global_("x", u32, 2, init=[None, 1])  # <-', "OperandError", "None is no initial value", "write 0"),
    of_module('m.global_("x", b8, 4, init=b"abcd")  # <-', "OperandError", "bytes", "list(data)"),
    of_module('m.global_("x", u8, init=256)  # <-', "OperandError", "256 does not fit"),
    of_module('m.shared("x", u32, init=1)  # <-', "DirectiveError", "can't be initialised"),
    of_module('m.const("2x", u32)  # <-', "OperandError", "'2x' is no name", "no digit first"),
    of_module('m.const(u32, "x")  # <-', "OperandError", "a variable has a name, not u32"),
    of_module('m.var("globl", "x", u32)  # <-', "OperandError", "no state space", "global"),
    of_module('m.var("param", "x", u32)  # <-', "DirectiveError", "inside functions"),
    of_module('m.global_("x", pred)  # <-', "DirectiveError", "predicates are single registers"),
    of_module('m.global_("x", u32, [2, 2])  # <-', "OperandError", "no number of elements", "tuple"),
    of_module('m.global_("x", u32, align=3)  # <-', "OperandError", "power of two"),
    of_module('m.global_("x", u32, vector=3)  # <-', "OperandError", "2, 4 or 8"),
    of_module('m.global_("x", u32, count=2, init=1)  # <-', "DirectiveError", "several variables"),
    of_module('m.global_("x", "texref", init={"filter": "nearest"})  # <-', "DirectiveError", "no field 'filter'"),
    of_module('m.global_("x", "texref", init={"filter_mode": "closest"})  # <-', "DirectiveError", "nearest or linear"),
    of_module('m.global_("x", u32, init={"filter_mode": "nearest"})  # <-', "DirectiveError", "initialiser"),
    of_module('m.global_("x", u32, attributes="managed")  # <-', "OperandError", "attributes=['managed']"),
    of_module('m.global_("x", u32, attributes=["manged"])  # <-', "OperandError", "no attribute", "managed"),
    of_module('m.global_("x", u32, also=["y"])  # <-', "OperandError", "no declarator", "ptx.declarator"),
    of_module('m.global_("x", u32, also=[m.declarator("x")])  # <-', "DuplicateNameError", "'x'"),
    of_module('m.declarator("a b")  # <-', "OperandError", "'a b' is no name"),
    of_module('m.global_("x", u32)\nm.shared("x", u32)  # <-', "DuplicateNameError", "a .global 'x' already"),
    of_module('m.const("x", u32, linking="public")  # <-', "OperandError", "linking='public'", "extern"),
    of_module('m.const("x", u32, initial=1)  # <-', "KeywordError", "'initial'", "init"),
    in_body('ptx.var("shared", "x", u32)  # <-', "UnknownTypeError", "'x'", "pyptx.types"),
    in_body('ptx.var("shared", u32, "x", init=1)  # <-', "DirectiveError", "can't be initialised"),
    in_body('ptx.var("shared", u32, "x")\nptx.var("shared", u32, "x")  # <-', "DuplicateNameError", "'x' is taken"),
    in_body('ptx.declarator("x", size=2.5)  # <-', "OperandError", "2.5 is no number of elements", "0 for unknown"),
    in_kernel('ptx.var("global", u32, "x", size=2, init=[1, 2, 3])  # <-', "DirectiveError", "initialiser 3"),
)

FUNCTIONS = (
    of_module("@m.entry  # <-\ndef k(): ptx.ret()", "OperandError", "no name for", '@m.entry("k")'),
    of_module('@m.entry("my kernel")  # <-\ndef k(): ptx.ret()', "OperandError", "'my kernel' is no name"),
    of_module('m.entry("k", ["X"])  # <-', "OperandError", "no list of parameters", "ptx.parameter"),
    of_module('m.func("f", m.param("x", b32))  # <-', "OperandError", "no list of parameters"),
    of_module('m.func("f", [], m.param("x", b32))  # <-', "OperandError", "returns=", "no list of parameters"),
    of_module('m.entry("k", returns=[m.param("x", b32)])  # <-', "OperandError", "an entry returns nothing", "m.func"),
    of_module('m.entry("k")  # <-', "ControlFlowError", "'k' has a header and no body", "decorator"),
    of_module('m.entry("k")(lambda: None)\nm.entry("k")  # <-', "DuplicateNameError", "a .entry 'k' already"),
    of_module(
        'define = m.entry("k")\ndefine(lambda: None)\ndefine(lambda: None)  # <-',
        *("DuplicateNameError", "'k' has a body already"),
    ),
    of_module('@m.entry("k")  # <-\ndef k(x): ptx.ret()', "CallError", "1 arguments, the function 0 parameters"),
    of_module('@m.entry("k", [u32, u32])  # <-\ndef k(x, *more, y): ptx.ret()', "CallError", "ld.param"),
    of_module('@m.entry("k", [u32, u32])  # <-\ndef k(x): ptx.ret()', "CallError", "one argument for each parameter"),
    of_module('@m.entry("k")  # <-\ndef k(*, x): ptx.ret()', "CallError", "parameters' names, or of nothing"),
    of_module('m.entry("k", [u32, "u32"])  # <-', "OperandError", "no list of parameters"),
    of_module('@m.entry("k")  # <-\ndef k(): yield', "CallError", "generator", "no yield"),
    of_module('@m.entry("k")  # <-\n@kernel\ndef k(): ptx.ret()', "CallError", "a kernel by itself", "@kernel away"),
    of_module('@m.entry("k")\ndef k():\n    return 3  # <-', "ReturnedValueError", "returns 3", "st.param"),
    of_module('m.entry("k", maxntid=0)  # <-', "DirectiveError", "numbers of .maxntid are positive"),
    of_module('m.entry("k", maxntid=(1, 2, 3, 4))  # <-', "DirectiveError", "1 to 3 numbers"),
    of_module('m.entry("k", maxtnid=128)  # <-', "KeywordError", "'maxtnid'", "maxntid"),
    of_module('m.entry("k", noreturn=True)  # <-', "DirectiveError", ".noreturn goes with .func"),
    of_module('m.entry("k", pragma=3)  # <-', "OperandError", "is text, not 3"),
    of_module('m.entry("k", directives=["noreturn"])  # <-', "OperandError", "no pair"),
    of_module('m.entry("k", brace="{")  # <-', "OperandError", "brace='{'", "white space"),
    of_module('m.func("f", linking="public")  # <-', "OperandError", "none of functions", "weak"),
    of_module('m.func("f", linking="weak", visible=True)  # <-', "OperandError", "not both"),
    of_module(
        'm.declare("func", "f", [m.param("x", b32), m.param("x", b32)])  # <-',
        *("DuplicateNameError", "two parameters are called 'x'"),
    ),
    of_module('m.declare("kernel", "k")  # <-', "OperandError", "no kind of function", "entry"),
    of_module('m.declare("entry", "k", returns=[m.param("x", b32)])  # <-', "OperandError", "returns nothing"),
    of_module('m.param(u32, "x")  # <-', "UnknownTypeError", "'x'", "pyptx.types"),
    of_module('m.param("x", u64, ptr="globl")  # <-', "OperandError", "ptr='globl'", "global"),
    of_module('m.param("x", u64, ptr_align=16)  # <-', "OperandError", "ptr_align", "ptr=True"),
    of_module('m.entry("k", [m.param("x", b32, space="reg")])  # <-', "DirectiveError", "parameter"),
    in_body('ptx.parameter("x", u32, space="shared")  # <-', "OperandError", "param or reg"),
    of_module('m.alias("f", "2g")  # <-', "OperandError", "'2g' is no name of a function"),
)

DIRECTIVES = (
    of_module('m.file("a.cu", 1)  # <-', "OperandError", "'a.cu' is no file index", "count from 1"),
    of_module('m.file(1, "a.cu")\nm.file(1, "b.cu")  # <-', "DuplicateNameError", "a file 1 already", "'b.cu'"),
    of_module('m.file(1, "a.cu", size=3)  # <-', "OperandError", "must be numbers, a timestamp first"),
    of_module("m.pragma()  # <-", "OperandError", "a pragma has a text"),
    of_module("m.pragma('say \"hi\"')  # <-", "OperandError", "no escapes"),
    of_module('m.directive(".maxnreg", 32)  # <-', "OperandError", "without its dot"),
    of_module('m.section("debug_str")  # <-', "OperandError", "no name of a section", '".debug_str"'),
    of_module(
        'm.section(".debug_str")  # <-', "ControlFlowError", "begun and not ended", 'with m.section(".debug_str")'
    ),
    of_module('with m.section(".debug_str"):  # <-\n    m.ptx()', "ControlFlowError", "not ended"),
    of_module('with m.section(".debug_str"):\n    m.data(b8, 256)  # <-', "DirectiveError", "out of range for .b8"),
    of_module('with m.section(".debug_str"):\n    m.data(u8, 1)  # <-', "OperandError", "no data of type u8", "b8"),
    of_module('with m.section(".debug_str"):\n    m.data(b8)  # <-', "OperandError", "a value at least"),
    of_module(
        'with m.section(".debug_str"):\n    m.lines(b8, 1, b32)  # <-', "OperandError", "no value stands behind b32"
    ),
    of_module('with m.section(".debug_str"):\n    m.lines(b8, 1, 256)  # <-', "DirectiveError", "out of range for .b8"),
    of_module('with m.section(".debug_str"):\n    m.lines(b8, 1.5)  # <-', "OperandError", "1.5 is no constant"),
    of_module('with m.section(".debug_str"):\n    m.label("a b")  # <-', "OperandError", "'a b' is no name of a label"),
    of_module('with m.section(".debug_str"):\n    m.entry("k")  # <-', "ControlFlowError", "data and labels only"),
    of_module(
        'with m.section(".debug_str"):\n    m.label("x")\n    m.label("x")  # <-', "DuplicateNameError", "label 'x'"
    ),
    of_module("m.data(b8, 1)  # <-", "ControlFlowError", "no section is open", "m.section"),
    of_module('m.written(lead="ret;")  # <-', "OperandError", "not white space and comments"),
    of_module('m.written(spelling=\'.pragma "b";\')\nm.pragma("nounroll")  # <-', "SpellingError", "another statement"),
    of_module('m.written(lead=" ")\nm.written(lead=" ")  # <-', "ControlFlowError", "no statement has come"),
    of_module("m.written(spelling='.pragma \"b\";')\nm.ptx()  # <-", "ControlFlowError", "no statement has come"),
    of_module(
        'm.entry("k")(lambda: None)\nm.empty()\nm.entry("open")  # <-\nm.module()', "ControlFlowError", "no body"
    ),
    in_body("ptx.pragma(3)  # <-", "OperandError", "is text, not 3"),
    in_body("ptx.comment(3)  # <-", "OperandError", "a comment is text"),
    in_body('ptx.file_(1, "a.cu")  # <-', "DirectiveError", "holds no .file", "m.file"),
    in_kernel('ptx.file_(1, "a.cu")\nptx.file_(1, "b.cu")  # <-', "DuplicateNameError", "file 1 is 'a.cu'"),
    in_kernel("ptx.loc(1, 2, 3)  # <-", "OperandError", "there is no file 1", "ptx.file_(1"),
    in_body('ptx.loc("a.cu", 2, 3)  # <-', "OperandError", "three numbers", "a line"),
    in_body("ptx.loc(1, 2, 3, inlined_at=(1, 2, 3))  # <-", "OperandError", "go together"),
    in_body('ptx.loc(1, 2, 3, inlined_at=3, function_name="f")  # <-', "OperandError", "three numbers"),
    in_body("ptx.loc(1, 2, 3, inlined_at=(1, 2, 3), function_name=3)  # <-", "OperandError", "no label"),
    in_body('ptx.directive("max nreg", 3)  # <-', "OperandError", "no name of a directive"),
    in_body('ptx.directive("maxnreg", "a b")  # <-', "OperandError", "'a b' is no value"),
    in_body("ptx.empty(3)  # <-", "CallError", "too many positional arguments", "ptx.empty()"),
)

REGISTERS = (
    outside('reg.bank("%r", b32, 4)  # <-', "NoTraceError", "reg.bank", "module()"),
    in_body('reg.bank("%q", b32, 0)  # <-', "OperandError", "at least one register"),
    in_body('reg.bank("%q", 4, b32)  # <-', "OperandError", "not b32", 'reg.bank("%r", b32, 8)'),
    in_body('reg.bank("%r", b32, 2)  # <-', "DuplicateNameError", "'%r0' is taken"),
    in_body('reg.bank("%q", pred, 2, vector=2)  # <-', "RegisterTypeError", "single registers"),
    in_body("ptx.inst.mov.b32(r[4], 1)  # <-", "RegisterIndexError", "there are 4", "the last one is 3"),
    in_body("r[0] = rd[0]  # <-", "RegisterTypeError", "b64 register into a b32", "ptx.cvt"),
    in_body('reg.declare(b32, "%a", "%a")  # <-', "DuplicateNameError", "'%a' is taken"),
    in_body('reg.declare("%a", b32)  # <-', "OperandError", "b32 names no register"),
    in_body('reg.declare(b32, ["%a", "%b"])  # <-', "OperandError", "at least one register"),
    in_body("reg.declare(b32, 4)  # <-", "OperandError", "4 names no register", '("%b", 8)'),
    in_body("reg.declare(b32)  # <-", "OperandError", "needs a name"),
    in_body("ptx.inst.setp.eq.u32(reg.pair(p[0], 3), r[0], 1)  # <-", "InstructionUseError", "`%p0|3`"),
    in_body("ptx.inst.ld.global_.u32(r[0], ptx.addr(rd[0], r[1]))  # <-", "OperandError", "not a register (%r1)"),
    in_body('ptx.tensor_addr("map")  # <-', "OperandError", "coordinates", "[x, y]"),
    in_body("ptx.unified(3.5)  # <-", "OperandError", "3.5 is no address", "ptx.addr"),
    in_body("ptx.open_scope()  # <-", "ControlFlowError", "not closed", "ptx.close_scope()"),
    in_body("ptx.close_scope()  # <-", "ControlFlowError", "no scope is open", "ptx.open_scope()"),
    in_body("ptx.scope()  # <-", "ControlFlowError", "alone does nothing", "with ptx.scope(…)"),
    in_body("with ptx.scope:  # <-\n    ptx.ret()", "CallError", "not called", "with ptx.scope():"),
    in_body("with ptx.scope():  # <-\n    ptx.close_scope()", "ControlFlowError", "another brace than its own"),
    in_body("with ptx.scope():  # <-\n    ptx.open_scope()", "ControlFlowError", "leaves one open"),
    in_body(
        'with ptx.scope():\n    q = reg.bank("%q", b32, 1)\nq[0] = 1  # <-', "HiddenRegisterError", "scope is closed"
    ),
)

CALLS = (
    in_body('ptx.call("g", rd[0])  # <-', "OperandError", "is no list", "args=[…]"),
    in_body('ptx.call("g", ["x"], "y")  # <-', "OperandError", "returns='y' is no list"),
    in_body("ptx.call(3)  # <-", "InstructionUseError", "the name of a function"),
    in_body("ptx.call(rd[0], [rd[1]])  # <-", "InstructionUseError", "label of a .callprototype"),
    in_body("ptx.callprototype()  # <-", "ControlFlowError", "behind the label", "ptx.label(name)"),
    in_body('ptx.label("l")\nptx.callprototype(["x"])  # <-', "OperandError", "no list of parameters"),
    in_body('ptx.label("l")\nptx.callprototype(noretrn=True)  # <-', "KeywordError", "noreturn"),
    in_body('ptx.calltargets("g")  # <-', "ControlFlowError", "behind the label"),
    in_body('ptx.label("l")\nptx.calltargets()  # <-', "OperandError", "one name at least"),
    in_body('ptx.label("l")\nptx.calltargets(3)  # <-', "OperandError", "a function has a name, not 3"),
    in_body('ptx.label("l")\nptx.branchtargets("nowhere")  # <-', "UndefinedLabelError", "'nowhere'", "ptx.label"),
    in_body('ptx.label("l")\nptx.branchtargets(["a", "b"])  # <-', "OperandError", "a label has a name"),
    in_body('ptx.inst.brx.idx(r[0], "nowhere")  # <-', "UndefinedLabelError", "'nowhere'"),
)

WRITTEN = (
    in_body('ptx.written(lead="x")  # <-', "OperandError", "white space and comments"),
    in_body("ptx.written(spelling=5)  # <-", "OperandError", "is text, not 5"),
    in_body('ptx.written(spelling="ret.uni;")\nptx.ret()  # <-', "SpellingError", "the statement is: ret;"),
    in_body('ptx.written(spelling="ret;")\nptx.open_scope()  # <-', "ControlFlowError", "only its lead"),
    in_body('ptx.written(lead=" ")\nptx.written(lead=" ")  # <-', "ControlFlowError", "no statement has come"),
    in_body("with ptx.expr(temps=r[0]):  # <-\n    r[1] = r[2] + 1", "OperandError", "no list", "with the comma"),
    in_body("with ptx.expr(temps=(3,)):  # <-\n    r[1] = r[2] + 1", "OperandError", "3 cannot hold a temporary"),
    in_body("with ptx.expr(temps=(r[0],)):  # <-\n    r[1] = r[2] + 1", "OperandError", "left over: %r0"),
    in_body("with ptx.expr(temps=()):\n    r[1] = (r[2] + 1) * 3  # <-", "OperandError", "no temporary left"),
    in_body("ptx.inst.mov.b32(..., r[2])  # <-", "OperandError", "next temporary", "none is open"),
    in_body("with ptx.expr(temps=()):\n    ptx.inst.mov.b32(..., r[2])  # <-", "OperandError", "no temporary left"),
    in_body("ptx.expr(temps=(r[0],))  # <-\nr[1] = r[2]", "ControlFlowError", "alone does nothing"),
    in_body('with ptx.expr(spelling="add.s32"):  # <-\n    r[1] = r[2] + 1', "OperandError", "spelling={u32"),
    in_body("with ptx.expr(spelling={'b32': 'add.s32'}):  # <-\n    r[1] = r[2] + 1", "UnknownTypeError", "'b32'"),
    in_body("with ptx.expr(spelling={b32: 'ad.s32'}):  # <-\n    r[1] = r[2] + 1", "OperandError", "no operator emits"),
    in_kernel(
        "with ptx.asm_region():\n    with ptx.asm_region():  # <-\n        ptx.trap()", "ControlFlowError", "nest"
    ),
    in_kernel("ptx.asm_region()  # <-", "ControlFlowError", "alone does nothing"),
    in_kernel("with ptx.asm_region(begin=3):  # <-\n    ptx.trap()", "OperandError", "a comment is text"),
    in_kernel("with ptx.asm_region:  # <-\n    ptx.trap()", "CallError", "with ptx.asm_region():"),
)

STRUCTURES = (
    in_kernel('ptx.label("a b")  # <-', "OperandError", "'a b' is no name of a label"),
    in_kernel('ptx.label("x")\nptx.label("x")  # <-', "DuplicateNameError", "'x' is defined already"),
    in_kernel('ptx.bra("nowhere")  # <-', "UndefinedLabelError", "'nowhere'", "ptx.label('nowhere')"),
    in_kernel("ptx.bra(3)  # <-", "OperandError", "a label has a name, not 3"),
    in_kernel("with ptx.if_(p[0], label=3):  # <-\n    ptx.trap()", "OperandError", "a label has a name"),
    in_kernel("with ptx.if_(p[0], define_label=False):  # <-\n    ptx.trap()", "OperandError", "needs its name"),
    in_kernel(
        'with ptx.if_(p[0], label="out", define_label=False):  # <-\n    ptx.trap()', "UndefinedLabelError", "'out'"
    ),
    in_kernel(
        'with ptx.if_(p[0], label="l", define_label=False):\n    ptx.trap()\nwith ptx.else_():  # <-\n    ptx.trap()',
        *("ControlFlowError", "stands elsewhere"),
    ),
    in_kernel("with ptx.else_():  # <-\n    ptx.trap()", "ControlFlowError", "without ptx.if_"),
    in_kernel(
        'with ptx.if_(p[0]):\n    ptx.trap()\nwith ptx.elif_(p[1], end_label="a"):\n    r[0] = 1\n'
        'with ptx.else_(end_label="b"):  # <-\n    ptx.trap()',
        *("ControlFlowError", "the same end_label"),
    ),
    in_kernel("with ptx.elif_(p[0]):  # <-\n    ptx.trap()", "ControlFlowError", "without ptx.if_"),
    in_kernel('with ptx.loop("x", end_label="x"):  # <-\n    ptx.break_()', "DuplicateNameError", "'x' is defined"),
    in_kernel('with ptx.loop("x", start_label="y"):  # <-\n    ptx.trap()', "UndefinedLabelError", "'y'"),
    in_kernel('with ptx.loop("x", start_label="a b"):  # <-\n    ptx.trap()', "OperandError", "'a b' is no name"),
    in_kernel('with ptx.loop("x", define_end=False):  # <-\n    ptx.trap()', "OperandError", "needs its name"),
    in_kernel("with ptx.while_(3):  # <-\n    ptx.trap()", "OperandError", "takes a predicate"),
    in_kernel("with ptx.while_(p[0]):  # <-\n    ptx.trap()", "ControlFlowError", "never changes"),
    in_kernel("with ptx.predicated(3):  # <-\n    ptx.trap()", "OperandError", "takes a predicate"),
    in_kernel("with ptx.predicated(r[0]):  # <-\n    ptx.trap()", "RegisterTypeError", "takes a predicate"),
    in_kernel("with ptx.predicated(p[0]):\n    ptx.trap(pred=p[1])  # <-", "ControlFlowError", "has a guard already"),
    in_kernel('with ptx.predicated(p[0]):\n    ptx.label("x")  # <-', "ControlFlowError", "'x' is a label"),
    in_kernel(
        "with ptx.predicated(p[0]):\n    with ptx.scope():  # <-\n        ptx.trap()", "ControlFlowError", "a scope"
    ),
    in_kernel("ptx.predicated(p[0])  # <-", "ControlFlowError", "alone does nothing"),
    in_kernel('with ptx.block("a b"):  # <-\n    ptx.trap()', "OperandError", "'a b' is no name"),
    in_kernel('with ptx.block("x"):\n    ptx.break_()  # <-', "ControlFlowError", "outside a loop"),
    in_kernel('with ptx.block("x"):\n    ptx.break_("y")  # <-', "ControlFlowError", "is named 'y'"),
    in_kernel('with ptx.block("x"):\n    ptx.continue_("x")  # <-', "ControlFlowError", "runs once", "ptx.break_"),
    in_kernel('ptx.block("x")  # <-', "ControlFlowError", "alone does nothing"),
    in_kernel("ptx.continue_()  # <-", "ControlFlowError", "outside a loop"),
)

LOOPS = (
    in_kernel("ptx.range_(8)  # <-", "ControlFlowError", "alone does nothing", "for i in ptx.range_"),
    in_kernel("with ptx.range_(8):  # <-\n    ptx.trap()", "CallError", "no block", "for i in ptx.range_"),
    in_kernel("for i in ptx.range_(0, 8, 0.5):  # <-\n    ptx.trap()", "OperandError", "step=0.5", "whole numbers"),
    in_kernel("for i in ptx.range_(0, 8, 0):  # <-\n    ptx.trap()", "OperandError", "never end", "ptx.loop"),
    in_kernel("for i in ptx.range_(8, counter=3):  # <-\n    ptx.trap()", "OperandError", "counter=3 is no register"),
    in_kernel("for i in ptx.range_(8, pred=r[0]):  # <-\n    ptx.trap()", "RegisterTypeError", "no predicate"),
    in_kernel("for i in ptx.range_(8, dtype='u32'):  # <-\n    ptx.trap()", "UnknownTypeError", "'u32'"),
    in_kernel("for i in ptx.range_(8, dtype=f32):  # <-\n    ptx.trap()", "RegisterTypeError", "not in f32"),
    in_kernel("for i in ptx.range_(8, label='a b'):  # <-\n    ptx.trap()", "OperandError", "'a b' is no name"),
    in_kernel("for i in ptx.range_(8, spelling=3):  # <-\n    ptx.trap()", "OperandError", "spelling is text, not 3"),
    in_kernel("for i in ptx.range_(8, spelling='mul.lo.s32'):  # <-\n    ptx.trap()", "OperandError", "add or sub"),
    in_kernel("for i in ptx.range_(8, spelling='setp.eq.s32'):  # <-\n    ptx.trap()", "OperandError", "polarity"),
    in_kernel(
        "for i in ptx.range_(0, 7, 2, spelling='setp.ne.s32'):  # <-\n    ptx.trap()",
        *("OperandError", "never equals its stop"),
    ),
    in_kernel("for i in ptx.range_(8, tested='middle'):  # <-\n    ptx.trap()", "OperandError", 'tested="top"'),
    in_kernel("for i in ptx.range_(8, unroll=2):  # <-\n    ptx.trap()", "CallError", "'unroll'"),
)

UNROLLED = (
    in_kernel("ptx.kloop(r[0], unroll=0, body=lambda: None)  # <-", "OperandError", "no positive number", "unroll=1"),
    in_kernel("ptx.kloop('8', unroll=2, body=lambda: None)  # <-", "OperandError", "neither a count nor a register"),
    in_kernel("ptx.kloop(8, unroll=2, body=3)  # <-", "CallError", "no function without arguments"),
    in_kernel("ptx.kloop(r[0], unroll=2, body=lambda i: None)  # <-", "CallError", "no function without arguments"),
    in_kernel("ptx.kloop(p[0], unroll=2, body=lambda: None)  # <-", "RegisterTypeError", "counts in integers"),
    in_kernel(
        "ptx.kloop(r[0], unroll=2, body=lambda: None, end_label='a b')  # <-", "OperandError", "'a b' is no name"
    ),
)

WAITS = (
    in_kernel('ptx.mbarrier.wait(full[0], 0, form="spin")  # <-', "OperandError", "no way to wait", "scoped_done"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, form="poll")  # <-', "OperandError", "into a register", "result="),
    in_kernel('ptx.mbarrier.wait(full[0], 0, done="P1")  # <-', "OperandError", "declares no predicate"),
    in_kernel("ptx.mbarrier.wait(full[0], 0, done=r[0])  # <-", "InstructionUseError", ".pred register"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, past_label="D")  # <-', "OperandError", "names nothing", "scoped_done"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, label="a b")  # <-', "OperandError", "'a b' is no name"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, form="skip")  # <-', "OperandError", "with pred="),
    in_kernel('ptx.mbarrier.wait(full[0], 0, form="done", pred=p[0])  # <-', "OperandError", "without pred="),
    in_kernel('ptx.mbarrier.wait(full[0], 0, poll="try")  # <-', "OperandError", "try_wait"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, sem="acquire")  # <-', "OperandError", "go together"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, space="global")  # <-', "OperandError", "shared::cta"),
    in_kernel("ptx.mbarrier.wait(full[0], 0, loc=(1, 20))  # <-", "OperandError", "no place in a source"),
    in_kernel(
        'ptx.mbarrier.wait(full[0], 0, form="poll", result=r[0], selp="set.b32")  # <-',
        *("OperandError", "spells no selp", "selp.b32"),
    ),
)

MISUSES = (
    *(*HEAD, *VARIABLES, *FUNCTIONS, *DIRECTIVES, *REGISTERS),
    *(*CALLS, *WRITTEN, *STRUCTURES, *LOOPS, *UNROLLED, *WAITS),
)
