"""Modules that define the names of `ptx`; each is imported when one of its names is first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableMapping

__all__ = ["MODULES", "load"]

MODULES: dict[str, str] = {
    "instructions.address": "addr cvta tensor_addr unified",
    "instructions.groups.arithmetic": (
        "abs add addc clmad div dp2a dp4a fma mad mad24 madc max min mul mul24 neg rem sad sub subc"
    ),
    "instructions.asm_region": "asm_region",
    "instructions.groups.async_copy": "cp",
    "instructions.groups.atomics": "atom red",
    "instructions.groups.barriers": "NamedBarrier bar barrier named_barrier",
    "instructions.groups.bits": (
        "and_ bfe bfi bfind bmsk brev clz cnot fns lop3 not_ or_ popc prmt shf shl shr szext xor_"
    ),
    "instructions.calls": "branchtargets call callprototype calltargets parameter",
    "instructions.groups.compare": "selp set_ setp slct",
    "control_flow.blocks": "block break_ continue_",
    "control_flow.branches": "bra brkpt elif_ else_ exit if_ label pmevent ret trap",
    "control_flow.predicated": "predicated",
    "instructions.groups.convert": "cvt cvt_pack mov",
    "instructions.directives": "close_scope comment directive empty formatted open_scope",
    "instructions.expressions": "expr pipe scope",
    "instructions.groups.fences": "fence membar nanosleep",
    "instructions.groups.floating": "copysign cos ex2 lg2 rcp rsqrt sin sqrt tanh testp",
    "instructions.forms.dotted": "inst",
    "control_flow.kloops": "kloop",
    "instructions.groups.lanes": "activemask match redux shfl vote",
    "control_flow.loops": "loop while_",
    "instructions.groups.matrix": "ldmatrix movmatrix stmatrix",
    "instructions.groups.mbarriers": "mbarrier",
    "instructions.groups.memory": "applypriority createpolicy discard isspacep ld ldu prefetch prefetchu st",
    "instructions.parameters": "global_ptrs param params",
    "instructions.pipelines": "PipelineState pipeline",
    "instructions.groups.wmma": "wmma",
    "instructions.printing": "printf",
    "instructions.groups.mma": "mma",
    "control_flow.ranges": "range_",
    "instructions.raw_text": "raw",
    "instructions.reductions": "warp",
    "instructions.groups.special_registers": "ctaid_x ctaid_y ctaid_z global_id special sreg",
    "instructions.groups.stack": "alloca stackrestore stacksave",
    "instructions.groups.textures": "istypep suld suq sured sust tex tld4 txq",
    "instructions.groups.video": (
        "vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2"
        " vmin4 vset vset2 vset4 vshl vshr vsub vsub2 vsub4"
    ),
    "instructions.variables": "declarator file_ loc pragma var",
}
"""Module of `pyptx_dsl` -> names of `ptx` that the module defines."""

_BUILTINS = frozenset({"abs", "exit", "max", "min"})
"""Names of `ptx` with a trailing underscore in their modules, because Python has builtins of these names."""

_HOMES = {name: module for module, names in MODULES.items() for name in names.split()}


def load(name: str, namespace: MutableMapping[str, object]) -> object:
    """Return `ptx.<name>`; store it in `namespace`, except a plugin's object, which is looked up at each access."""
    module = _HOMES.get(name)
    if module is None:
        from pyptx_dsl.instructions.missing import namespace as provided

        return provided(name, tuple(_HOMES))
    attribute = f"{name}_" if name in _BUILTINS else name
    value = namespace[name] = getattr(importlib.import_module(f"pyptx_dsl.{module}"), attribute)
    return value
