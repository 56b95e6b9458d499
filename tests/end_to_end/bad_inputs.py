"""User mistakes and the error that each must raise.

A case is a program. The line that the error must name has the mark `# <-`. `HEADER` runs before each case and imports
the names that most cases need.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

HEADER = """\
import numpy as np
from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import b16, b32, b64, bf16, f16, f32, f64, pred, s32, u8, u16, u32, u64
ONES = np.ones((4, 8), dtype=np.float32)
"""


@dataclass(frozen=True, slots=True)
class BadInput:
    """A faulty program, the class of the error that it must raise, and words that the error's message must contain."""

    title: str
    source: str
    error: str
    words: tuple[str, ...]


def in_kernel(title: str, body: str, error: str, *words: str, arch: str = "sm_90a", options: str = "") -> BadInput:
    """Return a case with a mistake in the body of a kernel without parameters, found while tracing."""
    lines = "\n".join("    " + line for line in dedent(body).strip().splitlines())
    source = f'@kernel(arch="{arch}"{options})\ndef k():\n{lines}\n    ptx.ret()\nk.ptx()\n'
    return BadInput(title, source, error, words)


def program(title: str, source: str, error: str, *words: str) -> BadInput:
    """Return a case with a mistake anywhere in a program."""
    return BadInput(title, dedent(source).strip() + "\n", error, words)


SCALE = """
@kernel(in_specs=(Tile("M", "N", f32), Tile("N", f32)), out_specs=(Tile("M", "N", f32),), grid=1, block=(32, 1, 1))
def scale(X, W, Y):
    ptx.ret()
"""

TRACING = (
    in_kernel(
        "a register in an if", "r = reg.scalar(u32, init=1)\nif r == 1:  # <-\n    pass", "TruthValueError", "ptx.if_"
    ),
    in_kernel(
        "a register in an and", "r = reg.scalar(u32, init=1)\nr == 1 and r == 2  # <-", "TruthValueError", "& | ~"
    ),
    in_kernel("float arithmetic on a predicate", "p = reg.scalar(u32, init=1) == 1\np + 1  # <-", "RegisterTypeError"),
    in_kernel(
        "an array of NumPy plus a register",
        "r = reg.scalar(u32, init=1)\nnp.arange(3) + r  # <-",
        "RegisterTypeError",
        "registers and numbers",
    ),
    in_kernel("a type by its name", 'reg.scalar("u32")  # <-', "UnknownTypeError", "pyptx.types"),
    in_kernel("a type of NumPy", "smem.alloc(np.float32, 4)  # <-", "UnknownTypeError", "float32", "pyptx.types"),
    in_kernel("predicates in shared memory", "smem.alloc(pred, 4)  # <-", "SharedMemoryError", "pred"),
    in_kernel(
        "an alignment that is a word", 'smem.alloc(u32, 4, align="a")  # <-', "SharedMemoryError", "power of two"
    ),
    in_kernel("an allocation with an invalid name", 'smem.alloc(u32, 4, name="a b")  # <-', "SharedMemoryError", "a b"),
    in_kernel("a swizzle by its number", "smem.alloc(u32, 4, swizzle=128)  # <-", "SharedMemoryError", "128B"),
    in_kernel(
        "a float stored as a half",
        "x = reg.scalar(f32, init=1.0)\ny = reg.scalar(u64, init=0)\nptx.st(f16, ptx.addr(y), x)  # <-",
        "RegisterTypeError",
        "ptx.st(f16, …)",
        "f32",
        "ptx.cvt",
    ),
    in_kernel(
        "a half loaded to a brain float",
        "x = reg.scalar(bf16)\ny = reg.scalar(u64, init=0)\nptx.ld(f16, x, ptx.addr(y))  # <-",
        "RegisterTypeError",
        "ptx.ld(f16, …)",
        "bf16",
    ),
    in_kernel(
        "one float of a vector",
        "h, x = reg.scalar(f16), reg.scalar(f32)\ny = reg.scalar(u64, init=0)\nptx.st(f16, ptx.addr(y), [h, x])  # <-",
        "RegisterTypeError",
        "%f0",
    ),
    in_kernel("a shift of a float", "x = reg.scalar(f32, init=1.0)\nx << 1  # <-", "RegisterTypeError", "f32"),
    in_kernel("an index past a register array", "a = reg.array(f32, 4)\na[4]  # <-", "RegisterIndexError", "4"),
    in_kernel(
        "one name for two registers",
        'reg.scalar(u32, name="x")\nreg.scalar(f32, name="x")  # <-',
        "DuplicateNameError",
        "x",
    ),
    in_kernel("a list initializer for a float", "reg.scalar(f32, init=[1])  # <-", "OperandError"),
    in_kernel("a branch to an undefined label", 'ptx.bra("nowhere")  # <-', "UndefinedLabelError", "nowhere"),
    in_kernel("a label placed twice", 'ptx.label("here")\nptx.label("here")  # <-', "DuplicateNameError", "here"),
    in_kernel("else without if", "with ptx.else_():  # <-\n    pass", "ControlFlowError", "if_"),
    in_kernel("break outside a loop", "ptx.break_()  # <-", "ControlFlowError", "loop"),
    in_kernel(
        "if_ without with", "p = reg.scalar(u32, init=1) == 1\nptx.if_(p)  # <-\nptx.ret()", "ControlFlowError", "with"
    ),
    in_kernel("a loop without with", 'ptx.loop("again")  # <-', "ControlFlowError", "with ptx.loop"),
    in_kernel(
        "a return out of an if_",
        """
        p = reg.scalar(u32, init=1) == 1
        with ptx.if_(p):
            return  # <-
        reg.scalar(u32, init=2)
        """,
        "ControlFlowError",
        "ptx.ret()",
    ),
    in_kernel(
        "a break of an unrolled loop out of an if_",
        """
        r = reg.scalar(u32, init=1)
        for number in range(4):
            with ptx.if_(r == number):
                if number < 8:
                    break  # <-
        """,
        "ControlFlowError",
        "ptx.break_()",
    ),
    in_kernel(
        "a continue that skips the rest of a body",
        """
        r = reg.scalar(u32, init=1)
        for number in range(4):
            with ptx.while_(lambda: r < number):
                continue  # <-
            r += 1
        """,
        "ControlFlowError",
        "ptx.continue_()",
    ),
    in_kernel("a pointer of a number", "ptx.global_ptrs(3)  # <-", "OperandError", "array parameters"),
    in_kernel("a number for a name", "smem.alloc(u32, 4, name=3)  # <-", "SharedMemoryError", "3"),
    in_kernel("a truth value for an index", "s = smem.alloc(u32, (2, 2))\ns[True, 0]  # <-", "OperandError", "True"),
    in_kernel("a truth value for a size", "smem.alloc(u32, True)  # <-", "SharedMemoryError", "True"),
    in_kernel("raw text that is not PTX", 'ptx.raw("add.s32 %r1, , %r2;")  # <-', "RawTextError", "operand"),
    in_kernel(
        "an instruction that this version of PTX lacks",
        "ptx.tcgen05.wait_ld()  # <-",
        "InstructionUseError",
        "version=(8, 6) or later",
    ),
    in_kernel("a misspelt wrapper", "ptx.fmaa(f32)  # <-", "AttributeError", "fmaa"),
    in_kernel("a special register that does not exist", 'ptx.sreg("%tid.w")  # <-', "OperandError", "tid.w"),
    in_kernel(
        "an unknown modifier",
        "r = reg.scalar(u32, init=1)\nptx.inst.add.u33(r, r, 1)  # <-",
        "InstructionUseError",
        "u33",
    ),
    in_kernel(
        "a missing operand", "r = reg.scalar(u32, init=1)\nptx.inst.add.u32(r, r)  # <-", "InstructionUseError", "add"
    ),
    in_kernel(
        "a register of the wrong type",
        "x = reg.scalar(f32, init=1.0)\nptx.inst.add.u32(x, x, 1)  # <-",
        "InstructionUseError",
        "add.u32",
    ),
    in_kernel(
        "a 64-bit register in a 32-bit instruction",
        "x = reg.scalar(u64, init=1)\ny = reg.scalar(u32)\nptx.inst.add.u32(y, x, 1)  # <-",
        "InstructionUseError",
        "add.u32",
    ),
    in_kernel(
        "a predicate as data",
        "r = reg.scalar(u32, init=1)\np = r == 1\nptx.inst.mov.u32(r, p)  # <-",
        "InstructionUseError",
        "mov.u32",
    ),
    in_kernel(
        "a guard that is not a predicate",
        "r = reg.scalar(u32, init=1)\nptx.ret(pred=r)  # <-",
        "RegisterTypeError",
        "pred",
    ),
    in_kernel(
        "a rounding that is missing",
        "x = reg.scalar(f32, init=1.0)\nptx.inst.fma.f32(x, x, x, x)  # <-",
        "InstructionUseError",
        "fma",
    ),
    in_kernel(
        "a comparison that does not exist",
        'p = reg.scalar(pred)\nptx.setp("lte", u32, p, 1, 2)  # <-',
        "OperandError",
        "lte",
    ),
    in_kernel("an allocation of negative size", "smem.alloc(f32, (-1, 4))  # <-", "SharedMemoryError"),
    in_kernel(
        "more shared memory than the target has",
        "smem.alloc(f32, (64 * 1024,))  # <-",
        "SharedMemoryError",
        "227",
        arch="sm_90a",
    ),
    in_kernel(
        "an index outside shared memory", "s = smem.alloc(f32, (4, 4))\ns[4, 0]  # <-", "RegisterIndexError", "4"
    ),
    in_kernel(
        "a reduction over an odd width",
        "x = reg.scalar(f32, init=1.0)\nptx.warp.reduce_sum(x, width=24)  # <-",
        "OperandError",
        "24",
    ),
    in_kernel("a named barrier that does not exist", "ptx.bar.sync(16)  # <-", "OperandError", "16"),
    in_kernel(
        "a copy of three bytes",
        "s = smem.alloc(f32, (4,))\np = reg.scalar(u64, init=0)\nptx.cp.async_.ca(ptx.addr(s), ptx.addr(p), 3)  # <-",
        "OperandError",
        "4, 8",
    ),
    in_kernel(
        "an mma shape that does not exist",
        """
        a = reg.array(b32, 4); b = reg.array(b32, 2); d = reg.array(f32, 4)
        ptx.mma.sync(shape=(16, 8, 17), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, dtype_c=f32, d=d, a=a, b=b, c=d)  # <-
        """,
        "OperandError",
        "m16n8k17",
    ),
    in_kernel(
        "a matrix load of three tiles",
        's = smem.alloc(b16, (64,))\nd = reg.array(b32, 3)\nptx.ldmatrix(dst=d, src=ptx.addr(s), layout="x3")  # <-',
        "OperandError",
        "x3",
    ),
    in_kernel(
        "an instruction newer than the target",
        "r = reg.scalar(u32, init=1)\nptx.inst.redux.sync.add.u32(r, r, -1)  # <-",
        "InstructionUseError",
        "sm_80",
        arch="sm_75",
    ),
)

OUTSIDE = (
    program("a register outside a kernel", "reg.scalar(u32)  # <-", "NoTraceError", "@kernel"),
    program("an instruction outside a kernel", "ptx.inst.ret()  # <-", "NoTraceError", "@kernel"),
    program(
        "a register used in another trace",
        """
        kept = []
        @kernel
        def first():
            kept.append(reg.scalar(u32, init=1))
        @kernel
        def second():
            reg.scalar(u32) + kept[0]  # <-
        first.ptx()
        second.ptx()
        """,
        "ForeignRegisterError",
        "first",
        "second",
    ),
    program("an unknown arch", '@kernel(arch="sm_91a")  # <-\ndef k(): ...', "ArchError", "sm_90a"),
    program("a block of 2048 threads", "@kernel(block=(2048, 1, 1))  # <-\ndef k(): ...", "LaunchError", "1024"),
    program("a block of no threads", "@kernel(block=(0, 1, 1))  # <-\ndef k(): ...", "LaunchError"),
    program("a cluster of 32 blocks", "@kernel(cluster=(32, 1, 1))  # <-\ndef k(): ...", "LaunchError", "cluster"),
    program("a raw parameter of no type", '@kernel(raw_params=[("q32", "n")])  # <-\ndef k(): ...', "SpecError", "q32"),
    program("a tile of negative size", "Tile(-1, f32)  # <-", "SpecError"),
    program("a tile without a dtype", 'Tile("M", "N")  # <-', "SpecError"),
    program("fewer parameters than specs", "@kernel(in_specs=(Tile(4, f32),))  # <-\ndef k(): ...", "SignatureError"),
    program("a number for a list of tiles", "@kernel(in_specs=3)  # <-\ndef k(): ...", "SpecError", "in_specs=3"),
    program("a word for lineinfo", '@kernel(lineinfo="yes")  # <-\ndef k(): ...', "SpecError", "lineinfo='yes'"),
    program("a truth value for a grid", "@kernel(grid=True)  # <-\ndef k(): ...", "LaunchError", "grid=True"),
    program("a matrix for a grid", "@kernel(grid=np.ones((1, 2), int))  # <-\ndef k(): ...", "LaunchError", "integers"),
    program("a truth value for a dimension", SCALE + "scale.ptx(M=1, N=True)  # <-", "KeywordError", "N=True"),
    program(
        "a kernel that asks for its own text",
        """
        @kernel
        def k():
            k.ptx()  # <-
        k.ptx()
        """,
        "SelfTraceError",
        "'k'",
    ),
    program(
        "dimensions that are not bound", SCALE + "scale.ptx()  # <-", "UnboundDimensionsError", "scale.ptx(M=", "N="
    ),
    program("a keyword that does not exist", SCALE + "scale.ptx(M=1, N=1, K=1)  # <-", "KeywordError", "K"),
    program(
        "a version older than the target",
        '@kernel(arch="sm_100a", version=(8, 0))  # <-\ndef k():\n    ptx.ret()\nk.ptx()',
        "ArchError",
        "8.6",
    ),
)

CALLING = (
    program("too few arrays", SCALE + "scale(ONES)  # <-", "ArgumentCountError", "W"),
    program("a matrix where a vector is declared", SCALE + "scale(ONES, ONES)  # <-", "RankError", "W"),
    program("shapes that disagree", SCALE + "scale(ONES, np.ones(9, np.float32))  # <-", "ShapeError", "N", "8", "9"),
    program(
        "doubles where floats are declared",
        SCALE + "scale(ONES.astype(np.float64), ONES[0])  # <-",
        "DtypeError",
        "X",
        "f64",
        "f32",
    ),
    program("a transposed array", SCALE + "scale(np.ones((8, 4), np.float32).T, ONES[0])  # <-", "LayoutError", "X"),
    program(
        "every second column", SCALE + "scale(np.ones((4, 16), np.float32)[:, ::2], ONES[0])  # <-", "LayoutError", "X"
    ),
    program(
        "an array that starts between two floats",
        SCALE + "raw = np.zeros(4 * 8 * 4 + 1, np.uint8)\nscale(raw[1:].view(np.float32).reshape(4, 8), ONES[0])  # <-",
        "AlignmentError",
        "X",
    ),
    program(
        "a number of NumPy instead of an array",
        SCALE + "scale(ONES, ONES[0, 0])  # <-",
        "ForeignArrayError",
        "W is of type float32",
        "np.asarray(W)",
    ),
    program(
        "an array with a mask", SCALE + "scale(np.ma.masked_less(ONES, 0), ONES[0])  # <-", "LayoutError", "filled"
    ),
    program(
        "one array for two outputs",
        """
        @kernel(out_specs=(Tile(4, f32), Tile(4, f32)), grid=1, block=(32, 1, 1))
        def two(X, Y):
            ptx.ret()
        same = np.zeros(4, np.float32)
        two(out=(same, same))  # <-
        """,
        "LaunchError",
        "X",
        "Y",
    ),
    program("an output of another shape", SCALE + "scale(ONES, ONES[0], out=ONES[0])  # <-", "LaunchError", "shape"),
    program("a check that does not exist", SCALE + 'scale.simulate(ONES, ONES[0], checks="race")  # <-', "LaunchError"),
    program(
        "an instruction without a meaning",
        """
        @kernel(in_specs=(Tile(4, b32),), grid=1, block=(32, 1, 1))
        def keep(X):
            f, at, image = reg.array(f32, 4), reg.scalar(s32, init=0), reg.scalar(b64, init=0)
            ptx.inst["tex.2dms.v4.f32.s32"](f, ptx.tensor_addr(image, [at, at, at, at]))  # <-
        keep(np.zeros(4, np.uint32))
        """,
        "MissingSemantics",
        "tex.2dms",
    ),
    program(
        "a trap",
        """
        @kernel(in_specs=(Tile(4, b32),), grid=1, block=(32, 1, 1))
        def stop(X):
            ptx.trap()  # <-
        stop(np.zeros(4, np.uint32))
        """,
        "KernelTrap",
    ),
    program(
        "a class instead of a function", "class K:\n    pass\nkernel(K)  # <-", "SignatureError", "expected a function"
    ),
    program(
        "a generator for a kernel", "@kernel  # <-\ndef k():\n    ptx.ret()\n    yield", "SignatureError", "generator"
    ),
    program("a list instead of an array", SCALE + "scale([[1.0]], [1.0])  # <-", "RuntimeMissingError"),
    program(
        "an endless loop",
        """
        @kernel(in_specs=(Tile(1, f32),), grid=1, block=(32, 1, 1))
        def forever(X):
            count = reg.scalar(u64, init=0)
            with ptx.while_(lambda: count != 7):  # <-
                count += 2
        forever.simulate(np.zeros(1, np.float32), step_limit=10_000)
        """,
        "StepLimitExceeded",
    ),
    program(
        "a loop with a constant condition",
        """
        @kernel(in_specs=(Tile(1, f32),), grid=1, block=(32, 1, 1))
        def forever(X):
            count, total = reg.scalar(u64, init=0), reg.scalar(f32, init=0.0)
            with ptx.while_(lambda: count < 10):
                total += 1.0  # <-
        forever(np.zeros(1, np.float32))
        """,
        "Deadlock",
        "change a register of the loop's condition",
    ),
    program(
        "a wait for what never comes",
        """
        @kernel(in_specs=(Tile(1, u32),), grid=1, block=(32, 1, 1))
        def wait(X):
            (px,) = ptx.global_ptrs(X)
            value = reg.scalar(u32)
            with ptx.loop("again", pred=lambda: value == 0):
                ptx.inst.ld.volatile.global_.u32(value, ptx.addr(px))  # <-
        wait(np.zeros(1, np.uint32))
        """,
        "Deadlock",
    ),
    program(
        "a load past the end",
        """
        @kernel(in_specs=(Tile(4, f32),), out_specs=(Tile(4, f32),), grid=1, block=(32, 1, 1))
        def past(X, Y):
            px, py = ptx.global_ptrs(X, Y)
            value = reg.scalar(f32)
            ptx.inst.ld.global_.f32(value, ptx.addr(px, 1 << 20))  # <-
            ptx.inst.st.global_.f32(ptx.addr(py), value)
        past(np.zeros(4, np.float32))
        """,
        "MemoryFault",
    ),
)

BAD_INPUTS = (*TRACING, *OUTSIDE, *CALLING)
