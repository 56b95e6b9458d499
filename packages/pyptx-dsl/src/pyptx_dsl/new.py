"""`pyptx new NAME`: a Python file with a kernel that runs, as a start."""

from __future__ import annotations

import keyword
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_dsl.errors import KernelFileError
from pyptx_ir.command_line import SUCCESS, CommandParser, run

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

TEXT: Final = '''\
"""A kernel that multiplies the elements of an array by a number.

    python {name}.py                  run it on the simulator, and compare the result with NumPy
    pyptx ptx {name}.py --N 1000      print its PTX
    pyptx sim {name}.py --N 1000      run it on random numbers, and print the findings
"""

import numpy as np
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

THREADS = 128  # per CTA


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    grid=lambda N: -(-N // THREADS),
    block=(THREADS, 1, 1),
    arch="sm_80",
)
def {name}(X, Y, *, factor=2.0):
    px, py = ptx.global_ptrs(X, Y)
    tid, cta = reg.from_(ptx.special.tid.x(), u32), reg.from_(ptx.special.ctaid.x(), u32)
    index = cta * THREADS + tid
    with ptx.if_(index < X.shape[0]):
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + index * 4))
        ptx.inst.mul.f32(value, value, factor)
        ptx.inst.st.global_.f32(ptx.addr(py + index * 4), value)
    ptx.ret()


if __name__ == "__main__":
    x = np.random.default_rng(0).standard_normal(1000, dtype=np.float32)
    result = {name}.simulate(x)
    result.assert_clean()
    np.testing.assert_array_equal(result.outputs[0], 2 * x)
    print(result)
'''


def new(argv: Sequence[str]) -> int:
    """Write NAME.py with a kernel; return 0, or 2 if the file exists."""
    return run(new_parser(), _written, argv)


def new_parser() -> CommandParser:
    """Return the parser of the options of `pyptx new`."""
    parser = CommandParser("new", "Write NAME.py with a kernel that runs: a start for your own.", output=False)
    parser.add_argument("name", metavar="NAME", help="name of the kernel and of the file")
    return parser


def _written(options: argparse.Namespace) -> int:
    name = options.name.removesuffix(".py")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise KernelFileError(f"{name!r} is not a valid name of a function")
    path = Path(f"{name}.py")
    if path.exists():
        raise KernelFileError(f"{path} exists; choose another name")
    path.write_text(TEXT.replace("{name}", name), encoding="utf-8")
    sys.stdout.write(f"wrote {path}; run it: python {path}\n")
    return SUCCESS
