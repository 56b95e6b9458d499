"""Compile CUDA C++ to PTX with the NVRTC in `packages`: `emit_nvrtc.py SOURCE TARGET FLAG… OUTPUT`."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path


class Compiler:
    """The part of NVRTC that compiles one program."""

    def __init__(self) -> None:
        libraries = Path("packages/nvidia").glob("*/lib/libnvrtc.so.*")
        self.library = ctypes.CDLL(str(min(libraries)))  # the alternative library has a longer name

    def compile(self, text: str, name: str, options: list[str]) -> bytes:
        """Return the PTX of a program, or exit with the compiler's error log."""
        nvrtc, program = self.library, ctypes.c_void_p()
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
        words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        if nvrtc.nvrtcCompileProgram(program, len(options), words):
            sys.exit(self._answer(program, "ProgramLog").decode())
        return self._answer(program, "PTX")

    def _answer(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{what}")(program, text)
        return text.value


def main(source: str, target: str, *rest: str) -> None:
    """Write the PTX of `source` for `target` to the last argument."""
    *flags, output = rest
    options = [f"--gpu-architecture={target.replace('sm_', 'compute_')}", "-std=c++17", "--device-int128", *flags]
    done = Compiler().compile(Path(source).read_text(encoding="utf-8"), f"/proc/self/cwd/{source}", options)
    Path(output).write_bytes(done)


if __name__ == "__main__":
    main(*sys.argv[1:])
