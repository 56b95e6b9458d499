"""Compile a JAX function to PTX for a GPU that need not exist: `emit_jax.py SOURCE TARGET CASE OUTPUT`."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path("/proc/self/cwd")  # the same path on every machine

# Device properties that XLA needs: compute capability (major, minor), number of SMs, shared memory per CTA in bytes.
DEVICES = {
    "sm_75": (7, 5, 72, 65536),
    "sm_80": (8, 0, 108, 166912),
    "sm_89": (8, 9, 128, 101376),
    "sm_90a": (9, 0, 132, 232448),
    "sm_100a": (10, 0, 148, 232448),
    "sm_103a": (10, 3, 148, 232448),
    "sm_120": (12, 0, 170, 101376),
}


def described(target: str) -> str:
    """Return XLA's device description, as text of its protocol buffer."""
    major, minor, count, shared = DEVICES[target]
    return f"""gpu_device_info {{
        threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
        shared_memory_per_core: {shared + 1024} threads_per_core_limit: 2048 core_count: {count} fpus_per_core: 128
        block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
        memory_bandwidth: 3000000000000 l2_cache_size: 52428800 clock_rate_ghz: 1.9 device_memory_size: 80000000000
        shared_memory_per_block_optin: {shared} registers_per_core_limit: 65536 registers_per_block_limit: 65536
        cuda_compute_capability {{ major: {major} minor: {minor} }}
    }}
    platform_name: "CUDA" dnn_version_info {{ major: 9 minor: 8 patch: 0 }} device_description_str: "GPU"
    runtime_version {{ major: 13 minor: 0 }}"""


def traced(source: str, target: str, case: str) -> Any:  # noqa: ANN401 - a stage of JAX
    """Trace a source's `CASES[case]`, a function and its arguments' shapes, for a device of `target`."""
    import jax
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding

    device = topologies.get_topology_desc(
        platform="cuda", topology_name="", topology="1x1x1", target_config=described(target)
    ).devices[0]
    place = SingleDeviceSharding(device)
    function, shapes = import_module(Path(source).stem).CASES[case]
    arguments = [jax.ShapeDtypeStruct(shape, kind, sharding=place) for shape, kind in shapes]
    return jax.jit(function, out_shardings=place).trace(*arguments)


def main(source: str, target: str, case: str, output: str) -> None:
    """Write the largest PTX module of a source's `CASES[case]`: XLA generates a module for each kernel."""
    sys.path.insert(0, str(HERE / Path(source).parent))
    toolkit = str(HERE / "packages" / "nvidia" / "cu13")
    flags = f"--xla_dump_to=xla --xla_gpu_autotune_level=0 --xla_gpu_cuda_data_dir={toolkit}"
    os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "CUDA_ROOT": toolkit}
    os.environ |= {"MOSAIC_GPU_CUDA_ROOT": toolkit, "MOSAIC_GPU_DUMP_PTX": "1", "MOSAIC_GPU_DUMP_TO": "mosaic"}
    os.environ["PATH"] = f"{toolkit}/bin:{os.environ['PATH']}"
    Path("mosaic").mkdir()
    traced(source, target, case).lower(lowering_platforms=("cuda",)).compile()
    found = [path.read_bytes() for folder in ("xla", "mosaic") for path in Path(folder).glob("*.ptx")]
    Path(output).write_bytes(max(found, key=lambda text: (len(text), text)))


if __name__ == "__main__":
    main(*sys.argv[1:])
