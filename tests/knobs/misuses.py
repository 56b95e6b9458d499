"""Common mistakes with each knob (function that emits exact PTX): wrong place, repeated or early call, wrong argument.

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
    """A program with a misuse, and the error that it must raise."""

    source: str
    told: str
    words: tuple[str, ...]


def outside(source: str, told: str, *words: str) -> Misuse:
    """Return a program that misuses a knob (function that emits exact PTX) outside any trace."""
    return Misuse(dedent(source).strip() + "\n", told, words)


def of_module(source: str, told: str, *words: str) -> Misuse:
    """Return a program that misuses a knob (function that emits exact PTX) while it builds a module."""
    return Misuse(MODULE + dedent(source).strip() + "\nm.ptx()\n", told, words)


def in_body(source: str, told: str, *words: str) -> Misuse:
    """Return a program with a misuse in the body of a module's function; register groups are `p`, `r` and `rd`."""
    banks = 'p, r, rd = reg.bank("%p", pred, 4), reg.bank("%r", b32, 4), reg.bank("%rd", b64, 4)\n'
    body = indent(banks + dedent(source).strip(), "    ")
    return Misuse(f'{MODULE}@m.func("f")\ndef f():\n{body}\n', told, words)


def in_kernel(source: str, told: str, *words: str) -> Misuse:
    """Return a program with a misuse in a kernel, which has registers `p` and `r`, and an mbarrier `full`."""
    registers = "p, r, full = reg.array(pred, 4), reg.array(u32, 4), smem.mbarrier(1)\n"
    body = indent(registers + dedent(source).strip(), "    ")
    return Misuse(f"@kernel\ndef k():\n{body}\n    ptx.ret()\nk.ptx()\n", told, words)


HEAD = (
    outside('module(version="8.7")  # <-', "OperandError", "must be a pair of numbers", "version=(8, 7)"),
    outside('m = module()\nm.version("8", "7")  # <-', "OperandError", "pair of numbers", "(8, 7)"),
    outside("m = module()\nm.version(8, 9)  # <-", "DirectiveError", "unknown PTX version 8.9", "8.8"),
    outside('module(version=(8, 7), target="sm_42")  # <-', "ArchError", "unknown target 'sm_42'", "unchecked=True"),
    outside(
        'module(version=(8, 7), target="sm_90a", tail="ret;")  # <-',
        "OperandError",
        "tail must be whitespace and comments",
        "whitespace",
    ),
    outside('module(version=(8, 7), style="nvccc")  # <-', "OperandError", "unknown style 'nvccc'", "nvcc"),
    of_module('m.entry("k")  # <-\nm.described()', "ControlFlowError", "a header but no body"),
    outside("m = module()\nm.cubin()  # <-", "ArchError", "needs a .target", "m.target"),
    outside("m = module()\nm.sass()  # <-", "ArchError", "needs a .target", "m.target"),
    outside("m = module()\nm.resources()  # <-", "ArchError", "needs a .target", "m.target"),
    of_module("m.target(90)  # <-", "OperandError", "a target must be a string, got 90"),
    of_module("m.target()  # <-", "OperandError", "a target needs a name"),
    outside('m = module(version=(7, 0))\nm.target("sm_90a")  # <-', "DirectiveError", "sm_90a needs PTX"),
    outside('m = module(version=(8, 7))\nm.target("sm_90a", "debg")  # <-', "DirectiveError", "debg"),
    outside("m = module()\nm.address_size(16)  # <-", "OperandError", "32 or 64", "address_size=64"),
    of_module("m.address_size(32)  # <-", "DirectiveError", "duplicate"),
    outside('m = module(target="sm_90a")\nm.entry("k")  # <-', "ArchError", "needs .version", "unchecked=True"),
    of_module("m.comment(3)  # <-", "OperandError", "a comment must be a string, got 3"),
    of_module('m.globl("x", u32)  # <-', "UnknownNameError", "no 'globl'", "global_"),
)

VARIABLES = (
    of_module('m.global_("lut", u32, 4, init=[1, 2, 3, 4, 5])  # <-', "DirectiveError", "expected 4", "got 5"),
    of_module('m.var("const", "lut", u32, (2, 2), init=[1, 2, 3])  # <-', "DirectiveError", "expected 2"),
    of_module('m.global_("x", u32, init=[1])  # <-', "DirectiveError", "more braces than dimensions"),
    of_module('m.global_("x", u32, 2, init=7)  # <-', "DirectiveError", "is an array"),
    of_module(
        'm.global_("x", u32, 2, init=[None, 1])  # <-', "OperandError", "expected an initial value, got None", "write 0"
    ),
    of_module('m.global_("x", b8, 4, init=b"abcd")  # <-', "OperandError", "bytes", "list(data)"),
    of_module('m.global_("x", u8, init=256)  # <-', "OperandError", "256 does not fit"),
    of_module('m.shared("x", u32, init=1)  # <-', "DirectiveError", "can't be initialized"),
    of_module('m.const("2x", u32)  # <-', "OperandError", "invalid name '2x'", "without a leading digit"),
    of_module('m.const(u32, "x")  # <-', "OperandError", "the name of a variable must be a string, got u32"),
    of_module('m.var("globl", "x", u32)  # <-', "OperandError", "invalid state space", "global"),
    of_module('m.var("param", "x", u32)  # <-', "DirectiveError", "declared outside a function"),
    of_module('m.global_("x", pred)  # <-', "DirectiveError", ".pred is allowed only for scalar registers"),
    of_module('m.global_("x", u32, [2, 2])  # <-', "OperandError", "must be a number of elements", "tuple"),
    of_module('m.global_("x", u32, align=3)  # <-', "OperandError", "power of two"),
    of_module('m.global_("x", u32, vector=3)  # <-', "OperandError", "2, 4 or 8"),
    of_module('m.global_("x", u32, count=2, init=1)  # <-', "DirectiveError", "several variables"),
    of_module('m.global_("x", "texref", init={"filter": "nearest"})  # <-', "DirectiveError", "no field 'filter'"),
    of_module('m.global_("x", "texref", init={"filter_mode": "closest"})  # <-', "DirectiveError", "nearest or linear"),
    of_module('m.global_("x", u32, init={"filter_mode": "nearest"})  # <-', "DirectiveError", "initializer"),
    of_module('m.global_("x", u32, attributes="managed")  # <-', "OperandError", "attributes=['managed']"),
    of_module('m.global_("x", u32, attributes=["manged"])  # <-', "OperandError", "unknown attribute", "managed"),
    of_module(
        'm.global_("x", u32, also=["y"])  # <-', "OperandError", "must be a list of declarators", "ptx.declarator"
    ),
    of_module('m.global_("x", u32, also=[m.declarator("x")])  # <-', "DuplicateNameError", "'x'"),
    of_module('m.declarator("a b")  # <-', "OperandError", "invalid name 'a b'"),
    of_module('m.global_("x", u32)\nm.shared("x", u32)  # <-', "DuplicateNameError", "already has a .global 'x'"),
    of_module('m.const("x", u32, linking="public")  # <-', "OperandError", "linking='public'", "extern"),
    of_module('m.const("x", u32, initial=1)  # <-', "KeywordError", "'initial'", "init"),
    in_body('ptx.var("shared", "x", u32)  # <-', "UnknownTypeError", "'x'", "pyptx.types"),
    in_body('ptx.var("shared", u32, "x", init=1)  # <-', "DirectiveError", "can't be initialized"),
    in_body(
        'ptx.var("shared", u32, "x")\nptx.var("shared", u32, "x")  # <-', "DuplicateNameError", "'x' is already used"
    ),
    in_body(
        'ptx.declarator("x", size=2.5)  # <-', "OperandError", "must be a number of elements, got 2.5", "0 for unknown"
    ),
    in_kernel('ptx.var("global", u32, "x", size=2, init=[1, 2, 3])  # <-', "DirectiveError", "got 3"),
)

FUNCTIONS = (
    of_module("@m.entry  # <-\ndef k(): ptx.ret()", "OperandError", "needs a name, got", '@m.entry("k")'),
    of_module('@m.entry("my kernel")  # <-\ndef k(): ptx.ret()', "OperandError", "invalid name 'my kernel'"),
    of_module('m.entry("k", ["X"])  # <-', "OperandError", "must be a list of parameters", "ptx.parameter"),
    of_module('m.func("f", m.param("x", b32))  # <-', "OperandError", "must be a list of parameters"),
    of_module('m.func("f", [], m.param("x", b32))  # <-', "OperandError", "returns=", "must be a list of parameters"),
    of_module(
        'm.entry("k", returns=[m.param("x", b32)])  # <-', "OperandError", "an entry has no return values", "m.func"
    ),
    of_module('m.entry("k")  # <-', "ControlFlowError", "'k' has a header but no body", "decorator"),
    of_module('m.entry("k")(lambda: None)\nm.entry("k")  # <-', "DuplicateNameError", "already has a .entry 'k'"),
    of_module(
        'define = m.entry("k")\ndefine(lambda: None)\ndefine(lambda: None)  # <-',
        *("DuplicateNameError", "'k' already has a body"),
    ),
    of_module('@m.entry("k")  # <-\ndef k(x): ptx.ret()', "CallError", "1 argument, expected 0"),
    of_module('@m.entry("k", [u32, u32])  # <-\ndef k(x, *more, y): ptx.ret()', "CallError", "ld.param"),
    of_module(
        '@m.entry("k", [u32, u32])  # <-\ndef k(x): ptx.ret()',
        "CallError",
        "one argument for each return value and parameter",
    ),
    of_module(
        '@m.entry("k")  # <-\ndef k(*, x): ptx.ret()',
        "CallError",
        "must be a function, with arguments for the parameter names or none",
    ),
    of_module('m.entry("k", [u32, "u32"])  # <-', "OperandError", "must be a list of parameters"),
    of_module('@m.entry("k")  # <-\ndef k(): yield', "CallError", "generator", "without yield"),
    of_module('@m.entry("k")  # <-\n@kernel\ndef k(): ptx.ret()', "CallError", "is a kernel", "remove @kernel"),
    of_module('@m.entry("k")\ndef k():\n    return 3  # <-', "ReturnedValueError", "returns 3", "st.param"),
    of_module('m.entry("k", maxntid=0)  # <-', "DirectiveError", ".maxntid must be positive"),
    of_module('m.entry("k", maxntid=(1, 2, 3, 4))  # <-', "DirectiveError", "1 to 3 numbers"),
    of_module('m.entry("k", maxtnid=128)  # <-', "KeywordError", "'maxtnid'", "maxntid"),
    of_module('m.entry("k", noreturn=True)  # <-', "DirectiveError", ".noreturn is allowed only on .func"),
    of_module('m.entry("k", pragma=3)  # <-', "OperandError", "must be a string, got 3"),
    of_module('m.entry("k", directives=["noreturn"])  # <-', "OperandError", "must be (name, values) pairs"),
    of_module('m.entry("k", brace="{")  # <-', "OperandError", "brace must be whitespace and comments", "whitespace"),
    of_module('m.func("f", linking="public")  # <-', "OperandError", "of a function", "weak"),
    of_module('m.func("f", linking="weak", visible=True)  # <-', "OperandError", "contradicts linking"),
    of_module(
        'm.declare("func", "f", [m.param("x", b32), m.param("x", b32)])  # <-',
        *("DuplicateNameError", "duplicate parameter name 'x'"),
    ),
    of_module('m.declare("kernel", "k")  # <-', "OperandError", "invalid kind of function", "entry"),
    of_module('m.declare("entry", "k", returns=[m.param("x", b32)])  # <-', "OperandError", "has no return values"),
    of_module('m.param(u32, "x")  # <-', "UnknownTypeError", "'x'", "pyptx.types"),
    of_module('m.param("x", u64, ptr="globl")  # <-', "OperandError", "ptr='globl'", "global"),
    of_module('m.param("x", u64, ptr_align=16)  # <-', "OperandError", "ptr_align", "ptr=True"),
    of_module('m.entry("k", [m.param("x", b32, space="reg")])  # <-', "DirectiveError", "parameter"),
    in_body('ptx.parameter("x", u32, space="shared")  # <-', "OperandError", "param or reg"),
    of_module('m.alias("f", "2g")  # <-', "OperandError", "invalid name '2g' of a function"),
)

DIRECTIVES = (
    of_module('m.file("a.cu", 1)  # <-', "OperandError", "invalid file index 'a.cu'", "use indices from 1"),
    of_module(
        'm.file(1, "a.cu")\nm.file(1, "b.cu")  # <-', "DuplicateNameError", "file index 1 is already used", "'b.cu'"
    ),
    of_module('m.file(1, "a.cu", size=3)  # <-', "OperandError", ".file needs a numeric timestamp before its size"),
    of_module("m.pragma()  # <-", "OperandError", "a pragma needs a text"),
    of_module("m.pragma('say \"hi\"')  # <-", "OperandError", "no escapes"),
    of_module('m.directive(".maxnreg", 32)  # <-', "OperandError", "without its dot"),
    of_module('m.section("debug_str")  # <-', "OperandError", "invalid section name", '".debug_str"'),
    of_module('m.section(".debug_str")  # <-', "ControlFlowError", "is never opened", 'with m.section(".debug_str")'),
    of_module('with m.section(".debug_str"):  # <-\n    m.ptx()', "ControlFlowError", "never opened"),
    of_module('with m.section(".debug_str"):\n    m.data(b8, 256)  # <-', "DirectiveError", "out of range for .b8"),
    of_module(
        'with m.section(".debug_str"):\n    m.data(u8, 1)  # <-', "OperandError", "cannot have data of type u8", "b8"
    ),
    of_module('with m.section(".debug_str"):\n    m.data(b8)  # <-', "OperandError", "at least one value"),
    of_module('with m.section(".debug_str"):\n    m.lines(b8, 1, b32)  # <-', "OperandError", "value follows type b32"),
    of_module('with m.section(".debug_str"):\n    m.lines(b8, 1, 256)  # <-', "DirectiveError", "out of range for .b8"),
    of_module(
        'with m.section(".debug_str"):\n    m.lines(b8, 1.5)  # <-', "OperandError", "expected a constant, got 1.5"
    ),
    of_module(
        'with m.section(".debug_str"):\n    m.label("a b")  # <-', "OperandError", "invalid name 'a b' of a label"
    ),
    of_module('with m.section(".debug_str"):\n    m.entry("k")  # <-', "ControlFlowError", "data and labels only"),
    of_module(
        'with m.section(".debug_str"):\n    m.label("x")\n    m.label("x")  # <-', "DuplicateNameError", "label 'x'"
    ),
    of_module("m.data(b8, 1)  # <-", "ControlFlowError", "no section is open", "m.section"),
    of_module('m.formatted(leading="ret;")  # <-', "OperandError", "must be whitespace and comments"),
    of_module('m.formatted(text=\'.pragma "b";\')\nm.pragma("nounroll")  # <-', "SpellingError", "another statement"),
    of_module('m.formatted(leading=" ")\nm.formatted(leading=" ")  # <-', "ControlFlowError", "no statement follows"),
    of_module("m.formatted(text='.pragma \"b\";')\nm.ptx()  # <-", "ControlFlowError", "no statement follows"),
    of_module(
        'm.entry("k")(lambda: None)\nm.empty()\nm.entry("open")  # <-\nm.module()', "ControlFlowError", "no body"
    ),
    in_body("ptx.pragma(3)  # <-", "OperandError", "must be a string, got 3"),
    in_body("ptx.comment(3)  # <-", "OperandError", "a comment must be a string"),
    in_body('ptx.file_(1, "a.cu")  # <-', "DirectiveError", ".file is not allowed", "m.file"),
    in_kernel(
        'ptx.file_(1, "a.cu")\nptx.file_(1, "b.cu")  # <-',
        "DuplicateNameError",
        "file index 1 is already used for 'a.cu'",
    ),
    in_kernel("ptx.loc(1, 2, 3)  # <-", "OperandError", "unknown file index 1", "ptx.file_(1"),
    in_body('ptx.loc("a.cu", 2, 3)  # <-', "OperandError", "three numbers", "a line"),
    in_body("ptx.loc(1, 2, 3, inlined_at=(1, 2, 3))  # <-", "OperandError", "together"),
    in_body('ptx.loc(1, 2, 3, inlined_at=3, function_name="f")  # <-', "OperandError", "three numbers"),
    in_body("ptx.loc(1, 2, 3, inlined_at=(1, 2, 3), function_name=3)  # <-", "OperandError", "must be a label"),
    in_body('ptx.directive("max nreg", 3)  # <-', "OperandError", "invalid directive name"),
    in_body('ptx.directive("maxnreg", "a b")  # <-', "OperandError", "invalid value 'a b'"),
    in_body("ptx.empty(3)  # <-", "CallError", "too many positional arguments", "ptx.empty()"),
)

REGISTERS = (
    outside('reg.bank("%r", b32, 4)  # <-', "NoTraceError", "reg.bank", "module()"),
    in_body('reg.bank("%q", b32, 0)  # <-', "OperandError", "at least one register"),
    in_body('reg.bank("%q", 4, b32)  # <-', "OperandError", "got b32", 'reg.bank("%r", b32, 8)'),
    in_body('reg.bank("%r", b32, 2)  # <-', "DuplicateNameError", "'%r0' is already used"),
    in_body('reg.bank("%q", pred, 2, vector=2)  # <-', "RegisterTypeError", "cannot be vectors"),
    in_body("ptx.inst.mov.b32(r[4], 1)  # <-", "RegisterIndexError", "out of range", "use at most 3"),
    in_body("r[0] = rd[0]  # <-", "RegisterTypeError", "b64 register to a b32", "ptx.cvt"),
    in_body('reg.declare(b32, "%a", "%a")  # <-', "DuplicateNameError", "'%a' is already used"),
    in_body('reg.declare("%a", b32)  # <-', "OperandError", "invalid register name b32"),
    in_body('reg.declare(b32, ["%a", "%b"])  # <-', "OperandError", "at least one register"),
    in_body("reg.declare(b32, 4)  # <-", "OperandError", "invalid register name 4", '("%b", 8)'),
    in_body("reg.declare(b32)  # <-", "OperandError", "needs a name"),
    in_body("ptx.inst.setp.eq.u32(reg.pair(p[0], 3), r[0], 1)  # <-", "InstructionUseError", "`%p0|3`"),
    in_body("ptx.inst.ld.global_.u32(r[0], ptx.addr(rd[0], r[1]))  # <-", "OperandError", "got register %r1"),
    in_body('ptx.tensor_addr("map")  # <-', "OperandError", "coordinates", "[x, y]"),
    in_body("ptx.unified(3.5)  # <-", "OperandError", "expected an address, got 3.5", "ptx.addr"),
    in_body("ptx.open_scope()  # <-", "ControlFlowError", "not closed", "ptx.close_scope()"),
    in_body("ptx.close_scope()  # <-", "ControlFlowError", "no scope is open", "ptx.open_scope()"),
    in_body("ptx.scope()  # <-", "ControlFlowError", "statement with a body", "with ptx.scope(…)"),
    in_body("with ptx.scope:  # <-\n    ptx.ret()", "CallError", "not called", "with ptx.scope():"),
    in_body("with ptx.scope():  # <-\n    ptx.close_scope()", "ControlFlowError", "unbalanced"),
    in_body("with ptx.scope():  # <-\n    ptx.open_scope()", "ControlFlowError", "unbalanced"),
    in_body(
        'with ptx.scope():\n    q = reg.bank("%q", b32, 1)\nq[0] = 1  # <-', "HiddenRegisterError", "scope is closed"
    ),
)

CALLS = (
    in_body('ptx.call("g", rd[0])  # <-', "OperandError", "must be a list", "args=[…]"),
    in_body('ptx.call("g", ["x"], "y")  # <-', "OperandError", "returns must be a list, got 'y'"),
    in_body("ptx.call(3)  # <-", "InstructionUseError", "the name of a function"),
    in_body("ptx.call(rd[0], [rd[1]])  # <-", "InstructionUseError", "label of a .callprototype"),
    in_body("ptx.callprototype()  # <-", "ControlFlowError", "must follow the label", "ptx.label(name)"),
    in_body('ptx.label("l")\nptx.callprototype(["x"])  # <-', "OperandError", "must be a list of parameters"),
    in_body('ptx.label("l")\nptx.callprototype(noretrn=True)  # <-', "KeywordError", "noreturn"),
    in_body('ptx.calltargets("g")  # <-', "ControlFlowError", "must follow the label"),
    in_body('ptx.label("l")\nptx.calltargets()  # <-', "OperandError", "at least one name"),
    in_body(
        'ptx.label("l")\nptx.calltargets(3)  # <-', "OperandError", "the name of a function must be a string, got 3"
    ),
    in_body('ptx.label("l")\nptx.branchtargets("nowhere")  # <-', "UndefinedLabelError", "'nowhere'", "ptx.label"),
    in_body(
        'ptx.label("l")\nptx.branchtargets(["a", "b"])  # <-', "OperandError", "the name of a label must be a string"
    ),
    in_body('ptx.inst.brx.idx(r[0], "nowhere")  # <-', "UndefinedLabelError", "'nowhere'"),
)

WRITTEN = (
    in_body('ptx.formatted(leading="x")  # <-', "OperandError", "whitespace and comments"),
    in_body("ptx.formatted(text=5)  # <-", "OperandError", "must be a string, got 5"),
    in_body('ptx.formatted(text="ret.uni;")\nptx.ret()  # <-', "SpellingError", "the statement is: ret;"),
    in_body('ptx.formatted(text="ret;")\nptx.open_scope()  # <-', "ControlFlowError", "only the leading trivia"),
    in_body('ptx.formatted(leading=" ")\nptx.formatted(leading=" ")  # <-', "ControlFlowError", "no statement follows"),
    in_body(
        "with ptx.expr(temps=r[0]):  # <-\n    r[1] = r[2] + 1", "OperandError", "must be a list", "with the comma"
    ),
    in_body("with ptx.expr(temps=(3,)):  # <-\n    r[1] = r[2] + 1", "OperandError", "3 cannot be a temporary"),
    in_body("with ptx.expr(temps=(r[0],)):  # <-\n    r[1] = r[2] + 1", "OperandError", "unused temporaries: %r0"),
    in_body(
        "with ptx.expr(temps=()):\n    r[1] = (r[2] + 1) * 3  # <-", "OperandError", "no temporary of this type left"
    ),
    in_body("ptx.inst.mov.b32(..., r[2])  # <-", "OperandError", "next temporary", "none is open"),
    in_body(
        "with ptx.expr(temps=()):\n    ptx.inst.mov.b32(..., r[2])  # <-",
        "OperandError",
        "no temporary of this type left",
    ),
    in_body("ptx.expr(temps=(r[0],))  # <-\nr[1] = r[2]", "ControlFlowError", "statement with a body"),
    in_body('with ptx.expr(spelling="add.s32"):  # <-\n    r[1] = r[2] + 1', "OperandError", "spelling={u32"),
    in_body("with ptx.expr(spelling={'b32': 'add.s32'}):  # <-\n    r[1] = r[2] + 1", "UnknownTypeError", "'b32'"),
    in_body("with ptx.expr(spelling={b32: 'ad.s32'}):  # <-\n    r[1] = r[2] + 1", "OperandError", "no operator emits"),
    in_kernel(
        "with ptx.asm_region():\n    with ptx.asm_region():  # <-\n        ptx.trap()", "ControlFlowError", "nest"
    ),
    in_kernel("ptx.asm_region()  # <-", "ControlFlowError", "statement with a body"),
    in_kernel("with ptx.asm_region(begin=3):  # <-\n    ptx.trap()", "OperandError", "a comment must be a string"),
    in_kernel("with ptx.asm_region:  # <-\n    ptx.trap()", "CallError", "with ptx.asm_region():"),
)

STRUCTURES = (
    in_kernel('ptx.label("a b")  # <-', "OperandError", "invalid name 'a b' of a label"),
    in_kernel('ptx.label("x")\nptx.label("x")  # <-', "DuplicateNameError", "'x' is already defined"),
    in_kernel('ptx.bra("nowhere")  # <-', "UndefinedLabelError", "'nowhere'", "ptx.label('nowhere')"),
    in_kernel("ptx.bra(3)  # <-", "OperandError", "the name of a label must be a string, got 3"),
    in_kernel(
        "with ptx.if_(p[0], label=3):  # <-\n    ptx.trap()", "OperandError", "the name of a label must be a string"
    ),
    in_kernel("with ptx.if_(p[0], define_label=False):  # <-\n    ptx.trap()", "OperandError", "needs a name"),
    in_kernel(
        'with ptx.if_(p[0], label="out", define_label=False):  # <-\n    ptx.trap()', "UndefinedLabelError", "'out'"
    ),
    in_kernel(
        'with ptx.if_(p[0], label="l", define_label=False):\n    ptx.trap()\nwith ptx.else_():  # <-\n    ptx.trap()',
        *("ControlFlowError", "defined elsewhere"),
    ),
    in_kernel("with ptx.else_():  # <-\n    ptx.trap()", "ControlFlowError", "without ptx.if_"),
    in_kernel(
        'with ptx.if_(p[0]):\n    ptx.trap()\nwith ptx.elif_(p[1], end_label="a"):\n    r[0] = 1\n'
        'with ptx.else_(end_label="b"):  # <-\n    ptx.trap()',
        *("ControlFlowError", "the same end_label"),
    ),
    in_kernel("with ptx.elif_(p[0]):  # <-\n    ptx.trap()", "ControlFlowError", "without ptx.if_"),
    in_kernel(
        'with ptx.loop("x", end_label="x"):  # <-\n    ptx.break_()', "DuplicateNameError", "'x' is already defined"
    ),
    in_kernel('with ptx.loop("x", start_label="y"):  # <-\n    ptx.trap()', "UndefinedLabelError", "'y'"),
    in_kernel('with ptx.loop("x", start_label="a b"):  # <-\n    ptx.trap()', "OperandError", "invalid name 'a b'"),
    in_kernel('with ptx.loop("x", define_end=False):  # <-\n    ptx.trap()', "OperandError", "needs a name"),
    in_kernel("with ptx.while_(3):  # <-\n    ptx.trap()", "OperandError", "needs a predicate"),
    in_kernel("with ptx.while_(p[0]):  # <-\n    ptx.trap()", "ControlFlowError", "never changes"),
    in_kernel("with ptx.predicated(3):  # <-\n    ptx.trap()", "OperandError", "needs a predicate"),
    in_kernel("with ptx.predicated(r[0]):  # <-\n    ptx.trap()", "RegisterTypeError", "needs a predicate"),
    in_kernel("with ptx.predicated(p[0]):\n    ptx.trap(pred=p[1])  # <-", "ControlFlowError", "already has a guard"),
    in_kernel('with ptx.predicated(p[0]):\n    ptx.label("x")  # <-', "ControlFlowError", "'x' is a label"),
    in_kernel(
        "with ptx.predicated(p[0]):\n    with ptx.scope():  # <-\n        ptx.trap()", "ControlFlowError", "a scope"
    ),
    in_kernel("ptx.predicated(p[0])  # <-", "ControlFlowError", "statement with a body"),
    in_kernel('with ptx.block("a b"):  # <-\n    ptx.trap()', "OperandError", "invalid name 'a b'"),
    in_kernel('with ptx.block("x"):\n    ptx.break_()  # <-', "ControlFlowError", "outside a loop"),
    in_kernel('with ptx.block("x"):\n    ptx.break_("y")  # <-', "ControlFlowError", "labelled 'y'"),
    in_kernel('with ptx.block("x"):\n    ptx.continue_("x")  # <-', "ControlFlowError", "not a loop", "ptx.break_"),
    in_kernel('ptx.block("x")  # <-', "ControlFlowError", "statement with a body"),
    in_kernel("ptx.continue_()  # <-", "ControlFlowError", "outside a loop"),
)

LOOPS = (
    in_kernel("ptx.range_(8)  # <-", "ControlFlowError", "statement with a body", "for i in ptx.range_"),
    in_kernel(
        "with ptx.range_(8):  # <-\n    ptx.trap()", "CallError", "cannot be used in `with`", "for i in ptx.range_"
    ),
    in_kernel(
        "for i in ptx.range_(0, 8, 0.5):  # <-\n    ptx.trap()",
        "OperandError",
        "step must be an int or a register, got 0.5",
        "pass an integer",
    ),
    in_kernel("for i in ptx.range_(0, 8, 0):  # <-\n    ptx.trap()", "OperandError", "never end", "ptx.loop"),
    in_kernel(
        "for i in ptx.range_(8, counter=3):  # <-\n    ptx.trap()", "OperandError", "counter must be a register, got 3"
    ),
    in_kernel("for i in ptx.range_(8, pred=r[0]):  # <-\n    ptx.trap()", "RegisterTypeError", "must be a predicate"),
    in_kernel("for i in ptx.range_(8, dtype='u32'):  # <-\n    ptx.trap()", "UnknownTypeError", "'u32'"),
    in_kernel("for i in ptx.range_(8, dtype=f32):  # <-\n    ptx.trap()", "RegisterTypeError", "got f32"),
    in_kernel("for i in ptx.range_(8, label='a b'):  # <-\n    ptx.trap()", "OperandError", "invalid name 'a b'"),
    in_kernel(
        "for i in ptx.range_(8, spelling=3):  # <-\n    ptx.trap()", "OperandError", "spelling must be a string, got 3"
    ),
    in_kernel("for i in ptx.range_(8, spelling='mul.lo.s32'):  # <-\n    ptx.trap()", "OperandError", "add or sub"),
    in_kernel("for i in ptx.range_(8, spelling='setp.eq.s32'):  # <-\n    ptx.trap()", "OperandError", "polarity"),
    in_kernel(
        "for i in ptx.range_(0, 7, 2, spelling='setp.ne.s32'):  # <-\n    ptx.trap()",
        *("OperandError", "never reaches its stop exactly"),
    ),
    in_kernel("for i in ptx.range_(8, tested='middle'):  # <-\n    ptx.trap()", "OperandError", 'tested="top"'),
    in_kernel("for i in ptx.range_(8, unroll=2):  # <-\n    ptx.trap()", "CallError", "'unroll'"),
)

UNROLLED = (
    in_kernel(
        "ptx.kloop(r[0], unroll=0, body=lambda: None)  # <-", "OperandError", "must be a positive int", "unroll=1"
    ),
    in_kernel(
        "ptx.kloop('8', unroll=2, body=lambda: None)  # <-", "OperandError", "must be an int or an integer register"
    ),
    in_kernel("ptx.kloop(8, unroll=2, body=3)  # <-", "CallError", "must be a function without arguments"),
    in_kernel(
        "ptx.kloop(r[0], unroll=2, body=lambda i: None)  # <-", "CallError", "must be a function without arguments"
    ),
    in_kernel("ptx.kloop(p[0], unroll=2, body=lambda: None)  # <-", "RegisterTypeError", "needs an integer register"),
    in_kernel(
        "ptx.kloop(r[0], unroll=2, body=lambda: None, end_label='a b')  # <-", "OperandError", "invalid name 'a b'"
    ),
)

WAITS = (
    in_kernel('ptx.mbarrier.wait(full[0], 0, form="spin")  # <-', "OperandError", "unknown form", "scoped_done"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, form="poll")  # <-', "OperandError", "needs result=", "result="),
    in_kernel('ptx.mbarrier.wait(full[0], 0, done="P1")  # <-', "OperandError", "declares no predicate"),
    in_kernel("ptx.mbarrier.wait(full[0], 0, done=r[0])  # <-", "InstructionUseError", ".pred register"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, past_label="D")  # <-', "OperandError", "has no", "scoped_done"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, label="a b")  # <-', "OperandError", "invalid name 'a b'"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, form="skip")  # <-', "OperandError", "with pred="),
    in_kernel('ptx.mbarrier.wait(full[0], 0, form="done", pred=p[0])  # <-', "OperandError", "without pred="),
    in_kernel('ptx.mbarrier.wait(full[0], 0, poll="try")  # <-', "OperandError", "try_wait"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, sem="acquire")  # <-', "OperandError", "together"),
    in_kernel('ptx.mbarrier.wait(full[0], 0, space="global")  # <-', "OperandError", "shared::cta"),
    in_kernel("ptx.mbarrier.wait(full[0], 0, loc=(1, 20))  # <-", "OperandError", "must be a source location"),
    in_kernel(
        'ptx.mbarrier.wait(full[0], 0, form="poll", result=r[0], selp="set.b32")  # <-',
        *("OperandError", "must be an opcode selp.type", "selp.b32"),
    ),
)

MISUSES = (
    *(*HEAD, *VARIABLES, *FUNCTIONS, *DIRECTIVES, *REGISTERS),
    *(*CALLS, *WRITTEN, *STRUCTURES, *LOOPS, *UNROLLED, *WAITS),
)
