"""Compiled modules of the corpus: one row per module.

These tables, `dialects.py` and `handmade.py` are handwritten; `build.py` generates `manifest.toml` from them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Build:
    """One module: `producer` compiles `source` for `target`; `variant` names `flags` in the module's file name."""

    producer: str
    source: str
    target: str
    variant: str = ""
    flags: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The module's path below `corpus/`."""
        stem = self.source.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        middle = f".{self.variant}" if self.variant else ""
        return f"{self.producer}/{stem}.{self.target}{middle}.ptx"


# Flags that change the text of a module.
VARIANTS: dict[str, tuple[str, ...]] = {
    "debug": ("-G",),
    "lineinfo": ("-lineinfo",),
    "source": ("-lineinfo", "-src-in-ptx"),
    "fast": ("-use_fast_math",),
    "nofma": ("-fmad=false", "-prec-div=false"),
    "registers": ("-maxrregcount=48",),
    "relocatable": ("-rdc=true",),
    "O0": ("-Xcicc", "-O0"),
    "opt-debug": ("-G", "-dopt=on"),
}

# source: "targets | variant@target …" for nvcc 13.0
NVCC_13_0: dict[str, str] = {
    "elementwise": "75 80 86 90 100 120a | lineinfo@90a fast@89 debug@80 O0@75 nofma@88",
    "stepping": "75 103a | debug@75 debug@90a debug@100a debug@120a lineinfo@86 source@90a O0@80 opt-debug@89",
    "inline_ptx": "75 80 87 90a 110a | lineinfo@89 debug@90 source@120",
    "templates": "80 90 100a | lineinfo@75 debug@86",
    "functions": "75 90a 120a | debug@89 lineinfo@100 relocatable@80 O0@90",
    "textures": "75 89 100a",
    "printing": "75 90 121a | debug@80 relocatable@100a",
    "groups": "75 80 90a 100a | relocatable@90",
    "shared_memory": "75 86 90 110 | lineinfo@80 debug@103 fast@120a",
    "tables": "75 90a 120 | debug@90 relocatable@80",
    "atomics": "75 80 90a 103a | debug@86",
    "atomic_ref": "75 80 90a 100a",
    "warp": "75 80 90 100f | lineinfo@103a debug@75",
    "half": "75 80 89 90a 120a",
    "narrow_floats": "89 90a 100a 120a",
    "wmma": "75 80 90 120",
    "mma_sync": "75 80 89 90a 120a | lineinfo@86",
    "simd_in_words": "75 90a 110a | debug@89",
    "math_single": "75 90a | fast@80",
    "math_double": "80 100a | nofma@90",
    "wide_integers": "75 90a | debug@120a O0@86",
    "switches": "75 80 90a 120a | debug@100 lineinfo@90",
    "launch_attributes": "75 80 90a 100a 120f | debug@90a",
    "separate_caller": "| relocatable@75 relocatable@90a relocatable@120a",
    "separate_library": "| relocatable@75 relocatable@90a relocatable@120a",
    "virtuals": "75 80 90a",
    "stack": "75 80 90a 100a | O0@90",
    "memory_operators": "75 80 90a 100a | lineinfo@120a",
    "special_registers": "75 90 120a | lineinfo@103",
    "hopper_copy": "90 90a | lineinfo@90a debug@90a",
    "hopper_wgmma": "90a | lineinfo@90a",
    "hopper_gemm": "90a",
    "cuda_ptx": "75 90a 100a 120a",
    "pipelines": "75 80 90a",
    "tcgen05": "100a 103a 110a | lineinfo@100a debug@100a",
    "blackwell_data": "100a 100f 103a | lineinfo@100a",
    "scaled_mma": "120a 121a | lineinfo@120a",
    "gemm": "80 | registers@90a lineinfo@120a",
    "hashing": "75 | lineinfo@90a",
    "numerics": "75 90a | fast@100a debug@80 lineinfo@86",
}

NVCC_13_5: dict[str, str] = {
    "elementwise": "75 90a 120a | debug@100a",
    "inline_ptx": "80 107a",
    "functions": "103a | lineinfo@86",
    "atomics": "90a 121a",
    "half": "100f 110f",
    "switches": "89",
    "launch_attributes": "90 107a",
    "hopper_copy": "90a",
    "tcgen05": "100a 103a",
    "blackwell_data": "107a",
    "scaled_mma": "120a",
    "cuda_ptx": "107a",
    "numerics": "88",
    "hopper_gemm": "90a | lineinfo@90a",
    "hopper_wgmma": "90a",
    "stepping": "80 | debug@103a",
    "templates": "90 | lineinfo@107a",
    "textures": "80",
    "warp": "107a",
    "tables": "90",
    "wide_integers": "110f",
    "mma_sync": "90a",
    "simd_in_words": "107a",
    "shared_memory": "75 | fast@100a",
    "stack": "80",
    "virtuals": "90a",
    "wmma": "75 90",
    "special_registers": "107a",
    "memory_operators": "103a",
    "narrow_floats": "107a",
    "printing": "110f",
    "atomic_ref": "90a",
    "groups": "90a",
    "pipelines": "90a",
}

EXTRA_FLAGS: dict[str, tuple[str, ...]] = {"virtuals": ("--extended-lambda",)}


def nvcc_builds(producer: str, table: dict[str, str]) -> tuple[Build, ...]:
    """Return the builds of a table whose rows are "target … | variant@target …"."""
    builds: list[Build] = []
    for source, row in table.items():
        extra = EXTRA_FLAGS.get(source, ())
        plain, _, variants = row.partition("|")
        builds += [Build(producer, f"sources/{source}.cu", f"sm_{target}", flags=extra) for target in plain.split()]
        for item in variants.split():
            variant, _, target = item.partition("@")
            flags = (*extra, *VARIANTS[variant])
            builds.append(Build(producer, f"sources/{source}.cu", f"sm_{target}", variant, flags))
    return tuple(builds)


# producer: (PTX version feature, targets); every clang source is built for each of them.
CLANG_TARGETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "clang-14": ("ptx75", ("sm_75", "sm_80", "sm_86")),
    "clang-19": ("ptx85", ("sm_75", "sm_89", "sm_90a")),
    "clang-22": ("ptx88", ("sm_80", "sm_100a", "sm_120a")),
}
CLANG_SOURCES = ("arrays.cu", "control.cu", "plain.c", "kernels.cl")
CLANG_VARIANTS: dict[str, tuple[str, ...]] = {
    "debug": ("-O0", "-g"),
    "lines": ("-O2", "-gline-tables-only"),
    "fast": ("-O3", "-ffast-math"),
}


def _clang_builds() -> tuple[Build, ...]:
    builds: list[Build] = []
    for producer, (feature, targets) in CLANG_TARGETS.items():
        version = ("-Xclang", "-target-feature", "-Xclang", f"+{feature}")
        for source in CLANG_SOURCES:
            path = f"sources/clang/{source}"
            builds += [Build(producer, path, target, flags=("-O2", *version)) for target in targets]
            if not source.endswith(".cu"):
                continue
            for variant, flags in CLANG_VARIANTS.items():
                builds.append(Build(producer, path, targets[1], variant, (*flags, *version)))
    return tuple(builds)


# .ll source: "target+ptx version …" for LLVM 22 through llvmlite
LLVM_22: dict[str, str] = {
    "arithmetic": "sm_75+ptx63 sm_90a+ptx83 sm_100a+ptx88 sm_121a+ptx88",
    "memory": "sm_75+ptx75 sm_90+ptx83 sm_120a+ptx90",
    "functions": "sm_80+ptx73 sm_90a+ptx86 sm_103a+ptx88",
    "hopper": "sm_90a+ptx86",
    "blackwell": "sm_100a+ptx86 sm_103a+ptx90",
    "debug": "sm_80+ptx75 sm_120a+ptx90",
    "empty": "sm_75+ptx70 sm_90a+ptx90",
}


def _llvm_builds() -> tuple[Build, ...]:
    builds: list[Build] = []
    for source, row in LLVM_22.items():
        for item in row.split():
            target, _, feature = item.partition("+")
            builds.append(Build("llvm-22", f"sources/llvm/{source}.ll", target, flags=(feature,)))
    return tuple(builds)


COMPILERS: tuple[Build, ...] = (
    *nvcc_builds("nvcc-13.0", NVCC_13_0),
    *nvcc_builds("nvcc-13.5", NVCC_13_5),
    *_clang_builds(),
    *_llvm_builds(),
)
