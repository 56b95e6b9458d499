"""Where the names of `ptx` are defined, so that each module is imported when one of its names is first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableMapping

__all__ = ["MODULES", "load"]

MODULES: dict[str, str] = {
    "address": "addr cvta global_ptrs param",
    "arithmetic": "abs add addc div dp2a dp4a fma mad mad24 madc max min mul mul24 neg rem sad sub subc",
    "async_copy": "cp",
    "atomics": "atom red",
    "barriers": "NamedBarrier bar barrier named_barrier",
    "bits": "and_ bfe bfi bfind bmsk brev clz cnot fns lop3 not_ or_ popc prmt shf shl shr szext xor_",
    "compare": "selp set_ setp slct",
    "control": "bra brkpt elif_ else_ exit if_ label pmevent ret trap",
    "convert": "cvt cvt_pack mov",
    "expressions": "expr pipe scope",
    "fences": "fence membar nanosleep",
    "floating": "copysign cos ex2 lg2 rcp rsqrt sin sqrt tanh testp",
    "instruction": "inst",
    "kloops": "kloop",
    "lanes": "activemask match redux shfl vote",
    "loops": "break_ continue_ loop while_",
    "matrix": "ldmatrix movmatrix stmatrix",
    "mbarriers": "mbarrier",
    "memory": "applypriority createpolicy discard isspacep ld ldu prefetch prefetchu st",
    "pipelines": "PipelineState pipeline",
    "opaque_products": "wmma",
    "printing": "printf",
    "products": "mma",
    "ranges": "range_",
    "raw_text": "raw",
    "reductions": "warp",
    "special_registers": "ctaid_x ctaid_y ctaid_z global_id special sreg",
    "variables": "file_ loc pragma var",
}
"""The names of each module. No module is called like one of them: importing it would put it in the name's place."""

_BUILTINS = frozenset({"abs", "exit", "max", "min"})
"""Names that their modules write with an underscore, to keep Python's own."""

_HOMES = {name: module for module, names in MODULES.items() for name in names.split()}


def load(name: str, namespace: MutableMapping[str, object]) -> object:
    """Return `ptx.<name>`, and keep it in `namespace` if it is one of ours; a plugin's is asked for each time."""
    module = _HOMES.get(name)
    if module is None:
        from pyptx_dsl.ptx.missing import namespace as provided

        return provided(name, tuple(_HOMES))
    attribute = f"{name}_" if name in _BUILTINS else name
    value = namespace[name] = getattr(importlib.import_module(f"pyptx_dsl.ptx.{module}"), attribute)
    return value
