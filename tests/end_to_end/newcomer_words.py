"""Beginners' spellings, each with an error that names the right spelling; test cases are as in `bad_inputs`."""

from __future__ import annotations

from .bad_inputs import BadInput, program

PLAIN = """
@kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), grid=1, block=(128, 1, 1))
def k(X, Y):
    ptx.ret()
"""
OPTION = PLAIN.replace("@kernel", "\n@kernel").replace("block=(128, 1, 1))", "block=(128, 1, 1), {})  # <-")


def body(title: str, line: str, error: str, *words: str) -> BadInput:
    """Return a test case with a mistake in a kernel body with registers of several types, shared memory and arrays."""
    source = f"""
@kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), grid=1, block=(128, 1, 1))
def k(X, Y):
    x, u, p = reg.scalar(f32, init=1.0), reg.scalar(u32, init=3), reg.scalar(pred)
    s, t = smem.alloc(f32, 32), smem.alloc(f32, (4, 32), name="stages")
    a, b, d = reg.array(b32, 4), reg.array(b32, 2), reg.array(f32, 4)
    {line}  # <-
    ptx.ret()
k.ptx()
"""
    return program(title, source, error, *words)


def call(title: str, line: str, error: str, *words: str) -> BadInput:
    """Return a test case with a mistake in a call of a kernel."""
    return program(title, f"{PLAIN}\n{line}  # <-", error, *words)


def option(title: str, text: str, error: str, *words: str) -> BadInput:
    """Return a test case with a mistake in the `kernel` decorator."""
    return program(title, OPTION.format(text), error, *words)


CONVENTIONS = (
    body(
        "modifiers appended to a DSL function",
        "ptx.fma.rn.f32(x, x, x, x)",
        "CallError",
        "ptx.inst.fma.rn.f32(x, x, x, x)",
        "ptx.fma(f32, x, x, x, x, rounding='rn')",
    ),
    body(
        "a type appended to a DSL function",
        "ptx.add.u32(u, u, 1)",
        "CallError",
        "ptx.inst.add.u32(u, u, 1)",
        "ptx.add(u32, u, u, 1)",
    ),
    body(
        "a type appended to ptx.mov", "ptx.mov.u32(u, 1)", "CallError", "ptx.inst.mov.u32(u, 1)", "ptx.mov(u32, u, 1)"
    ),
    body(
        "a state space appended to ptx.ld",
        "ptx.ld.global_.f32(x, ptx.addr(X))",
        "CallError",
        "ptx.inst.ld.global_.f32(",
    ),
    body("a comparison appended to ptx.setp", "ptx.setp.lt.u32(p, u, 1)", "CallError", "ptx.inst.setp.lt.u32(p, u, 1)"),
    body(
        "a type appended to ptx.shfl.sync.up",
        "ptx.shfl.sync.up.b32(u, u, 1, 0, -1)",
        "CallError",
        "ptx.inst.shfl.sync.up.b32(u, u, 1, 0, -1)",
    ),
    body(
        "modifiers appended to ptx.mma.sync",
        "ptx.mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32(d, a, b, d)",
        "CallError",
        "ptx.inst.mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32(d, a, b, d)",
    ),
    body("ptx.mma.sync with operands only", "ptx.mma.sync(d, a, b, d)", "CallError", "shape, dtype_d", "d, a, b, c"),
    body(
        "a type among the operands of ptx.inst",
        "ptx.inst.fma.rn.f32(f32, x, x, x, x)",
        "OperandError",
        "write ptx.inst.fma.rn.f32(x, x, x, x)",
    ),
    body(
        "ptx.inst.add with the type as an operand",
        "ptx.inst.add(u32, u, u, 1)",
        "OperandError",
        "ptx.inst.add.u32(u, u, 1)",
        "ptx.add(u32, u, u, 1)",
    ),
    body(
        "a keyword argument passed to ptx.inst",
        "ptx.inst.fma.f32(x, x, x, x, rounding='rn')",
        "CallError",
        "ptx.inst.fma.rn.f32(x, x, x, x)",
        "ptx.fma(f32, x, x, x, x, rounding='rn')",
    ),
    body(
        "a type argument passed to ptx.shfl.sync.up",
        "ptx.shfl.sync.up(u32, u, u, 1, 0)",
        "OperandError",
        "the function has no type argument",
    ),
    body("no type", "ptx.fma(x, x, x, x)", "CallError", "pass the type first: ptx.fma(f32, x, x, x, x)"),
)

ARGUMENTS = (
    body("ptx.add with one source operand", "ptx.add(u32, u, u)", "CallError", "'b'", "ptx.add(dtype, dst, a, b"),
    body(
        "ptx.add with three source operands",
        "ptx.add(u32, u, u, u, u)",
        "CallError",
        "too many",
        "ptx.add(dtype, dst, a, b",
    ),
    body("a misspelt keyword", "ptx.ld(f32, x, ptx.addr(X), spce='global')", "CallError", "spce", "did you mean space"),
    body("a misspelt modifier", "ptx.fma(f32, x, x, x, x, roundng='rn')", "OperandError", "did you mean rounding?"),
    body("a return value passed to ptx.ret", "ptx.ret(x)", "CallError", "output arrays"),
    body("no words", "ptx.inst(u, u, 1)", "CallError", "ptx.inst.add.u32"),
)

PYTHON = (
    body("Python's range of a register", "for i in range(u): pass", "OperandError", "ptx.range_"),
    body("Python's range with a register as its end", "for i in range(0, u): pass", "OperandError", "ptx.range_"),
    body("an array parameter indexed by a register", "v = X[u]", "OperandError", "ptx.global_ptrs(X)", "ptx.ld"),
    body("an assignment to an element of an array parameter", "Y[u] = x", "OperandError", "ptx.global_ptrs(Y)"),
    body("an array parameter plus a register", "p = X + u * 4", "RegisterTypeError", "ptx.global_ptrs(X)"),
    body("np.sqrt of a register", "np.sqrt(x)", "OperandError", "ptx.sqrt(f32, d, x)"),
    body("np.maximum of a register", "np.maximum(x, 0)", "OperandError", "x.max(y)"),
    body("math.exp of a register", "import math; math.exp(x)", "OperandError", "ptx.ex2"),
    body("float of a register", "float(u)", "OperandError", "ptx.cvt(f32, u32"),
    body("round of a register", "round(x)", "OperandError", "rni"),
    body("a power", "u ** 2", "OperandError", "x * x"),
    body("2 to the power of a register", "2 ** u", "OperandError", "ptx.ex2"),
    body("a matrix multiplication", "x @ x", "OperandError", "ptx.mma.sync"),
    body("divmod of a register", "divmod(u, 3)", "OperandError", "x // n"),
    body("a Python list indexed by a register", "[1, 2, 3][u]", "OperandError", "tracing"),
    body("an index of a scalar register", "x[0]", "OperandError", "reg.array"),
    body("a loop over a register", "for i in u: pass", "OperandError", "ptx.range_"),
    body("astype", "x.astype(u32)", "UnknownNameError", "ptx.cvt"),
    body("max of a register", "max(x, 0.0)", "TruthValueError", "x.max(y)"),
    body("a PTX type called as a conversion", "f32(u)", "CallError", "ptx.cvt(f32, u32, d, u, rounding='rn')"),
    body("to a narrower type", "x.to(f16)", "UnknownNameError", "ptx.cvt(f16, f32, d, x, rounding='rn')"),
    body("an f-string as a guard predicate", "ptx.inst.mov.u32(u, 1, pred=f'@!{p}')", "OperandError", "pred=~p"),
    body("an f-string as an address operand", "ptx.inst.ld.global_.f32(x, f'[{u}+{u}]')", "OperandError", "ptx.addr(p"),
    body("a shared memory address plus a register", "s.address(0) + u", "RegisterTypeError", "s[index]"),
    body(
        "a Python function with unbounded recursion",
        "f = lambda n: f(n - 1) if (n > 0) is not None else n; f(u)",
        "CallError",
        "ptx.range_",
    ),
    body("ptx.if_ without its call parentheses", "with ptx.if_: pass", "CallError", "with ptx.if_(x < 8):"),
    body("ptx.loop without its call parentheses", "with ptx.loop: pass", "CallError", "with ptx.loop():"),
    body("ptx.range_ in a with statement", "with ptx.range_(10): pass", "CallError", "for i in ptx.range_(n):"),
)

NAMES = (
    body("CUDA's threadIdx in a kernel", "threadIdx.x", "UndefinedNameError", "ptx.special.tid.x()"),
    body(
        "Triton's program_id in a kernel",
        "tl.program_id(0)",
        "UndefinedNameError",
        "tl.program_id",
        "ptx.special.ctaid.x()",
    ),
    body("CUDA's __syncthreads in a kernel", "__syncthreads()", "UndefinedNameError", "ptx.bar.sync(0)"),
    body("CUDA's atomicAdd in a kernel", "atomicAdd(X, 1)", "UndefinedNameError", "ptx.atom.add("),
    body("CUDA's __expf in a kernel", "__expf(x)", "UndefinedNameError", "ptx.ex2"),
    body("sum", "ptx.sum(x)", "UnknownNameError", "ptx.warp.reduce_sum(x)"),
    body("blockDim", "ptx.special.blockDim.x()", "UnknownNameError", "ptx.special.ntid.x()"),
    body("thread_idx", "ptx.thread_idx.x", "UnknownNameError", "ptx.special.tid.x()"),
    body("threadIdx", "ptx.threadIdx.x", "UnknownNameError", "ptx.special.tid.x()"),
    body("program_id", "ptx.program_id(0)", "UnknownNameError", "ptx.special.ctaid.x()"),
    body("__syncthreads", "ptx.syncthreads()", "UnknownNameError", "ptx.bar.sync(0)"),
    body("atomicAdd", "ptx.atomicAdd(u, 1)", "UnknownNameError", "ptx.atom.add("),
    body("a ptx function name unlike all known names", "ptx.zzzzzz(u)", "UnknownNameError", "dir(ptx)"),
    body("an unknown name similar to an instruction", "ptx.bfe64x(u)", "UnknownNameError", "bfe"),
    body("an instruction available only in ptx.inst", "ptx.brx(p)", "UnknownNameError", "ptx.inst.brx"),
    body("tidd", "ptx.special.tidd.x()", "UnknownNameError", "ptx.special has no 'tidd'", "did you mean tid"),
    body(
        "ptx.special.laneid without its call parentheses",
        "ptx.special.laneid & 31",
        "CallError",
        "ptx.special.laneid()",
    ),
    body("ptx.special.tid without its component", "ptx.special.tid & 31", "CallError", "ptx.special.tid.x()"),
    body(
        "the method ptx.special.tid.x as an operand",
        "ptx.inst.mov.u32(u, ptx.special.tid.x)",
        "OperandError",
        "ptx.special.tid.x()",
    ),
    body("ptx.warp.sum instead of ptx.warp.reduce_sum", "ptx.warp.sum(x)", "UnknownNameError", "reduce_sum"),
    body("reg.float32 instead of reg.scalar", "reg.float32()", "UnknownNameError", "scalar"),
)

INSTRUCTIONS = (
    body(
        "a 32-bit register as the address of a global load",
        "ptx.ld(f32, x, ptx.addr(u))",
        "InstructionUseError",
        "64 bits",
        "ptx.global_ptrs",
    ),
    body(
        "a 32-bit register as the address of ptx.atom.add",
        "ptx.atom.add(u32, u, ptx.addr(u), 1)",
        "InstructionUseError",
        "64 bits",
    ),
    body(
        "a shared memory address in a global load",
        "ptx.ld(f32, x, ptx.addr(s))",
        "InstructionUseError",
        "shared memory",
        'space="shared"',
    ),
    body(
        "a named allocation's address in st.global",
        "ptx.inst.st.global_.f32(ptx.addr(t[1]), x)",
        "InstructionUseError",
        "stages+128",
        "ptx.inst.st.shared",
    ),
    body(
        "an array parameter as an address operand",
        "ptx.ld(f32, x, ptx.addr(X))",
        "InstructionUseError",
        "ptx.global_ptrs(X)",
    ),
    body(
        "cvt from u32 without rounding", "ptx.inst.cvt.f32.u32(x, u)", "InstructionUseError", "lacks a modifier", ".rn"
    ),
    body("cvt to u32 without rounding", "ptx.cvt(u32, f32, u, x)", "InstructionUseError", "lacks a modifier", ".rzi"),
    body(
        "a special register as an operand of ptx.mad",
        "ptx.mad(u32, u, ptx.special.ctaid.x(), 128, u)",
        "InstructionUseError",
        'reg.from_("%ctaid.x", u32)',
    ),
    program(
        "ptx.inst with a misspelled opcode",
        PLAIN.replace("    ptx.ret()", "    x = reg.scalar(f32)\n    ptx.inst.fmaa.rn.f32(x, x, x, x)  # <-")
        + "k(np.ones(128, np.float32))",
        "UnknownForm",
        "did you mean fma?",
    ),
    program(
        "a vector load that needs a newer target and PTX version",
        '@kernel(arch="sm_80")\ndef k():\n    r, a = reg.array(b32, 8), reg.scalar(u64)\n'
        "    ptx.inst.ld.global_.v8.b32([*r], ptx.addr(a))  # <-\nk.ptx()",
        "InstructionUseError",
        "sm_100 or later",
        "needs PTX 8.8 and",
        "pass arch='sm_100', and version=(8, 8) or later",
    ),
    program(
        "an undeclared register in the text of ptx.raw",
        PLAIN.replace("    ptx.ret()", "    ptx.raw('add.f32 %q1, %q2, %q3;')  # <-") + "k(np.ones(128, np.float32))",
        "ProgramError",
        "%q2",
    ),
)

DECLARING = (
    option("num_warps", "num_warps=4", "KeywordError", "block=(32 * num_warps, 1, 1)"),
    option("a misspelt option", "blok=4", "KeywordError", "did you mean block?"),
    option("H100", 'arch="H100"', "ArchError", 'arch="sm_90a"'),
    option("A100 in full", 'arch="NVIDIA A100-SXM4-80GB"', "ArchError", 'arch="sm_80"'),
    option("B200", 'arch="B200"', "ArchError", 'arch="sm_100a"'),
    option("RTX 4090", 'arch="GeForce RTX 4090"', "ArchError", 'arch="sm_89"'),
    option("RTX 5090", 'arch="rtx5090"', "ArchError", 'arch="sm_120a"'),
    option("compute_90", 'arch="compute_90"', "ArchError", 'arch="sm_90"'),
    option("a capability", 'arch="8.6"', "ArchError", 'arch="sm_86"'),
    program("a type of NumPy in a Tile", "Tile(128, np.float32)  # <-", "SpecError", "f32", "pyptx.types"),
    program("a Tile with a type passed as a string", 'Tile(128, "f32")  # <-', "SpecError", "without quotes"),
)

CALLING = (
    call("a grid passed in brackets, as in Triton", "k[(1,)](ONES[0])", "CallError", "@kernel(grid="),
    call("check for checks", 'k.simulate(np.ones(128, np.float32), check="all")', "KeywordError", 'checks="all"'),
    call("checks in a plain call", 'k(np.ones(128, np.float32), checks="all")', "KeywordError", "k.simulate("),
    call("run", "k.run(ONES[0])", "UnknownNameError", "call the kernel"),
    call("arrays for ptx", "k.ptx(ONES[0])", "CallError", "k.ptx()"),
    call("seeds", "k.simulate(np.ones(128, np.float32), seeds=3)", "KeywordError", "did you mean seed?"),
    program(
        "a kernel in a kernel",
        PLAIN + PLAIN.replace("def k", "def outer").replace("    ptx.ret()", "    k(X)  # <-") + "outer.ptx()",
        "RuntimeMissingError",
        "cannot be called while another kernel is traced",
        "a plain Python function",
    ),
    program(
        "a grid size computed as a float",
        PLAIN.replace("grid=1, block=(128, 1, 1))", "grid=128 / 128, block=128)  # <-"),
        "LaunchError",
        "-(-N // 128)",
    ),
    call(
        "SharedTile with the shape before the type",
        "from pyptx.smem import SharedTile; SharedTile((64, 64), bf16)",
        "SpecError",
        "SharedTile(bf16, (64, 64))",
    ),
    call("a grid in a call", "k(np.ones(128, np.float32), grid=(1,))", "KeywordError", "@kernel(grid=…)"),
)

NEWCOMER_WORDS = (*CONVENTIONS, *ARGUMENTS, *PYTHON, *NAMES, *INSTRUCTIONS, *DECLARING, *CALLING)
