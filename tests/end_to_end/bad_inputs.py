"""User mistakes and the error that each must raise.

A case is a program. The line that the error must name ends with the comment `# <-`. `HEADER` runs before each case and imports
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
    """Return a test case with a mistake in the body of a kernel without parameters, found while tracing."""
    lines = "\n".join("    " + line for line in dedent(body).strip().splitlines())
    source = f'@kernel(arch="{arch}"{options})\ndef k():\n{lines}\n    ptx.ret()\nk.ptx()\n'
    return BadInput(title, source, error, words)


def program(title: str, source: str, error: str, *words: str) -> BadInput:
    """Return a test case: a whole program that contains a mistake."""
    return BadInput(title, dedent(source).strip() + "\n", error, words)


SCALE = """
@kernel(in_specs=(Tile("M", "N", f32), Tile("N", f32)), out_specs=(Tile("M", "N", f32),), grid=1, block=(32, 1, 1))
def scale(X, W, Y):
    ptx.ret()
"""

TRACING = (
    in_kernel(
        "a register comparison as the condition of Python's if",
        "r = reg.scalar(u32, init=1)\nif r == 1:  # <-\n    pass",
        "TruthValueError",
        "ptx.if_",
    ),
    in_kernel(
        "register comparisons joined by Python's and",
        "r = reg.scalar(u32, init=1)\nr == 1 and r == 2  # <-",
        "TruthValueError",
        "& | ~",
    ),
    in_kernel("float arithmetic on a predicate", "p = reg.scalar(u32, init=1) == 1\np + 1  # <-", "RegisterTypeError"),
    in_kernel(
        "a NumPy array added to a register",
        "r = reg.scalar(u32, init=1)\nnp.arange(3) + r  # <-",
        "RegisterTypeError",
        "registers and numbers",
    ),
    in_kernel("an element type passed as a string", 'reg.scalar("u32")  # <-', "UnknownTypeError", "pyptx.types"),
    in_kernel("a type of NumPy", "smem.alloc(np.float32, 4)  # <-", "UnknownTypeError", "float32", "pyptx.types"),
    in_kernel("a shared memory allocation of predicates", "smem.alloc(pred, 4)  # <-", "SharedMemoryError", "pred"),
    in_kernel(
        "an alignment passed as a string", 'smem.alloc(u32, 4, align="a")  # <-', "SharedMemoryError", "power of two"
    ),
    in_kernel("an allocation with an invalid name", 'smem.alloc(u32, 4, name="a b")  # <-', "SharedMemoryError", "a b"),
    in_kernel("a swizzle passed as an integer", "smem.alloc(u32, 4, swizzle=128)  # <-", "SharedMemoryError", "128B"),
    in_kernel(
        "an f32 register stored by an f16 store",
        "x = reg.scalar(f32, init=1.0)\ny = reg.scalar(u64, init=0)\nptx.st(f16, ptx.addr(y), x)  # <-",
        "RegisterTypeError",
        "ptx.st(f16, …)",
        "f32",
        "ptx.cvt",
    ),
    in_kernel(
        "an f16 load to a bf16 register",
        "x = reg.scalar(bf16)\ny = reg.scalar(u64, init=0)\nptx.ld(f16, x, ptx.addr(y))  # <-",
        "RegisterTypeError",
        "ptx.ld(f16, …)",
        "bf16",
    ),
    in_kernel(
        "an f32 register among the values of an f16 store",
        "h, x = reg.scalar(f16), reg.scalar(f32)\ny = reg.scalar(u64, init=0)\nptx.st(f16, ptx.addr(y), [h, x])  # <-",
        "RegisterTypeError",
        "%f0",
    ),
    in_kernel(
        "a bit shift of an f32 register", "x = reg.scalar(f32, init=1.0)\nx << 1  # <-", "RegisterTypeError", "f32"
    ),
    in_kernel("an index past a register array", "a = reg.array(f32, 4)\na[4]  # <-", "RegisterIndexError", "4"),
    in_kernel(
        "two registers declared with one name",
        'reg.scalar(u32, name="x")\nreg.scalar(f32, name="x")  # <-',
        "DuplicateNameError",
        "x",
    ),
    in_kernel("a list as the initial value of an f32 register", "reg.scalar(f32, init=[1])  # <-", "OperandError"),
    in_kernel("a branch to an undefined label", 'ptx.bra("nowhere")  # <-', "UndefinedLabelError", "nowhere"),
    in_kernel("a label placed twice", 'ptx.label("here")\nptx.label("here")  # <-', "DuplicateNameError", "here"),
    in_kernel("else without if", "with ptx.else_():  # <-\n    pass", "ControlFlowError", "if_"),
    in_kernel("break outside a loop", "ptx.break_()  # <-", "ControlFlowError", "loop"),
    in_kernel(
        "if_ without with", "p = reg.scalar(u32, init=1) == 1\nptx.if_(p)  # <-\nptx.ret()", "ControlFlowError", "with"
    ),
    in_kernel(
        "ptx.loop called outside a with statement", 'ptx.loop("again")  # <-', "ControlFlowError", "with ptx.loop"
    ),
    in_kernel(
        "Python's return inside a ptx.if_ block",
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
        "Python's break inside a ptx.if_ block",
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
        "Python's continue inside a ptx.while_ block",
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
    in_kernel("ptx.global_ptrs called with a number", "ptx.global_ptrs(3)  # <-", "OperandError", "array parameters"),
    in_kernel("a number as the name of an allocation", "smem.alloc(u32, 4, name=3)  # <-", "SharedMemoryError", "3"),
    in_kernel(
        "a bool as an index of a shared array", "s = smem.alloc(u32, (2, 2))\ns[True, 0]  # <-", "OperandError", "True"
    ),
    in_kernel("a bool as the size of a shared array", "smem.alloc(u32, True)  # <-", "SharedMemoryError", "True"),
    in_kernel(
        "a syntax error in the text of ptx.raw", 'ptx.raw("add.s32 %r1, , %r2;")  # <-', "RawTextError", "operand"
    ),
    in_kernel(
        "an instruction newer than the kernel's PTX version",
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
        "an f32 register as an operand of add.u32",
        "x = reg.scalar(f32, init=1.0)\nptx.inst.add.u32(x, x, 1)  # <-",
        "InstructionUseError",
        "add.u32",
    ),
    in_kernel(
        "a u64 register as an operand of add.u32",
        "x = reg.scalar(u64, init=1)\ny = reg.scalar(u32)\nptx.inst.add.u32(y, x, 1)  # <-",
        "InstructionUseError",
        "add.u32",
    ),
    in_kernel(
        "a predicate as the source of mov.u32",
        "r = reg.scalar(u32, init=1)\np = r == 1\nptx.inst.mov.u32(r, p)  # <-",
        "InstructionUseError",
        "mov.u32",
    ),
    in_kernel(
        "a u32 register as the guard of an instruction",
        "r = reg.scalar(u32, init=1)\nptx.ret(pred=r)  # <-",
        "RegisterTypeError",
        "pred",
    ),
    in_kernel(
        "fma.f32 without its rounding modifier",
        "x = reg.scalar(f32, init=1.0)\nptx.inst.fma.f32(x, x, x, x)  # <-",
        "InstructionUseError",
        "fma",
    ),
    in_kernel(
        "setp with an unknown comparison",
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
        "an index past the end of a shared array",
        "s = smem.alloc(f32, (4, 4))\ns[4, 0]  # <-",
        "RegisterIndexError",
        "4",
    ),
    in_kernel(
        "a warp reduction over 24 lanes",
        "x = reg.scalar(f32, init=1.0)\nptx.warp.reduce_sum(x, width=24)  # <-",
        "OperandError",
        "24",
    ),
    in_kernel("a named barrier number above 15", "ptx.bar.sync(16)  # <-", "OperandError", "16"),
    in_kernel(
        "a cp.async copy of three bytes",
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
        "an ldmatrix of three matrices",
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
        "a register of one kernel used in another",
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
    program("a block size of 0", "@kernel(block=(0, 1, 1))  # <-\ndef k(): ...", "LaunchError"),
    program("a cluster of 32 blocks", "@kernel(cluster=(32, 1, 1))  # <-\ndef k(): ...", "LaunchError", "cluster"),
    program(
        "a scalar parameter with an unknown type",
        '@kernel(raw_params=[("q32", "n")])  # <-\ndef k(): ...',
        "SpecError",
        "q32",
    ),
    program("a Tile with a negative dimension", "Tile(-1, f32)  # <-", "SpecError"),
    program("a Tile without an element type", 'Tile("M", "N")  # <-', "SpecError"),
    program(
        "a kernel function without a parameter for its Tile",
        "@kernel(in_specs=(Tile(4, f32),))  # <-\ndef k(): ...",
        "SignatureError",
    ),
    program("in_specs passed as a number", "@kernel(in_specs=3)  # <-\ndef k(): ...", "SpecError", "in_specs=3"),
    program(
        "lineinfo passed as a string", '@kernel(lineinfo="yes")  # <-\ndef k(): ...', "SpecError", "lineinfo='yes'"
    ),
    program("a grid passed as a bool", "@kernel(grid=True)  # <-\ndef k(): ...", "LaunchError", "grid=True"),
    program(
        "a grid passed as a matrix", "@kernel(grid=np.ones((1, 2), int))  # <-\ndef k(): ...", "LaunchError", "integers"
    ),
    program("a dimension passed as a bool", SCALE + "scale.ptx(M=1, N=True)  # <-", "KeywordError", "N=True"),
    program(
        "a kernel that requests its own PTX while it is traced",
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
        "a PTX request without sizes of the Tiles' dimensions",
        SCALE + "scale.ptx()  # <-",
        "UnboundDimensionsError",
        "scale.ptx(M=",
        "N=",
    ),
    program("a PTX request with an unknown keyword", SCALE + "scale.ptx(M=1, N=1, K=1)  # <-", "KeywordError", "K"),
    program(
        "a PTX version older than the kernel's target",
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
        "an f32 array at an address not divisible by 4",
        SCALE + "raw = np.zeros(4 * 8 * 4 + 1, np.uint8)\nscale(raw[1:].view(np.float32).reshape(4, 8), ONES[0])  # <-",
        "AlignmentError",
        "X",
    ),
    program(
        "a NumPy scalar instead of an array",
        SCALE + "scale(ONES, ONES[0, 0])  # <-",
        "ForeignArrayError",
        "W is of type float32",
        "np.asarray(W)",
    ),
    program(
        "a NumPy masked array as an input",
        SCALE + "scale(np.ma.masked_less(ONES, 0), ONES[0])  # <-",
        "LayoutError",
        "filled",
    ),
    program(
        "one array passed as two outputs",
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
    program(
        "an out= array with the wrong shape", SCALE + "scale(ONES, ONES[0], out=ONES[0])  # <-", "LaunchError", "shape"
    ),
    program(
        "a simulation with an unknown value of checks=",
        SCALE + 'scale.simulate(ONES, ONES[0], checks="race")  # <-',
        "LaunchError",
    ),
    program(
        "an instruction that the simulator does not support",
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
        "a poll of a value that no thread writes",
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
        "a load past the end of an array",
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
