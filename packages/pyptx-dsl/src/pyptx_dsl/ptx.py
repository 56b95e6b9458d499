"""Instructions, control flow and special registers of PTX: `from pyptx import ptx`.

- `ptx.inst.<opcode>.<modifier>…(…)` emits any instruction, written as in the manual.
- `ptx.add(f32, d, a, b)` and similar functions take the type first and the modifiers as keywords.
- `ptx.if_`, `ptx.range_`, `ptx.loop`, … are control flow; `ptx.warp.reduce_sum`, … are helpers of several instructions.
- Namespaces of installed plugins, such as those of architectures, are attributes too, loaded on first use.

One call emits one instruction, unless its docstring gives another number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__: list[str] = [
    "NamedBarrier",
    "PipelineState",
    "abs",
    "activemask",
    "add",
    "addc",
    "addr",
    "alloca",
    "and_",
    "applypriority",
    "asm_region",
    "atom",
    "bar",
    "barrier",
    "bfe",
    "bfi",
    "bfind",
    "block",
    "bmsk",
    "bra",
    "branchtargets",
    "break_",
    "brev",
    "brkpt",
    "call",
    "callprototype",
    "calltargets",
    "clmad",
    "close_scope",
    "clz",
    "cnot",
    "comment",
    "continue_",
    "copysign",
    "cos",
    "cp",
    "createpolicy",
    "ctaid_x",
    "ctaid_y",
    "ctaid_z",
    "cvt",
    "cvt_pack",
    "cvta",
    "declarator",
    "directive",
    "discard",
    "div",
    "dp2a",
    "dp4a",
    "elif_",
    "else_",
    "empty",
    "ex2",
    "exit",
    "expr",
    "fence",
    "file_",
    "fma",
    "fns",
    "formatted",
    "global_id",
    "global_ptrs",
    "if_",
    "inst",
    "isspacep",
    "istypep",
    "kloop",
    "label",
    "ld",
    "ldmatrix",
    "ldu",
    "lg2",
    "loc",
    "loop",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "match",
    "max",
    "mbarrier",
    "membar",
    "min",
    "mma",
    "mov",
    "movmatrix",
    "mul",
    "mul24",
    "named_barrier",
    "nanosleep",
    "neg",
    "not_",
    "open_scope",
    "or_",
    "param",
    "parameter",
    "params",
    "pipe",
    "pipeline",
    "pmevent",
    "popc",
    "pragma",
    "predicated",
    "prefetch",
    "prefetchu",
    "printf",
    "prmt",
    "range_",
    "raw",
    "rcp",
    "red",
    "redux",
    "rem",
    "ret",
    "rsqrt",
    "sad",
    "scope",
    "selp",
    "set_",
    "setp",
    "shf",
    "shfl",
    "shl",
    "shr",
    "sin",
    "slct",
    "special",
    "sqrt",
    "sreg",
    "st",
    "stackrestore",
    "stacksave",
    "stmatrix",
    "sub",
    "subc",
    "suld",
    "suq",
    "sured",
    "sust",
    "szext",
    "tanh",
    "tensor_addr",
    "testp",
    "tex",
    "tld4",
    "trap",
    "txq",
    "unified",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "var",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vote",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
    "warp",
    "while_",
    "wmma",
    "xor_",
]

if TYPE_CHECKING:
    import pyptx_arch_blackwell.namespaces as _blackwell
    import pyptx_arch_hopper.namespaces as _hopper
    from pyptx_arch_blackwell.namespaces import *  # noqa: F403  as below
    from pyptx_arch_hopper.namespaces import *  # noqa: F403  names of a plugin: an absent one hides no misspelled name
    from pyptx_dsl.control_flow.blocks import block, break_, continue_
    from pyptx_dsl.control_flow.branches import bra, brkpt, elif_, else_, if_, label, pmevent, ret, trap
    from pyptx_dsl.control_flow.branches import exit_ as exit  # noqa: A004  the manual's name
    from pyptx_dsl.control_flow.kloops import kloop
    from pyptx_dsl.control_flow.loops import loop, while_
    from pyptx_dsl.control_flow.predicated import predicated
    from pyptx_dsl.control_flow.ranges import range_
    from pyptx_dsl.instructions.address import addr, cvta, tensor_addr, unified
    from pyptx_dsl.instructions.asm_region import asm_region
    from pyptx_dsl.instructions.calls import branchtargets, call, callprototype, calltargets, parameter
    from pyptx_dsl.instructions.directives import close_scope, comment, directive, empty, formatted, open_scope
    from pyptx_dsl.instructions.expressions import expr, pipe, scope
    from pyptx_dsl.instructions.groups.arithmetic import abs_ as abs  # noqa: A004  the manual's name
    from pyptx_dsl.instructions.groups.arithmetic import (
        add,
        addc,
        clmad,
        div,
        dp2a,
        dp4a,
        fma,
        mad,
        mad24,
        madc,
        mul,
        mul24,
        neg,
        rem,
        sad,
        sub,
        subc,
    )
    from pyptx_dsl.instructions.groups.arithmetic import max_ as max  # noqa: A004  the manual's name
    from pyptx_dsl.instructions.groups.arithmetic import min_ as min  # noqa: A004  the manual's name
    from pyptx_dsl.instructions.groups.async_copy import cp
    from pyptx_dsl.instructions.groups.atomics import atom, red
    from pyptx_dsl.instructions.groups.barriers import NamedBarrier, bar, barrier, named_barrier
    from pyptx_dsl.instructions.groups.bits import (
        and_,
        bfe,
        bfi,
        bfind,
        bmsk,
        brev,
        clz,
        cnot,
        fns,
        lop3,
        not_,
        or_,
        popc,
        prmt,
        shf,
        shl,
        shr,
        szext,
        xor_,
    )
    from pyptx_dsl.instructions.groups.compare import selp, set_, setp, slct
    from pyptx_dsl.instructions.groups.convert import cvt, cvt_pack, mov
    from pyptx_dsl.instructions.groups.fences import fence, membar, nanosleep
    from pyptx_dsl.instructions.groups.floating import copysign, cos, ex2, lg2, rcp, rsqrt, sin, sqrt, tanh, testp
    from pyptx_dsl.instructions.groups.lanes import activemask, match, redux, shfl, vote
    from pyptx_dsl.instructions.groups.matrix import ldmatrix, movmatrix, stmatrix
    from pyptx_dsl.instructions.groups.mbarriers import mbarrier
    from pyptx_dsl.instructions.groups.memory import (
        applypriority,
        createpolicy,
        discard,
        isspacep,
        ld,
        ldu,
        prefetch,
        prefetchu,
        st,
    )
    from pyptx_dsl.instructions.groups.mma import mma
    from pyptx_dsl.instructions.groups.special_registers import ctaid_x, ctaid_y, ctaid_z, global_id, special, sreg
    from pyptx_dsl.instructions.groups.stack import alloca, stackrestore, stacksave
    from pyptx_dsl.instructions.groups.textures import istypep, suld, suq, sured, sust, tex, tld4, txq
    from pyptx_dsl.instructions.groups.video import (
        vabsdiff,
        vabsdiff2,
        vabsdiff4,
        vadd,
        vadd2,
        vadd4,
        vavrg2,
        vavrg4,
        vmad,
        vmax,
        vmax2,
        vmax4,
        vmin,
        vmin2,
        vmin4,
        vset,
        vset2,
        vset4,
        vshl,
        vshr,
        vsub,
        vsub2,
        vsub4,
    )
    from pyptx_dsl.instructions.groups.wmma import wmma
    from pyptx_dsl.instructions.instruction_set import inst  # pyright: ignore[reportMissingModuleSource]  instruction.py runs
    from pyptx_dsl.instructions.parameters import global_ptrs, param, params
    from pyptx_dsl.instructions.pipelines import PipelineState, pipeline
    from pyptx_dsl.instructions.printing import printf
    from pyptx_dsl.instructions.raw_text import raw
    from pyptx_dsl.instructions.reductions import warp
    from pyptx_dsl.instructions.variables import declarator, file_, loc, pragma, var

    __all__ += _blackwell.__all__
    __all__ += _hopper.__all__
else:  # not for type checkers, which accept any name of a module with `__getattr__`

    def __getattr__(name: str) -> object:
        """Return an attribute of `ptx`: a function from its module, or a plugin's namespace, imported on first use."""
        from pyptx_dsl.instructions.names import load

        return load(name, globals())

    def __dir__() -> list[str]:
        """Return the built-in attribute names and the namespaces of installed plugins."""
        from pyptx_dsl.instructions.completion import provided

        return sorted({*__all__, *provided()})
