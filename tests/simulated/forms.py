"""Forms of the instruction table as kernels that declare and initialize everything that a form names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.isa.check import check_instruction
from pyptx_ir.isa.errors import InstructionError
from pyptx_ir.isa.form_diagnostics import unavailable
from pyptx_ir.isa.forms import forms, register_type, some_forms
from pyptx_ir.isa.scalar_types import SIZES
from pyptx_ir.plugins.manager import manager
from pyptx_ir.plugins.rows import Im2col, TensorMap
from pyptx_ir.syntax import parse_instruction
from pyptx_sim import WithDescriptor

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_ir.isa.rows import InstructionRow

FOREIGN: Final = frozenset({"acme"})  # opcodes that only the tests' own plugin defines
# Symbols (names other than registers) in forms, and their kinds.
NAMES: Final = {
    **dict.fromkeys(("gmem", "table"), ".global"),
    **dict.fromkeys(("pp", "tmap", "fp"), ".param"),
    **dict.fromkeys(("branches", "callees"), ".targets"),
    "smem": ".shared",
    "cmem": ".const",
    "lmem": ".local",
    "tex0": ".texref",
    "surf0": ".surfref",
    "function": ".func",
    "done": ".label",
}
MODULE: Final = """\
.version {version[0]}.{version[1]}
.target {target}
.address_size 64
.global .align 128 .b8 gmem[4096];
.shared .align 1024 .b8 smem[32768];
.const .align 16 .b8 cmem[256];
.global .texref tex0;
.global .surfref surf0;
.visible .func function() {{ ret; }}
.global .u64 table[1] = {{ function }};
.visible .entry k(.param .u64 pp, .param .align 64 .b8 tmap[128])
{{
{declared}
.reg .b32 %lane; .reg .b64 %base, %step;
.local .align 16 .b8 lmem[64];
.param .b128 fp;
{lists}
ld.param.u64 %base, [pp];
mov.u32 %lane, %laneid;
mul.wide.u32 %step, %lane, {stride};
add.u64 %base, %base, %step;
{loads}
{form}
done:
ret;
}}
"""
LISTS: Final = "branches: .branchtargets done; prototype: .callprototype _ (); callees: .calltargets function;"
STRIDE: Final = 16  # bytes between the memory operands of adjacent lanes
THREADS: Final = 128
_REGISTER: Final = re.compile(r"%([a-z]\w*?)_(\d+)\b")
_ADDRESS: Final = re.compile(r"\[(%u\d+_\d+)")
_RANK: Final = re.compile(r"\.(\d)d\.")


def rows_of(target: str, version: tuple[int, int]) -> list[InstructionRow]:
    """Return the rows of the instruction table that a target supports in a PTX version."""
    every = (row for row in manager().instructions() if row.opcode not in FOREIGN)
    return [row for row in every if unavailable(row, (row.opcode,), target, version) is None]


def legal_forms(
    row: InstructionRow, target: str, version: tuple[int, int], chance: random.Random, most: int | None
) -> Iterator[str]:
    """Yield the legal forms on `target` of an instruction-table row, of `most` drawn forms; of all forms if None."""
    chosen = forms(row) if most is None else some_forms(row, chance, most)
    return (form for form in chosen if _is_legal(form, target, version))


def _is_legal(form: str, target: str, version: tuple[int, int]) -> bool:
    try:
        check_instruction(parse_instruction(form), _declared, target, version)
    except InstructionError:
        return False
    return True


def _declared(name: str) -> str | None:
    return register_type(name) or NAMES.get(name)


def kernel_of(form: str, target: str, version: tuple[int, int], *, data: bool = True) -> str:
    """Return a module whose entry `k` initializes the registers that `form` names, and executes the form.

    Without `data`, only the registers that `form` uses as addresses are initialized.
    """
    largest: dict[str, int] = {}
    for kind, number in _REGISTER.findall(form):
        largest[kind] = max(largest.get(kind, 0), int(number))
    declared = " ".join(f".reg .{kind} %{kind}_<{last + 1}>;" for kind, last in largest.items())
    names = dict.fromkeys(f"%{kind}_{number}" for kind, number in _REGISTER.findall(form))
    loads = [_load(name, at, form) for at, name in enumerate(names) if data or name in _ADDRESS.findall(form)]
    lists = LISTS if form.startswith(("call", "brx")) else ""
    return MODULE.format(
        version=version, target=target, declared=declared, lists=lists, stride=STRIDE, loads="\n".join(loads), form=form
    )


def _load(name: str, position: int, form: str) -> str:
    """Return the instructions that initialize a register: to an address if `form` uses it as one, else to data."""
    kind = name[1:].rpartition("_")[0]
    if name in _ADDRESS.findall(form):
        if ".tensor" in form:
            return f"mov.b64 {name}, tmap;\ncvta.param.u64 {name}, {name};"
        return f"mov.{kind} {name}, {'smem' if 'shared' in form else 'gmem'};"
    if kind == "pred":
        return f"setp.lt.u32 {name}, %lane, {(0, 7, 16, 32)[position % 4]};"
    return f"ld.global.b{SIZES[kind]} {name}, [%base+{position * 32 * STRIDE}];"


def arguments_of(form: str, chance: random.Random) -> list[NDArray[np.uint8] | WithDescriptor]:
    """Return the arguments of `kernel_of(form)`: register values, edge cases included, and a tensor map."""
    count = len(dict.fromkeys(_REGISTER.findall(form))) + 1
    values = np.frombuffer(chance.randbytes(count * 32 * STRIDE), np.uint8).copy()
    corners = np.array([0, 1, 0x80000000, 0xFFFFFFFF, 0x7FC00000, 0x3F800000], np.uint32)
    words = values.view(np.uint32)
    words[::5] = [chance.choice(corners) for _ in words[::5]]
    return [values, _map_for(form)]


def _map_for(form: str) -> WithDescriptor:
    found = _RANK.search(form)
    rank = int(found[1]) if found else 2
    array = np.arange(4 ** (rank - 1) * 64, dtype=np.uint8).reshape(*(4,) * (rank - 1), 64)
    ones = (1,) * rank
    if "im2col" in form:
        none = (0,) * (rank - 2)
        return WithDescriptor(
            array, TensorMap("u8", array.shape, array.strides, (), ones, im2col=Im2col(none, none, 16, 4))
        )
    return WithDescriptor(array, TensorMap("u8", array.shape, array.strides, (*(2,) * (rank - 1), 16), ones))
