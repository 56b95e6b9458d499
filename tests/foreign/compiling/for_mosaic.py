"""Mosaic GPU: a JAX function is compiled for a described device, without a GPU.

A case's `kernel` is the function; its `shapes` are those of the arguments. The kernel takes one structure: the tensor
maps that the host has made, in the order in which the function first uses them.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cases import corpus
from modules import Compiled, Parameters

if TYPE_CHECKING:
    from cases import Case

DUMPS = Path(tempfile.gettempdir()) / f"foreign-{os.getpid()}"
TOOLKIT = next(Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/cu13"))


def begin(target: str) -> None:  # noqa: ARG001 # the options set before JAX is imported are the same for all targets
    """Set the path of the toolkit and the option to keep PTX."""
    os.environ |= {"JAX_PLATFORMS": "cpu", "CUDA_ROOT": str(TOOLKIT), "MOSAIC_GPU_CUDA_ROOT": str(TOOLKIT)}
    os.environ["XLA_FLAGS"] = f"--xla_gpu_autotune_level=0 --xla_gpu_cuda_data_dir={TOOLKIT}"
    os.environ |= {"MOSAIC_GPU_DUMP_PTX": "1", "MOSAIC_GPU_DUMP_TO": str(DUMPS)}
    os.environ["PATH"] = f"{TOOLKIT / 'bin'}:{os.environ['PATH']}"


def compiled(case: Case, target: str) -> Compiled:
    """Compile a case, and read the PTX that Mosaic dumps."""
    shutil.rmtree(DUMPS, ignore_errors=True)
    DUMPS.mkdir()
    _lowered(case.kernel, case.options["shapes"], target).compile()
    (found,) = DUMPS.glob("*.ptx")
    text = found.read_text(encoding="utf-8")
    shutil.rmtree(DUMPS)
    parameters = Parameters()
    parameters.structure(list(case.arguments.values()))
    entry = text.split(".visible .entry ")[1].split("(")[0].strip()
    return Compiled(text, entry, parameters, case.block)


def _lowered(function: Any, shapes: Any, target: str) -> Any:
    import jax
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding

    described = corpus("../emit_jax.py").described(target)
    topology = topologies.get_topology_desc(
        platform="cuda", topology_name="", topology="1x1x1", target_config=described
    )
    place = SingleDeviceSharding(topology.devices[0])
    arguments = [jax.ShapeDtypeStruct(shape, kind, sharding=place) for shape, kind in shapes]
    return jax.jit(function, out_shardings=place).trace(*arguments).lower(lowering_platforms=("cuda",))
