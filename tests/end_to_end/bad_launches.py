"""Bad calls of kernels and of launch plans, and the error that each must raise.

    python -m tests.end_to_end.bad_launches GROUP

A group is one kind of array. The group's header makes good kernels; its good calls run before and after each case and
must work. A case is a program: its line with the mark `# <-` must raise. Each group runs in its own process, because
plans need a driver (the null driver) and some cases need a process without the simulator. The process prints the
outcome of each case as JSON.
"""

from __future__ import annotations

import json
import linecache
import os
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from textwrap import dedent

MARK = "# <-"
NULL_DRIVER = Path(__file__).parents[2] / "packages" / "pyptx-launch" / "tests" / "null_driver.py"


@dataclass(frozen=True, slots=True)
class BadLaunch:
    """A faulty program, the class of the error that it must raise, and words that the error's message must contain."""

    title: str
    source: str
    error: str
    words: tuple[str, ...]


def bad(title: str, source: str, error: str, *words: str) -> BadLaunch:
    """Return the case of a program: one line, which gets the mark `# <-`, or several lines of which one has it."""
    text = dedent(source).strip()
    return BadLaunch(title, text if MARK in text else f"{text}  {MARK}", error, words)


def replaced(case: BadLaunch, old: str, new: str) -> BadLaunch:
    """Return the case with `old` replaced by `new` in the words that its message must contain."""
    return replace(case, words=tuple(word.replace(old, new) for word in case.words))


@dataclass(frozen=True, slots=True)
class Group:
    """Cases that share arrays: header (arrays and kernels), good calls, and loaded plugins."""

    header: str
    good: str
    cases: tuple[BadLaunch, ...]
    plugins: tuple[str, ...] = ()  # plugins that the group's cases load; if empty, all installed plugins
    mark: str = ""  # pytest marker for the package or device that the group requires


KERNELS = """\
from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u32

@kernel(
    in_specs=(Tile("M", "N", f32), Tile("N", f32)), out_specs=(Tile("M", "N", f32),), grid=lambda M, N: M,
    block=(32, 1, 1), arch="sm_80",
)
def scale(X, W, Y):
    px, pw, py = ptx.global_ptrs(X, W, Y)
    tid, row = reg.from_(ptx.special.tid.x(), u32), reg.from_(ptx.special.ctaid.x(), u32)
    at = reg.scalar(u32)
    ptx.inst.mad.lo.u32(at, row, X.shape[1], tid)
    ptx.ret(pred=tid >= X.shape[1])
    x, w = reg.scalar(f32), reg.scalar(f32)
    ptx.inst.ld.global_.f32(x, ptx.addr(px + at * 4))
    ptx.inst.ld.global_.f32(w, ptx.addr(pw + tid * 4))
    ptx.inst.mul.f32(x, x, w)
    ptx.inst.st.global_.f32(ptx.addr(py + at * 4), x)
    ptx.ret()

@kernel(
    in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N // 32, block=(32, 1, 1), arch="sm_80",
    raw_params=[("u32", "count")],
)
def bounded(X, Y):
    ptx.ret()

@kernel(
    in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N // 32, block=(32, 1, 1), cluster=(2, 1, 1)
)
def paired(X, Y):
    ptx.ret()

@kernel(out_specs=(Tile("N", f32),), grid=1, block=(32, 1, 1), arch="sm_80")
def fill(Y):
    ptx.ret()
"""

FOREIGN = "class Foreign:\n    def __dlpack__(self): ...\n"
NO_ARRAYS = (
    bad("a list in place of an array", "scale(X, [1.0] * 8)", "ForeignArrayError", "W is of type list", "asarray(W)"),
    bad("a number in place of an array", "scale(X, 1.0)", "ForeignArrayError", "W is of type float", "asarray(W)"),
    bad(
        "an array of an unsupported library next to a supported one",
        FOREIGN + "scale(X, Foreign())  # <-",
        "ForeignArrayError", "W is of type Foreign", "from_dlpack(W)",
    ),
    bad(
        "all arrays of an unsupported library",
        FOREIGN + "scale(Foreign(), Foreign())  # <-",
        "RuntimeMissingError", "Foreign (X, W)", "torch.from_dlpack or jax.numpy.from_dlpack",
    ),
)  # fmt: skip

# Calls that fail with the same errors for arrays of every framework; `ones` makes an array of ones from its shape.
CALLS = (
    bad("an f64 array where f32 is declared", "scale(X.astype('float64'), W)", "DtypeError", "X has dtype f64", "f32"),
    bad("an array of complex numbers, which PTX lacks", "scale(X.astype('complex64'), W)", "DtypeError", "X has dtype complex64, which has no PTX type"),
    bad("a matrix where a vector is declared", "scale(X, X)", "RankError", "W has 2 dimensions"),
    bad("sizes that disagree", "scale(X, ones(9))", "ShapeError", "dimension N is 8 in X", "9 in W"),
    bad("a call with one of two arrays", "scale(X)", "ArgumentCountError", "expected 2", "W missing"),
    bad("a call with three arrays instead of two", "scale(X, W, W)", "ArgumentCountError", "expected 2", "got 3"),
    bad("a call without arrays", "scale()", "ArgumentCountError", "expected 2 arrays", "X, W missing"),
    bad("an unknown keyword of a call", "scale(X, W, gamma=1)", "KeywordError", "'gamma'"),
    bad("a size keyword that contradicts the arrays", "scale(X, W, N=9)", "ShapeError", "N=9", "8"),
    bad("a call without its scalar parameter", "bounded(ones(64))", "KeywordError", "'count'", "count="),
    bad("a scalar out of the range of its type", "bounded(ones(64), count=2**32)", "KeywordError", "count", "u32"),
    bad("a string as the value of a scalar", "bounded(ones(64), count='many')", "KeywordError", "count", "'many'"),
    bad("a grid with no CTAs", "bounded(ones(16), count=1)", "LaunchError", "grid=0 has a dimension smaller than 1"),
    bad("a grid not divisible by the cluster size", "paired(ones(96))", "LaunchError", "grid.x is 3", "not a multiple of the cluster size 2"),
    bad("a call without the size of a dimension", "fill()", "UnboundDimensionsError", "no size for N"),
)  # fmt: skip

DECLARATIONS = (
    bad(
        "more shared memory than a CTA can have",
        "@kernel(arch='sm_90a', smem=228 * 1024)  # <-\ndef k(): ...",
        "SharedMemoryError", "227",
    ),
    bad("a cluster of 32 blocks", "@kernel(cluster=(32, 1, 1))  # <-\ndef k(): ...", "LaunchError", "32 CTAs"),
    bad("a cluster launch on a target before sm_90", "@kernel(cluster=(2, 1, 1), arch='sm_80')  # <-\ndef k(): ...", "LaunchError", "not support clusters"),
    bad("an unknown launch attribute", "@kernel(launch={'cooperate': True})  # <-\ndef k(): ...", "LaunchError", "'cooperate'"),
    bad("a launch attribute with a value of the wrong type", "@kernel(launch={'cooperative': 2})  # <-\ndef k(): ...", "LaunchError", "True or False"),
    bad(
        "a launch attribute that the target does not support",
        "@kernel(launch={'programmatic_stream_serialization': True}, arch='sm_80')  # <-\ndef k(): ...",
        "LaunchError", "9.0", "sm_80",
    ),
)  # fmt: skip

NUMPY = Group(
    "import numpy as np\n"
    + KERNELS
    + "def ones(*shape):\n    return np.ones(shape, np.float32)\nX, W = 3 * ones(4, 8), 2 * ones(8)\n",
    "assert (scale(X, W) == 6).all()\n",
    (
        *CALLS,
        *NO_ARRAYS,
        *DECLARATIONS,
        bad("a transposed array", "scale(ones(8, 4).T, W)", "LayoutError", "X has strides"),
        bad("every second element", "scale(X, ones(16)[::2])", "LayoutError", "W has strides", "contiguous"),
        bad(
            "an f32 array at an address not divisible by 4",
            "scale(np.zeros(4 * 8 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(4, 8), W)",
            "AlignmentError", "X starts at",
        ),
        bad("an output of the wrong shape", "scale(X, W, out=ones(4, 9))", "LaunchError", "out= for Y"),
        bad("an output of the wrong element type", "scale(X, W, out=X.astype(np.int32))", "LaunchError", "out= for Y"),
        bad("a read-only array as an output", "scale(X, W, out=np.broadcast_to(ones(1), (4, 8)))", "LaunchError", "out= for Y"),
        bad("two out= arrays for one output", "scale(X, W, out=(ones(4, 8), ones(4, 8)))", "LaunchError", "got 2"),
    ),
)  # fmt: skip

TORCH_HEADER = (
    "import torch\n"
    + KERNELS
    + "torch.Tensor.astype = lambda self, name: self.to(getattr(torch, name))\n"
    + "def ones(*shape):\n    return torch.ones(shape)\nX, W = 3 * ones(4, 8), 2 * ones(8)\n"
)
TORCH = Group(
    TORCH_HEADER,
    "assert (scale(X, W) == 6).all()\n",
    (
        *CALLS,
        *(replaced(case, "asarray", "as_tensor") for case in NO_ARRAYS),
        bad(
            "a NumPy array and a tensor",
            "scale(X, W.numpy())", "ForeignArrayError", "W is a NumPy array", "with torch tensors", "torch.from_dlpack(W)",
        ),
        bad(
            "a NumPy array for an output",
            "scale(X, W, out=X.numpy())", "ForeignArrayError", "out= for Y is a NumPy array", "with torch tensors",
        ),
        bad("a transposed tensor", "scale(ones(8, 4).T, W)", "LayoutError", "X has strides"),
        bad("an expanded tensor", "scale(X, ones(1).expand(8))", "LayoutError", "W has strides"),
        bad("tensors on two devices", "scale(X, W.to('meta'))", "DeviceError", "X on cpu", "W on meta"),
        bad("a sparse tensor as an input", "scale(X.to_sparse(), W)", "LayoutError", "to_dense"),
        bad("an output of the wrong shape", "scale(X, W, out=ones(4, 9))", "ShapeError", "out= for Y"),
        bad("an output of the wrong element type", "scale(X, W, out=X.int())", "DtypeError", "out= for Y"),
        bad("an output on another device", "scale(X, W, out=X.to('meta'))", "DeviceError", "out= for Y"),
        bad("two out= tensors for one output", "scale(X, W, out=(ones(4, 8), ones(4, 8)))", "ArgumentCountError", "out="),
        bad("an unknown torch device", "fill(N=32, device='gpu')", "DeviceError", "invalid torch device"),
        bad(
            "a storage offset that misaligns the tensor of a tensor map",
            """
            @kernel(in_specs=(Tile(8, 32, f32, Layout.TMA_128B),), grid=1, block=(32, 1, 1), mutates=("X",))
            def copies(X):
                ptx.ret()
            copies(torch.zeros(8 * 32 + 1)[1:].reshape(8, 32))  # <-
            """,
            "AlignmentError", "X starts at", "16 bytes",
        ),
        bad(
            "a gradient of a plain kernel",
            "scale(X.requires_grad_(), W).sum().backward()", "GradientError", "differentiable_kernel",
        ),
    ),
    mark="torch",
)  # fmt: skip
TORCH_ALONE = Group(
    TORCH_HEADER,
    "assert scale(X.to('meta'), W.to('meta')).shape == (4, 8)\n",
    (bad("a CPU tensor without the simulator", "scale(X, W)", "RuntimeMissingError", "pip install ", "[sim]"),),
    plugins=("pyptx_dsl.plugin", "pyptx_torch.plugin"),
    mark="torch",
)

JAX_HEADER = (
    "import jax\nimport jax.numpy as jnp\n"
    + KERNELS
    + "jax.config.update('jax_enable_x64', True)\n"
    + "def ones(*shape):\n    return jnp.ones(shape, jnp.float32)\nX, W = 3 * ones(4, 8), 2 * ones(8)\n"
)
JAX = Group(
    JAX_HEADER,
    "assert (scale(X, W) == 6).all()\nassert (jax.jit(scale)(X, W) == 6).all()\n",
    (
        *CALLS,
        *NO_ARRAYS,
        bad("sizes that disagree, under jit", "jax.jit(scale)(X, ones(9))", "ShapeError", "dimension N is 8 in X", "9 in W"),
        bad("out= with an immutable jax array", "scale(X, W, out=X)", "KeywordError", "out"),
        bad(
            "a gradient of a plain kernel",
            "jax.grad(lambda x: scale(x, W).sum())(X)", "NotDifferentiableError", "differentiable_kernel",
        ),
    ),
    mark="jax",
)  # fmt: skip
JAX_ALONE = Group(
    JAX_HEADER,
    "assert jax.eval_shape(scale, X, W).shape == (4, 8)\n",
    (bad("an array on the CPU without the simulator", "scale(X, W)", "RuntimeMissingError", "pip install ", "[sim]"),),
    plugins=("pyptx_dsl.plugin", "pyptx_jax.plugin"),
    mark="jax",
)

ENTRY = ".visible .entry k(.param .u64 x, .param .u32 n) { ret; }"
PLANS = Group(
    f"""\
import struct
from pyptx_launch import Map, Module, Plan, Pointer, Scalar, TensorMap, driver
PTX = b".version 8.0\\n.target sm_90\\n.address_size 64\\n{ENTRY}\\n"
module = Module(PTX)
ROWS = (Pointer(0), Scalar("u32", "n", 1))
def plan(grid=(4, 1, 1), block=(32, 1, 1), parameters=ROWS, **more):
    return Plan(module, "k", grid=grid, block=block, parameters=parameters, **more)
def tensor(dtype="f32", shape=(64, 64), strides=(256, 4), box=(32, 32), element_strides=(1, 1), **more):
    return TensorMap(dtype, shape, strides, box, element_strides, **more)
good = plan()
""",
    "good.launch([4096], 0, 0)\nplan(shared_bytes=60_000).launch([4096], 0, 1, {'n': 7})\nassert len(tensor().encode(4096)) == 128\n",
    (
        bad("a grid with no CTAs", "plan(grid=(0, 1, 1))", "LaunchError", "k: grid", "skip the launch"),
        bad("a grid of 65536 CTAs along y", "plan(grid=(1, 65536, 1))", "LaunchError", "65535"),
        bad("a block size of 0", "plan(block=(0, 1, 1))", "LaunchError", "k: block"),
        bad("a block of too many threads", "plan(block=(1024, 2, 1)).launch([4096], 0, 0)", "LaunchError", "2048 threads", "1024"),
        bad("a cluster that does not divide the grid", "plan(cluster=(3, 1, 1))", "LaunchError", "does not divide grid (4, 1, 1)"),
        bad("too much shared memory", "plan(shared_bytes=232449).launch([4096], 0, 0)", "LaunchError", "232449", "is 232448"),
        bad("a negative shared memory size", "plan(shared_bytes=-1)", "LaunchError", "got -1"),
        bad("a launch plan with fewer parameters than the kernel entry", "plan(parameters=ROWS[:1])", "LaunchError", "the entry has 2, the plan 1"),
        bad("a launch plan's parameter that is wider than the kernel entry's", "plan(parameters=(Pointer(0), Pointer(1)))", "LaunchError", "parameter 1: 4 bytes"),
        bad("a scalar out of the range of its type", "plan(parameters=(Pointer(0), Scalar('u32', 'n', 2**32)))", "OverflowError", "u32"),
        bad("a scalar parameter of unknown type", "plan(parameters=(Pointer(0), Scalar('u33', 'n', 1)))", "LaunchError", "u33"),
        bad("a cluster size passed as a launch attribute", "plan(attributes=((4, struct.pack('<3I', 2, 1, 1)),))", "LaunchError", "cluster="),
        bad("a launch attribute of 65 bytes", "plan(attributes=((2, bytes(65)),))", "LaunchError", "64"),
        bad("an entry that the module lacks", "Plan(module, 'l', grid=(1, 1, 1), block=(1, 1, 1))", "DriverError", "NOT_FOUND", "entry l"),
        bad("an empty image", "Module(b'')", "LaunchError", "image is empty"),
        bad("a truncated cubin", "Module(b'\\x7fELF' + bytes(36) + b'\\xff' * 24)", "LaunchError", "truncated"),
        bad("an image that is neither PTX nor a cubin", "Module(b'hello')", "CompileError", "Missing .version directive"),
        bad("a device number that does not exist", "good.launch([4096], 0, 2)", "LaunchError", "invalid CUDA device 2", "devices is 2"),
        bad("a launch without the tensor's address", "good.launch([], 0, 0)", "LaunchError", "expected 1 tensor addresses", "got 0"),
        bad("a launch with a value for an unknown scalar parameter", "good.launch([4096], 0, 0, {'m': 1})", "LaunchError", "'m'"),
        bad("a launch without a value for the scalar parameter", "plan(parameters=(Pointer(0), Scalar('u32', 'n'))).launch([4096], 0, 0)", "LaunchError", "scalar"),
        bad("a launch with two scalar values instead of one", "good.launch([4096], 0, 0, (1, 2))", "LaunchError", "expected 1", "got 2"),
        bad(
            "a launch for which the driver returns an error",
            "null.fail('cuLaunchKernelEx', 701)\ngood.launch([4096], 0, 0)  # <-",
            "DriverError", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)", "help: use smaller CTAs",
        ),
        bad("a tensor map of an unknown type", "tensor('f33')", "TensorMapError", "'f33'", "f32"),
        bad("a tensor map of rank 0", "tensor(shape=(), strides=(), box=(), element_strides=())", "TensorMapError", "got 0"),
        bad("a tensor map of rank 6", "TensorMap.dense('u8', (16,) * 6, (16,) * 6)", "TensorMapError", "got 6"),
        bad("a tensor map with one stride for two dimensions", "tensor(strides=(4,))", "TensorMapError", "length of strides"),
        bad("a tensor map with an extent of 0", "tensor(shape=(0, 64))", "TensorMapError", "extent of dimension -2"),
        bad("a tensor map with a row stride not divisible by 16 bytes", "tensor(strides=(260, 4))", "TensorMapError", "260", "multiple of 16 bytes"),
        bad("a tensor map with noncontiguous elements", "tensor(strides=(256, 8))", "TensorMapError", "stride of dimension -1 must be"),
        bad("a tensor map with a stride of 2^40 bytes", "tensor(strides=(2**40, 4))", "TensorMapError", "2^40"),
        bad("a TMA box of 257 rows", "tensor(shape=(512, 64), box=(257, 32))", "TensorMapError", "box of dimension -2", "got 257"),
        bad("a TMA box with rows of 12 bytes", "tensor(box=(32, 3))", "TensorMapError", "got 12", "multiple of 16"),
        bad("a TMA box with rows longer than the swizzle's", "tensor(box=(32, 32), swizzle='64B')", "TensorMapError", "got 128", "64 bytes"),
        bad("a tensor map with an unknown swizzle", "tensor(swizzle='256B')", "TensorMapError", "'256B'", "128B"),
        bad("a tensor map with an element stride of 9", "tensor(element_strides=(9, 1))", "TensorMapError", "element stride", "1 to 8"),
        bad("a tensor map of integers with fill='nan'", "tensor('u32', fill='nan')", "TensorMapError", "got nan", "u32"),
        bad("a tensor map with interleave 32B but no swizzle", "tensor(shape=(4, 64, 64), strides=(16384, 256, 4), box=(1, 32, 8), element_strides=(1, 1, 1), interleave='32B')", "TensorMapError", "swizzle must be 32B"),
        bad("a tensor address that its tensor map does not allow", "tensor().encode(4104)", "TensorMapError", "4104", "16"),
    ),
)  # fmt: skip

GROUPS = {
    "numpy": NUMPY, "plans": PLANS, "torch": TORCH, "torch_alone": TORCH_ALONE, "jax": JAX, "jax_alone": JAX_ALONE,
}  # fmt: skip


def outcome(group: Group, case: BadLaunch, path: Path, names: dict[str, object]) -> dict[str, object]:
    """Run a case, with the group's good calls before and after it; return the error and the lines in its traceback."""
    source = group.header + group.good + case.source + "\n"
    path.write_text(source, encoding="utf-8")
    linecache.checkcache(str(path))
    raised: BaseException | None = None
    try:
        exec(compile(source, str(path), "exec"), names)  # noqa: S102 - the user's program
    except Exception as error:  # noqa: BLE001 - the test checks the error, whatever its class
        raised = error
    exec(compile(group.good, "<good calls>", "exec"), names)  # noqa: S102 - the user's program
    assert raised is not None, case.title
    frames = traceback.extract_tb(raised.__traceback__)
    return {
        "title": case.title,
        "types": [each.__name__ for each in type(raised).__mro__],
        "text": str(raised),
        "lines": [frame.lineno for frame in frames if frame.filename == str(path)],
        "wanted": next(number for number, row in enumerate(source.splitlines(), 1) if MARK in row),
        "chained": bool(raised.__cause__ or (raised.__context__ and not raised.__suppress_context__)),
    }


def run(name: str) -> None:
    """Run all bad launches of a group and print their outcomes as JSON."""
    group = GROUPS[name]
    os.environ["PYPTX_CPU"] = "quiet"
    if group.plugins:
        os.environ.update(PYPTX_DISABLE_PLUGIN_AUTOLOAD="1", PYPTX_PLUGINS=",".join(group.plugins))
    names: dict[str, object] = {"__name__": "user_program"}
    if name == "plans":
        spec = spec_from_file_location("null_driver", NULL_DRIVER)
        assert spec is not None
        assert spec.loader is not None
        null_driver = module_from_spec(spec)
        spec.loader.exec_module(null_driver)
        names["null"] = null_driver.install()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        found = [outcome(group, case, Path(folder) / "user_program.py", dict(names)) for case in group.cases]
    print(json.dumps(found))  # noqa: T201 - the program's output


if __name__ == "__main__":
    run(sys.argv[1])
