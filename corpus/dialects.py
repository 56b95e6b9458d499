"""Modules from Python DSLs and from compilers that are libraries: one row per module.

A source defines its cases in `CASES`; a module's file is named after source and case.
"""

from __future__ import annotations

from plan import Build, nvcc_builds

# Sources, their cases, and the targets of each case.
TRITON: dict[str, dict[str, str]] = {
    "attention": {
        "causal": "80 90a 100a 120a",
        "full": "80 90a",
        "small": "80",
        "tma": "90a 120a",
        "tma-wide": "90a",
        "specialised": "90a 100a",
    },
    "matmul": {
        "half": "75 80 90a 100a 120a",
        "wide": "80 90a 100a",
        "tf32": "80 90a",
        "fp8": "89 90a 120a",
        "int8": "80 90a",
        "split": "80 120a",
        "maps": "90a 100a 120a",
        "maps-wide": "90a",
        "maps-roles": "90a 100a",
        "persistent": "90a 120a",
        "persistent-roles": "90a 100a",
        "cluster": "90a 100a",
        "scaled": "100a 120a",
    },
    "rows": {
        "softmax": "75 80 90a 120a",
        "softmax-small": "80 100a",
        "layer-norm": "80 90a",
        "rms-norm-backward": "80 100a",
        "cross-entropy": "80 90a 120a",
    },
    "across": {
        "reductions": "75 90a",
        "moments": "80 100a",
        "recurrence": "80 90a",
        "sums": "80 120a",
        "sorting": "90a",
        "counting": "80 90a",
        "gathering": "80 100a",
    },
    "elements": {
        "gated": "80 90a 120a",
        "rotated": "75 90a",
        "dropout": "80 100a",
        "narrowed": "89 90a 100a",
        "quantised": "80 90a",
        "atomics": "75 80 90a",
        "assembly": "80 90a",
        "control": "80 90a",
    },
}

GLUON: dict[str, dict[str, str]] = {
    "products": {
        "narrow": "90a",
        "ring": "90a",
        "wide": "90a",
        "memory": "100a 103a",
        "memory-wide": "100a",
        "roles": "100a",
        "roles-wide": "100a 103a",
    },
    "vectors": {
        "scaled": "80 90a 120a",
        "totals": "80 100a",
        "turned": "80 90a 120a",
    },
}

NUMBA: dict[str, dict[str, str]] = {
    "kernels": {
        "add": "75 90a",
        "add-strided": "80",
        "add-lines": "90",
        "add-debug": "80",
        "saxpy": "80 120a",
        "multiply": "75 90a 100",
        "multiply-lines": "80",
        "total": "80 90",
        "counted": "80 100a",
        "bits": "75 90a",
        "mathematics": "80 90",
        "mathematics-fast": "89",
        "escape": "80 120",
        "sorted": "90",
        "divided": "80 90a",
        "horner": "90a",
    },
}

WARP: dict[str, dict[str, str]] = {
    "elements": {
        "vectors": "75 90a 120a",
        "vectors-forward": "80",
        "vectors-lines": "100a",
        "vectors-debug": "80",
        "particles": "80",
        "particles-forward": "90a",
        "matrices-fast": "80",
        "counting": "75 100a",
        "noise": "80",
        "noise-fast": "90a",
        "searching": "80 120a",
    },
    "tiles": {
        "product": "80 90a 100a",
        "product-backward": "80",
        "rows": "80 120a",
        "scans": "75 90a",
        "sorting": "80 100a",
    },
    "geometry": {
        "rays": "80 90a",
        "neighbours": "75 120a",
        "neighbours-lines": "80",
    },
}

TILELANG: dict[str, dict[str, str]] = {
    "products": {
        "half": "75 80 90a 100a 120a",
        "wide": "80 90a",
        "fp8": "89 90a 120a",
        "int8": "80 90a",
        "tf32": "80 90a",
        "memory": "100a",
        "attention": "80 90a 120a",
        "attention-wide": "90a",
    },
    "rows": {
        "elements": "75 90a 100a",
        "rms-norm": "80 90a",
        "softmax": "80 100a",
        "gathered": "80 90a",
    },
}

XLA: dict[str, dict[str, str]] = {
    "arrays": {
        "softmax": "75 80 90a 100a",
        "layer-norm": "80 90a",
        "dense": "90a",
        "attention": "80 90a 100a",
        "mathematics": "75 90a",
        "narrowed": "80 100a",
        "turned": "80 120",
        "sums": "80 90a",
        "sorted": "80 120",
        "gathered": "75 90a",
        "scattered": "80 90a",
        "pooled": "80",
        "iterated": "90a",
        "random": "80 120",
    },
}

PALLAS: dict[str, dict[str, str]] = {
    "blocks": {
        "gated": "80 90a 120",
        "product": "80 90a 100a 120",
        "product-wide": "80 90a",
        "softmax": "80 100a",
        "recurrence": "80 90a",
        "attention": "80 90a 100a 120",
    },
}

MOSAIC: dict[str, dict[str, str]] = {
    "warpgroups": {
        "scaled": "90a 100a 103a",
        "scaled-half": "90a 100a",
        "normalised": "90a 100a",
        "product": "90a",
        "product-narrow": "90a",
        "product-deep": "90a",
        "roles": "90a",
        "roles-deep": "90a",
        "memory": "100a 103a",
        "memory-narrow": "100a",
    },
}

CUTEDSL: dict[str, dict[str, str]] = {
    "vectors": {
        "add": "80 90a 100a 120a",
        "totals": "80 90a 100a",
        "polynomial": "80 120a",
        "polynomial-half": "90a 103a",
    },
    "products": {
        "ampere": "80 90a 120a",
        "warpgroup": "90a",
        "warpgroups": "90a",
        "warpgroups-wide": "90a",
        "memory": "100a 103a",
        "memory-wide": "100a",
        "memory-narrow": "100a",
    },
}

NVRTC: dict[str, dict[str, str]] = {
    "nvrtc-11.8": {
        "elementwise": "75 86 | lineinfo@80",
        "functions": "80 | debug@75",
        "templates": "89",
        "numerics": "75",
        "shared_memory": "80 | fast@90",
        "switches": "75 90",
        "warp": "75 80",
        "stepping": "86 | lineinfo@75 debug@80",
        "textures": "75",
        "wide_integers": "75",
    },
    "nvrtc-12.4": {
        "elementwise": "80 | debug@90a",
        "atomics": "80 90a",
        "functions": "75 | lineinfo@90",
        "inline_ptx": "75 89",
        "templates": "90a",
        "numerics": "80",
        "shared_memory": "90a",
        "simd_in_words": "75 90a",
        "stepping": "75",
        "wide_integers": "80",
        "warp": "75 90a",
        "switches": "80",
        "textures": "90a",
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
        "wide_integers": "120a",
        "templates": "103a",
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


def _builds(producer: str, folder: str, table: dict[str, dict[str, str]]) -> tuple[Build, ...]:
    return tuple(
        Build(producer, f"sources/{folder}/{source}.py", f"sm_{target}", case, (case,))
        for source, cases in table.items()
        for case, targets in cases.items()
        for target in targets.split()
    )


DIALECTS: tuple[Build, ...] = (
    *_builds("triton-3.9", "triton", TRITON),
    *_builds("gluon-3.9", "gluon", GLUON),
    *_builds("numba-0.30", "numba", NUMBA),
    *_builds("warp-1.19", "warp", WARP),
    *_builds("tilelang-0.1", "tilelang", TILELANG),
    *_builds("xla-0.10", "jax", XLA),
    *_builds("pallas-0.10", "jax", PALLAS),
    *_builds("mosaic-0.10", "jax", MOSAIC),
    *_builds("cutedsl-4.8", "cutedsl", CUTEDSL),
    *(build for producer, table in NVRTC.items() for build in nvcc_builds(producer, table)),
)
