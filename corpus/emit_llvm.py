"""Compile LLVM IR to PTX with llvmlite: `emit_llvm.py SOURCE TARGET PTX_FEATURE OUTPUT`."""

from __future__ import annotations

import sys
from pathlib import Path

import llvmlite.binding as llvm


def main(source: str, target: str, feature: str, output: str) -> None:
    """Write the PTX of `source` for `target`, at the PTX version that `feature` names (`ptx83`), to `output`."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(Path(source).read_text(encoding="utf-8"))
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(
        cpu=target, features=f"+{feature}", opt=2
    )
    Path(output).write_bytes(machine.emit_assembly(module).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
