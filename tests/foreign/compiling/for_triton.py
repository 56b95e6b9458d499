"""Triton and Gluon: kernels compiled without a GPU, with the data for their launchers."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

import triton
from cases import Array, Case, Described
from modules import Compiled, Parameters
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource

# Triton's names of element types.
TYPES = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float8_e4m3fn": "fp8e4nv",
         "float8_e5m2": "fp8e5", "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
         "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64"}  # fmt: skip
RELEASE = tuple(map(int, triton.__version__.split(".")[:2]))
# The newest PTX ISA of ptxas 13.0; earlier releases of Triton only emit the PTX ISA of their own ptxas.
VERSIONED = {"ptx_version": 90} if RELEASE >= (3, 9) else {}


def without_assembly(*_: Any) -> bytes:
    """Return empty machine code in place of ptxas: only PTX is needed."""
    return b""


def compiled(case: Case, target: str) -> Compiled:
    """Compile a kernel as Triton's or Gluon's own launcher would for these arguments."""
    CUDABackend.make_cubin = without_assembly
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
    types = {name: _type(case.arguments[name]) if name in case.arguments else "constexpr" for name in names}
    divisible = [names.index(name) for name, argument in case.arguments.items() if _divisible(argument)]
    make = _source_before_3_3 if RELEASE < (3, 3) else _source
    source = make(case, types, divisible)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options={**VERSIONED, **case.options})


def _source(case: Case, types: dict[str, str], divisible: list[int]) -> Any:
    constants = {(case.kernel.arg_names.index(name),): value for name, value in case.constants.items()}
    attributes = {(place,): [["tt.divisibility", 16]] for place in divisible}
    return _maker(case.kernel)(case.kernel, types, constants, attributes)


def _source_before_3_3(case: Case, types: dict[str, str], divisible: list[int]) -> Any:
    """Return Triton's source object, without constants in the signature and with attributes as an `AttrsDescriptor`."""
    from triton.backends.compiler import AttrsDescriptor

    signature = {name: kind for name, kind in types.items() if kind != "constexpr"}
    attributes = AttrsDescriptor.from_hints(dict.fromkeys(divisible, 16))
    return ASTSource(case.kernel, signature, case.constants, attributes)


def _maker(kernel: Any) -> Any:
    """Return the class of a kernel's source; Gluon has its own, which early releases of Triton lack."""
    if type(kernel).__name__ != "GluonJITFunction":
        return ASTSource
    from triton.experimental.gluon._runtime import GluonASTSource

    return GluonASTSource


def _type(argument: Any) -> str:
    if isinstance(argument, Described):
        return f"tensordesc<{TYPES[argument.array.element]}[{', '.join(map(str, argument.box))}]>"
    if isinstance(argument, Array):
        return f"*{TYPES[argument.element]}"
    return "fp32" if isinstance(argument, float) else "i32"


def _divisible(argument: Any) -> bool:
    return isinstance(argument, Array) or (isinstance(argument, int) and argument % 16 == 0)
