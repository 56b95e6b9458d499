"""What the corpus holds of languages inside Python, and of compilers that are libraries: one row per module.

What a case is stands in the source, in its `CASES`; a module's file is named after both.
"""

from __future__ import annotations

from plan import Build, nvcc_builds

# A source, and the pairs of a case and a target that are built of it.
TRITON: dict[str, str] = {
    "attention": (
        "causal@80 causal@90a causal@100a causal@120a full@80 full@90a small@80 tma@90a tma-wide@90a tma@120a "
        "specialised@90a specialised@100a"
    ),
    "matmul": (
        "half@75 half@80 half@90a half@100a half@120a wide@80 wide@90a wide@100a tf32@80 tf32@90a fp8@89 fp8@90a "
        "fp8@120a int8@80 int8@90a split@80 split@120a maps@90a maps@100a maps@120a maps-wide@90a "
        "maps-roles@90a maps-roles@100a persistent@90a persistent@120a persistent-roles@90a persistent-roles@100a "
        "cluster@90a cluster@100a scaled@100a scaled@120a"
    ),
    "rows": (
        "softmax@75 softmax@80 softmax@90a softmax@120a softmax-small@80 softmax-small@100a layer-norm@80 layer-norm@90a "
        "rms-norm-backward@80 rms-norm-backward@100a cross-entropy@80 cross-entropy@90a cross-entropy@120a"
    ),
    "across": (
        "reductions@75 reductions@90a moments@80 moments@100a recurrence@80 recurrence@90a sums@80 sums@120a sorting@90a "
        "counting@80 counting@90a gathering@80 gathering@100a"
    ),
    "elements": (
        "gated@80 gated@90a gated@120a rotated@75 rotated@90a dropout@80 dropout@100a narrowed@89 narrowed@90a "
        "narrowed@100a quantised@80 quantised@90a atomics@75 atomics@80 atomics@90a assembly@80 assembly@90a control@80 control@90a"
    ),
}


NVRTC: dict[str, dict[str, str]] = {
    "nvrtc-11.8": {
        "elementwise": "75 86 | lineinfo@80",
        "functions": "80 | debug@75",
        "templates": "89",
        "mma_sync": "80 90",
        "numerics": "75",
        "shared_memory": "80 | fast@90",
        "switches": "75 90",
        "warp": "80",
        "stepping": "86 | lineinfo@75 debug@80",
        "textures": "75",
        "hopper_copy": "90",
    },
    "nvrtc-12.4": {
        "elementwise": "80 | debug@90a",
        "atomics": "80 90a",
        "functions": "75 | lineinfo@90",
        "inline_ptx": "75 89",
        "templates": "90a",
        "mma_sync": "89",
        "numerics": "80",
        "shared_memory": "90a",
        "simd_in_words": "75 90a",
        "stepping": "75",
        "wide_integers": "80",
        "hopper_copy": "90a",
        "hopper_wgmma": "90a",
        "hopper_gemm": "90a",
    },
    "nvrtc-12.9": {
        "elementwise": "100a 120a | fast@75",
        "atomics": "103a 121a",
        "functions": "120a",
        "inline_ptx": "80 100a",
        "math_single": "90a",
        "mma_sync": "120a",
        "switches": "100a | debug@120a",
        "shared_memory": "75",
        "warp": "100a",
        "stepping": "103a | lineinfo@120a",
        "textures": "100a",
        "hopper_copy": "90a",
        "hopper_gemm": "90a",
        "tcgen05": "100a 103a",
        "blackwell_data": "100a",
        "scaled_mma": "120a",
    },
    "nvrtc-13.5": {
        "elementwise": "75 107a | lineinfo@100a",
        "atomics": "80 107a",
        "functions": "90a",
        "gemm": "80",
        "templates": "100a",
        "mma_sync": "80 90a",
        "numerics": "120a",
        "switches": "75",
        "simd_in_words": "110a",
        "wide_integers": "100a",
        "stepping": "80 | debug@100a",
        "hopper_copy": "90a | lineinfo@90a",
        "hopper_gemm": "90a",
        "tcgen05": "100a 107a",
        "blackwell_data": "103a",
        "scaled_mma": "121a",
    },
}


def _builds(producer: str, folder: str, table: dict[str, str]) -> tuple[Build, ...]:
    builds: list[Build] = []
    for source, row in table.items():
        for item in row.split():
            case, _, target = item.partition("@")
            builds.append(Build(producer, f"sources/{folder}/{source}.py", f"sm_{target}", case, (case,)))
    return tuple(builds)


DIALECTS: tuple[Build, ...] = (
    *_builds("triton-3.9", "triton", TRITON),
    *(build for producer, table in NVRTC.items() for build in nvcc_builds(producer, table)),
)
