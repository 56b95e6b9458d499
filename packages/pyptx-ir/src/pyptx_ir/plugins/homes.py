"""Distributions of this project and their features, for messages about missing packages.

One row for each distribution; lookup tables by feature are derived. Installed third-party plugins describe their own
features.
"""

from __future__ import annotations

from typing import Final

from pyptx_ir.origins import install_command
from pyptx_ir.values import Value, value


@value
class Home(Value):
    """Features of one distribution.

    `namespaces` are names after `ptx.`; a dotted one is inside a namespace of the core. `instructions` are opcode
    prefixes, or an instruction's name and a later modifier (`mma .kind::mxf4`). `descriptors` are names of descriptor
    kinds. `frameworks` are top-level modules of the arrays that its kernels run on, `cpu_frameworks` of arrays accepted
    on the CPU only. `runtime` is the name of its `Runtime` row. `commands` are subcommands of `pyptx`. `extra` is the
    extra of pyptx that installs it with its dependencies. The core has none; nor does the launcher, which the GPU
    runtimes depend on.
    """

    distribution: str
    extra: str = ""
    namespaces: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    launch_attributes: tuple[str, ...] = ()
    descriptors: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    cpu_frameworks: tuple[str, ...] = ()
    runtime: str | None = None
    commands: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """Name of the import package in the distribution."""
        return self.distribution.replace("-", "_")

    @property
    def launches(self) -> bool:
        """Whether the distribution is a runtime that runs kernels on GPUs."""
        return bool(self.frameworks) and not self.cpu_frameworks


HOMES: Final = (
    Home("pyptx"),
    Home("pyptx-ir"),
    Home("pyptx-diff", commands=("diff",)),
    Home("pyptx-dsl", commands=("ptx", "sass", "resources", "layout", "bench", "stubs", "new")),
    Home("pyptx-bundles", commands=("export",)),
    Home("pyptx-transpile", commands=("transpile",)),
    Home(
        "pyptx-sim",
        extra="sim",
        frameworks=("numpy",),
        cpu_frameworks=("torch",),
        runtime="sim",
        commands=("sim", "trace"),
    ),
    Home("pyptx-launch"),
    Home("pyptx-torch", extra="torch", frameworks=("torch",), runtime="torch"),
    Home("pyptx-jax", extra="jax", frameworks=("jax", "jaxlib"), runtime="jax"),
    Home("pyptx-virtual", extra="virtual", runtime="virtual", commands=("run",)),
    Home(
        "pyptx-arch-hopper",
        extra="hopper",
        namespaces=(
            *("wgmma", "tma", "cluster", "elect_sync", "setmaxnreg", "setmaxnreg_inc", "setmaxnreg_dec"),
            *("griddepcontrol", "multimem", "tensormap", "st_async", "red_async", "stmatrix_x4_trans_f32_bf16"),
            *("cp.async_.bulk", "cp.async_bulk", "cp.reduce", "fence.mbarrier_init"),
            *("fence.proxy_async", "fence.proxy_async_global"),
            *("fence.proxy_async_shared_cta", "fence.proxy_async_shared_cluster"),
            *("fence.proxy_async_generic_acquire_shared_cluster", "fence.proxy_async_generic_release_shared_cta"),
            *("fence.proxy_async_generic_release_read",),
            *("fence.proxy_tensormap_acquire", "fence.proxy_tensormap_release"),
        ),
        instructions=(
            *("wgmma", "stmatrix", "tensormap", "multimem", "cp.async.bulk", "cp.reduce", "applypriority.async"),
            *("st.async", "red.async", "barrier.cluster", "mapa", "getctarank", "elect", "griddepcontrol"),
            *("setmaxnreg", "fence.mbarrier_init", "fence.proxy.async", "fence.proxy.async::generic"),
            *("fence.proxy.tensormap::generic", "membar.proxy.async"),
        ),
        launch_attributes=(
            *("programmatic_stream_serialization", "cluster_scheduling_policy", "memory_synchronization_domain"),
        ),
        descriptors=("tensor_map",),
    ),
    Home(
        "pyptx-arch-blackwell",
        extra="blackwell",
        namespaces=("tcgen05", "tmem", "clusterlaunchcontrol", "st_bulk"),
        instructions=(
            *("tcgen05", "st.bulk", "clusterlaunchcontrol", "spcompress", "spdecompress"),
            *("mma .kind::f8f6f4", "mma .kind::mxf8f6f4", "mma .kind::mxf4", "mma .kind::mxf4nvf4"),
            *("fabric", "fence.proxy.generic::fabric", "fence.proxy.fabric::generic", "fence.proxy.fabric::fabric"),
        ),
        launch_attributes=("preferred_cluster",),
    ),
)

RUNTIMES: Final = frozenset(home.runtime for home in HOMES if home.runtime)
"""Names of this project's runtimes, each for arrays of one framework; other runtimes declare their frameworks."""

_BY_DISTRIBUTION: Final = {home.distribution: home for home in HOMES}
_BY_NAMESPACE: Final = {name: home for home in HOMES for name in home.namespaces}
_BY_INSTRUCTION: Final = {words: home for home in HOMES for words in home.instructions}
_BY_LAUNCH_ATTRIBUTE: Final = {name: home for home in HOMES for name in home.launch_attributes}
_BY_COMMAND: Final = {name: home for home in HOMES for name in home.commands}
_BY_DESCRIPTOR: Final = {name: home for home in HOMES for name in home.descriptors}
_LONGEST: Final = 1 + max(words.count(".") for words in _BY_INSTRUCTION)


def home_of_namespace(name: str) -> str | None:
    """Return the distribution of this project that provides `ptx.<name>`; None if none does."""
    return _distribution(_BY_NAMESPACE.get(name))


def home_of_launch_attribute(name: str) -> str | None:
    """Return the distribution of this project that provides a launch attribute; None if none does."""
    return _distribution(_BY_LAUNCH_ATTRIBUTE.get(name))


def home_of_command(name: str) -> str | None:
    """Return the distribution of this project that provides a subcommand of `pyptx`; None if none does."""
    return _distribution(_BY_COMMAND.get(name))


def home_of_descriptor(name: str) -> str | None:
    """Return the distribution of this project that provides a descriptor kind; None if none does."""
    return _distribution(_BY_DESCRIPTOR.get(name))


def home_of_instruction(opcode: tuple[str, ...]) -> str | None:
    """Return the distribution, other than the core, that provides an instruction's rows; None if none does."""
    return _distribution(_BY_INSTRUCTION.get(words_of_home(opcode)))


def words_of_home(opcode: tuple[str, ...]) -> str:
    """Return an opcode's key in `_BY_INSTRUCTION`: the longest prefix there, or name and modifier; or "" if none."""
    firsts = [".".join(opcode[:count]) for count in range(min(len(opcode), _LONGEST), 0, -1)]
    keys = (*firsts, *(f"{opcode[0]} .{word}" for word in opcode[1:]))
    return next((key for key in keys if key in _BY_INSTRUCTION), "")


def _distribution(home: Home | None) -> str | None:
    return None if home is None else home.distribution


def install_hint(distribution: str) -> str:
    """Return the command that installs a distribution of this project, by the distribution's extra."""
    return install_command(_BY_DISTRIBUTION[distribution].extra)


def remedy(framework: str) -> str | None:
    """Return the command that installs a runtime for a framework's top-level module; None for an unknown framework."""
    usual = [home.extra for home in HOMES if framework in home.frameworks]
    on_cpu = [
        f"; the extra {home.extra} is enough for CPU tensors" for home in HOMES if framework in home.cpu_frameworks
    ]
    return f"{install_command(*usual)}{''.join(on_cpu)}" if usual else None


def descriptor_remedy() -> str:
    """Return the command that installs the package with descriptor kinds."""
    return install_command(*(home.extra for home in HOMES if home.descriptors))


def gpu_remedy() -> str:
    """Return the command that installs the runtimes for GPUs."""
    return install_command(*(home.extra for home in HOMES if home.launches))
