"""`@kernel`: a Python function that is a PTX instruction stream.

@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N // 128, block=(128, 1, 1))
def double(X, Y, *, unroll=4): ...
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, overload

from pyptx_dsl.kernels.kernel import Kernel
from pyptx_dsl.mistakes.unknown_keywords import refuse_unknown
from pyptx_dsl.tracebacks import entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.contract.scalars import Scalar
    from pyptx_dsl.contract.specs import Tile
    from pyptx_dsl.kernels.results import OutSpecs


@overload
def kernel(fn: Callable[..., object], /) -> Kernel[None]: ...


@overload
def kernel(
    fn: None = None,
    *,
    arch: str = "sm_90a",
    version: tuple[int, int] | None = None,
    in_specs: Sequence[Tile | Scalar] | None = None,
    out_specs: OutSpecs,
    grid: Callable[..., object] | Sequence[int] | int | None = None,
    block: Callable[..., object] | Sequence[int] | int = (1, 1, 1),
    cluster: Sequence[int] | int = (1, 1, 1),
    smem: int = 0,
    raw_params: Sequence[tuple[str, str]] | None = None,
    extern_smem: bool | str = False,
    reqntid: Sequence[int] | None = None,
    raw_directives: Sequence[tuple[str, Sequence[object]]] | None = None,
    lineinfo: bool = False,
    tma_slots: str = "value",
    mutates: Sequence[str] = (),
    launch: Mapping[str, object] | None = None,
    persistent: int = 0,
) -> Callable[[Callable[..., object]], Kernel[OutSpecs]]: ...


@overload
def kernel(
    fn: None = None,
    *,
    arch: str = "sm_90a",
    version: tuple[int, int] | None = None,
    in_specs: Sequence[Tile | Scalar] | None = None,
    grid: Callable[..., object] | Sequence[int] | int | None = None,
    block: Callable[..., object] | Sequence[int] | int = (1, 1, 1),
    cluster: Sequence[int] | int = (1, 1, 1),
    smem: int = 0,
    raw_params: Sequence[tuple[str, str]] | None = None,
    extern_smem: bool | str = False,
    reqntid: Sequence[int] | None = None,
    raw_directives: Sequence[tuple[str, Sequence[object]]] | None = None,
    lineinfo: bool = False,
    tma_slots: str = "value",
    mutates: Sequence[str] = (),
    launch: Mapping[str, object] | None = None,
    persistent: int = 0,
) -> Callable[[Callable[..., object]], Kernel[None]]: ...


@entry
def kernel(
    fn: Callable[..., object] | None = None,
    *,
    arch: str = "sm_90a",
    version: tuple[int, int] | None = None,
    in_specs: Sequence[Tile | Scalar] | None = None,
    out_specs: Sequence[Tile] | None = None,
    grid: Callable[..., object] | Sequence[int] | int | None = None,
    block: Callable[..., object] | Sequence[int] | int = (1, 1, 1),
    cluster: Sequence[int] | int = (1, 1, 1),
    smem: int = 0,
    raw_params: Sequence[tuple[str, str]] | None = None,
    extern_smem: bool | str = False,
    reqntid: Sequence[int] | None = None,
    raw_directives: Sequence[tuple[str, Sequence[object]]] | None = None,
    lineinfo: bool = False,
    tma_slots: str = "value",
    mutates: Sequence[str] = (),
    launch: Mapping[str, object] | None = None,
    persistent: int = 0,
    **unknown: object,
) -> Kernel | Callable[[Callable[..., object]], Kernel]:
    """Turn a function into a Kernel; works bare (`@kernel`) and with arguments.

    The function's positional parameters are arrays (inputs, then outputs). Its keyword-only parameters are template
    parameters, whose values are compiled into the PTX. Tracing is deferred until PTX is needed.

    Args:
        fn: the function, if the decorator is used without arguments.
        arch: the target (`"sm_90a"`), or `"auto"` for the machine's first GPU.
        version: the PTX version; by default one that the target needs and ptxas accepts.
        in_specs: a Tile for each input, or a Scalar for a number that a call passes.
        out_specs: a Tile for each output; outputs are allocated by the runtime.
        grid: one to three sizes, or a callable that computes them from dimensions and template values by name.
        block: one to three sizes, at most 1024 threads, or a callable as for the grid.
        cluster: one to three sizes: CTAs per cluster.
        smem: bytes of dynamic shared memory.
        raw_params: further entry parameters, as `("u32", "n")` or `("u64.ptr.global.palign16", "p")`; a call passes
            numbers for them by name, for a pointer the address.
        extern_smem: declare `.extern .shared .align 128 .b8 global_smem[]`, or the symbol named here.
        reqntid: emit `.reqntid`; also sets the block, if that is omitted.
        raw_directives: header directives `(name, values)`, instead of `reqntid`.
        lineinfo: emit `.file` and `.loc`, so that profilers and debuggers show Python lines.
        tma_slots: `"value"` passes TMA descriptors by value, `"pointer"` as `.param .u64`.
        mutates: names of inputs that the kernel writes; without names, a kernel without outputs writes all inputs.
        launch: launch attributes, such as `{"cooperative": True}`; plugins add others.
        persistent: number of CTAs per SM of a persistent kernel, in which one CTA processes several work items. A
            launch has as many CTAs as fit, in whole clusters, and at most `grid`; the kernel reads their number from
            `ptx.special.nctaid.x()`. The simulator is a device with 132 SMs. 0: the whole `grid`.
        unknown: invalid keywords; the KeywordError suggests the nearest valid one.

    """
    refuse_unknown(unknown)
    build = functools.partial(
        Kernel, arch=arch, version=version, in_specs=in_specs, out_specs=out_specs, grid=grid, block=block,
        cluster=cluster, smem=smem, raw_params=raw_params, extern_smem=extern_smem, reqntid=reqntid,
        raw_directives=raw_directives, lineinfo=lineinfo, tma_slots=tma_slots, mutates=mutates, launch=launch,
        persistent=persistent,
    )  # fmt: skip
    return build if fn is None else build(fn)
