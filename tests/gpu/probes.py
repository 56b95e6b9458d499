"""Modules that apply one instruction to columns of operands, one element per thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.isa.targets import default_version

if TYPE_CHECKING:
    from .instructions import Recorded

BLOCK = 128
BITS = {"16": 16, "x2": 32, "32": 32, "64": 64}  # width in bits of a PTX type, by the last two characters of its name


def width(kind: str) -> int:
    """Return a PTX type's width in bits."""
    return BITS[kind[-2:]]


def probe(row: Recorded, target: str) -> str:
    """Return a module whose entry `probe` applies the instruction to one element per thread."""
    columns = [*row.operands, row.result]
    pointers = ",\n".join(f"\t.param .u64 p{i}" for i in range(len(columns)))
    registers = "\n".join(f"\t.reg .b{width(kind)} v{i};" for i, kind in enumerate(columns))
    body = ["mov.u32 tid, %tid.x;", "mov.u32 block, %ctaid.x;", f"mad.lo.u32 tid, block, {BLOCK}, tid;"]
    for i, kind in enumerate(columns):
        body += [f"ld.param.u64 a{i}, [p{i}];", f"mad.wide.u32 a{i}, tid, {width(kind) // 8}, a{i};"]
    body += [f"ld.global.b{width(kind)} v{i}, [a{i}];" for i, kind in enumerate(row.operands)]
    sources = ", ".join(f"v{i}" for i in range(len(row.operands)))
    last = len(row.operands)
    body += [f"{row.opcode} v{last}, {sources};", f"st.global.b{width(row.result)} [a{last}], v{last};", "ret;"]
    lines = "\n".join(f"\t{line}" for line in body)
    version = "{}.{}".format(*default_version(target))
    header = f".version {version}\n.target {target}\n.address_size 64\n\n.visible .entry probe(\n{pointers}\n)\n{{\n"
    return f"{header}\t.reg .b32 tid, block;\n\t.reg .b64 a<{len(columns)}>;\n{registers}\n{lines}\n}}\n"


def padded(column: np.ndarray) -> np.ndarray:
    """Pad a column with its last value to a multiple of `BLOCK`."""
    return np.pad(column, (0, -len(column) % BLOCK), mode="edge")
