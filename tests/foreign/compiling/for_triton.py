"""Triton and Gluon: kernels compiled for a target that is not there, with what their launchers are told of them."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

import triton
from cases import Array, Case, Described
from modules import Compiled, Parameters
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental.gluon._runtime import GluonASTSource, GluonJITFunction

# Triton's names of element types.
TYPES = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float8_e4m3fn": "fp8e4nv",
         "float8_e5m2": "fp8e5", "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
         "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64"}  # fmt: skip
_PTX_VERSION = 90  # the newest that ptxas 13.0 reads


def without_assembly(_: Any = None, stages: dict[str, Any] | None = None, *_others: Any) -> tuple[str, str]:
    """Leave machine code empty: a hook into the compiler's stages, which is also asked for a key of its cache."""
    if stages is not None:
        stages["cubin"] = lambda _ptx, _metadata: b""
    return "ptx", "ptx"


def compiled(case: Case, target: str) -> Compiled:
    """Compile as the language's own launcher would for these arguments."""
    triton.knobs.runtime.add_stages_inspection_hook = without_assembly
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        kernel = _compiled(case, int(re.sub(r"\D", "", target)))
    text, known = kernel.asm["ptx"], kernel.metadata
    behind = compiled(case.behind, target) if case.behind else None
    parameters = Parameters.behind(behind)
    for argument in case.arguments.values():
        parameters.add(argument.array if isinstance(argument, Described) else argument)
    said = {"signature": kernel.src.signature, "metadata": known._asdict()}
    others = (behind.text,) if behind else ()
    return Compiled(text, known.name, parameters, case.block, linked=others, behind=behind, triton=said)


def _compiled(case: Case, capability: int) -> Any:
    names = case.kernel.arg_names
    signature = {name: _type(case.arguments[name]) if name in case.arguments else "constexpr" for name in names}
    constants = {(names.index(name),): value for name, value in case.constants.items()}
    attributes = {(names.index(name),): [["tt.divisibility", 16]]
                  for name, argument in case.arguments.items() if _divisible(argument)}  # fmt: skip
    make = GluonASTSource if isinstance(case.kernel, GluonJITFunction) else ASTSource
    source = make(case.kernel, signature, constants, attributes)
    return triton.compile(
        source, target=GPUTarget("cuda", capability, 32), options={"ptx_version": _PTX_VERSION, **case.options}
    )


def _type(argument: Any) -> str:
    if isinstance(argument, Described):
        return f"tensordesc<{TYPES[argument.array.element]}[{', '.join(map(str, argument.box))}]>"
    if isinstance(argument, Array):
        return f"*{TYPES[argument.element]}"
    return "fp32" if isinstance(argument, float) else "i32"


def _divisible(argument: Any) -> bool:
    return isinstance(argument, Array) or (isinstance(argument, int) and argument % 16 == 0)
