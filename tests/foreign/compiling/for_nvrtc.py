"""CUDA C++ by NVRTC: the same sources as for nvcc, with the headers of NVRTC's release."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import for_nvcc

if TYPE_CHECKING:
    from cases import Case
    from modules import Compiled

NVIDIA = next(Path(os.environ["FOREIGN_ENVIRONMENT"]).glob("lib/python3*/site-packages/nvidia"))
OPTIONS = ("-std=c++17", "--device-int128", "-w")
# NVRTC has no host C++ library; libcu++ replaces the standard headers that the sources include.
PRELUDE = """
#include <cuda/std/cstdint>
#include <cuda/std/type_traits>
#include <cuda_device_runtime_api.h>
namespace std { using cuda::std::int32_t; using cuda::std::uint32_t; using cuda::std::is_pointer; }
"""
TENSOR_MAP = "typedef struct CUtensorMap_st { alignas(64) unsigned long long words[16]; } CUtensorMap;"
HEADERS = {"prelude.h": PRELUDE, "cstdint": "", "cstdio": "", "cuda.h": TENSOR_MAP}


def compiled(case: Case, target: str) -> Compiled:
    """Return the module of a source with the case's entry, and the modules of the `linked` units."""
    return for_nvcc.compiled(case, target, _said)


@cache
def _said(source: str, target: str, *options: str) -> tuple[str, str]:
    """Return the PTX that NVRTC generates and NVRTC's errors; one of the two is empty."""
    library = ctypes.CDLL(str(min(NVIDIA.glob("cuda_nvrtc/lib/libnvrtc.so.*"), key=lambda path: len(path.name))))
    program, path = ctypes.c_void_p(), for_nvcc.SOURCES / source
    names, texts = _words(*HEADERS), _words(*HEADERS.values())
    text, name = path.read_bytes(), str(path).encode()
    library.nvrtcCreateProgram(ctypes.byref(program), text, name, len(HEADERS), texts, names)
    folders = [f"-I{each}" for each in (path.parent, *sorted(NVIDIA.glob("*/include")))]
    relocatable = ["--relocatable-device-code=true"] if "-dc" in options else []
    architecture = f"--gpu-architecture={target.replace('sm_', 'compute_')}"
    words = [architecture, *OPTIONS, *relocatable, *folders, "--pre-include=prelude.h"]
    failed = library.nvrtcCompileProgram(program, len(words), _words(*words))
    said = _answer(library, program, "ProgramLog" if failed else "PTX")
    return ("", said) if failed else (said, "")


def _words(*words: str) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(words))(*(word.encode() for word in words))


def _answer(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, text)
    return text.value.decode()
