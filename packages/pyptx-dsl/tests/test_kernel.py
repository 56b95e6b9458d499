"""The decorator validates its arguments; a `Kernel` traces, specializes, compiles, and selects a runtime."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.contract.specs import Layout, Tile
from pyptx_dsl.contract.tensors import TensorSpec, TmaDescriptorHandle
from pyptx_dsl.errors import (
    ArchError,
    ArgumentCountError,
    KeywordError,
    LaunchError,
    RuntimeMissingError,
    ShapeError,
    SharedMemoryError,
    SignatureError,
    SpecError,
    UnboundDimensionsError,
)
from pyptx_dsl.kernels import arch as arch_module
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.kernels.differentiable import differentiable_kernel
from pyptx_dsl.kernels.kernel import Kernel
from pyptx_dsl.kernels.keys import freeze
from pyptx_dsl.tracing.trace import active
from pyptx_dsl.types import bf16, f32, u32, u64
from pyptx_ir.plugins.homes import gpu_remedy
from pyptx_ir.plugins.rows import Argument, Runtime

if TYPE_CHECKING:
    from collections.abc import Callable


def ret() -> None:
    active().emit(("ret",))


@kernel(
    in_specs=(Tile("M", "N", f32), Tile("N", f32)),
    out_specs=(Tile("M", "N", f32),),
    grid=lambda M, N: (M, N // 4),
    block=(32, 2),
)
def scale(X: TensorSpec, W: TensorSpec, Y: TensorSpec, *, factor: float = 1.0, unroll: int = 4) -> None:
    """Scale rows."""
    assert X.shape is not None
    assert (X.name, W.shape, Y.dtype, Y.layout) == ("X", (X.shape[1],), f32, Layout.ROW)
    for _ in range(unroll):
        reg.scalar(f32, init=factor)
    reg.scalar(u32, init=X.shape[1])
    ret()


def row(*shape: int) -> Argument:
    return Argument(shape, "f32", (*tuple(shape[1:]), 1), 256)


def test_members_say_what_was_declared() -> None:
    assert (scale.name, scale.arch, scale.version, scale.block, scale.cluster) == (
        "scale",
        "sm_90a",
        (8, 5),
        (32, 2, 1),
        (1, 1, 1),
    )
    assert (len(scale.in_specs), len(scale.out_specs), scale.smem) == (2, 1, 0)
    assert scale.template_params == {"factor": 1.0, "unroll": 4}
    assert callable(scale.grid)
    assert scale.__doc__ == "Scale rows."
    assert repr(scale) == "Kernel(scale, arch='sm_90a')"


def test_the_decorator_works_bare_and_with_arguments() -> None:
    @kernel
    def bare() -> None:
        ret()

    def plain() -> None:
        ret()

    assert isinstance(bare, Kernel)
    assert "bare" in bare.ptx()
    assert Kernel(plain, "sm_80").ptx() == kernel(arch="sm_80")(plain).ptx()


def test_template_values_never_stick() -> None:
    first = scale.ptx(M=1, N=8)
    other = scale.ptx(M=1, N=8, factor=2.0, unroll=1)
    assert first.count("mov.f32") == 4
    assert other.count("mov.f32") == 1
    assert scale.ptx(M=1, N=8) == first
    assert scale.ptx(M=1, N=8, factor=1) != first or "0f3F800000" in first


def test_equal_values_of_different_types_are_different_templates() -> None:
    @kernel
    def k(*, value: object = 0) -> None:
        reg.scalar(f32, init=1.0 if isinstance(value, float) else 2.0 if isinstance(value, bool) else 3.0)

    assert len({k.ptx(value=1), k.ptx(value=1.0), k.ptx(value=True)}) == 3
    assert freeze(-0.0) != freeze(0.0)
    assert freeze([1, 2]) != freeze((1, 2))
    assert freeze({"a": [1]}) == freeze({"a": [1]})
    assert freeze([{1}]) is None


class Mutable:
    """Template value without `__eq__`."""

    def __init__(self, number: float) -> None:
        self.number = number

    def scaled(self) -> float:
        return self.number


@dataclass(frozen=True)
class Fixed:
    number: float


@dataclass(frozen=True, eq=False)
class FixedAlone:
    number: float


@kernel
def configured(*, value: object) -> None:
    """Initialize a register with the result of `value`, or with its attribute `number` (0.0 without it)."""
    found = value() if callable(value) else getattr(value, "number", 0.0)
    reg.scalar(f32, init=found)


@pytest.mark.parametrize(
    "value",
    [
        Mutable(1.0),
        (1, [Mutable(1.0)]),
        {"a": Mutable(1.0)},
        Mutable(1.0).scaled,
        partial(Mutable.scaled, Mutable(1.0)),
        iter([1]),
    ],
    ids=["object", "in a list", "in a dictionary", "method", "partial", "iterator"],
)
def test_an_object_that_may_change_behind_its_key_is_no_template_value(value: object) -> None:
    with pytest.raises(KeywordError, match=r"^value\S* must be comparable by value, got an instance of") as raised:
        configured.ptx(value=value)
    assert "frozen dataclass" in str(raised.value)
    assert "test_kernel.py" in raised.value.where


def test_objects_that_cannot_change_or_say_when_they_are_equal_are_template_values() -> None:
    def one() -> float:
        return 1.0

    first = configured.ptx(value=Fixed(1.0))
    for value in (FixedAlone(1.0), one, partial(one), lambda: 1.0):
        assert configured.ptx(value=value) == first
    assert configured.ptx(value=Fixed(2.0)) != first
    changing = SimpleNamespace(number=1.0)  # unhashable template value: each call traces the kernel again
    assert configured.ptx(value=changing) == first
    changing.number = 2.0
    assert configured.ptx(value=changing) != first
    for value in (Layout.COL, f32, len, int, object(), ptx.inst.max.f32, configured):
        assert freeze(value) is not None


def test_a_template_without_default_is_asked_for() -> None:
    @kernel
    def k(*, count: int) -> None:
        reg.scalar(u32, init=count)

    with pytest.raises(KeywordError, match="count=…"):
        k.ptx()
    assert "mov.u32 %r0, 5;" in k.ptx(count=5)
    assert k.template_params == {"count": None}


def test_unbound_dimensions_are_one_error_with_the_call() -> None:
    with pytest.raises(UnboundDimensionsError, match=r"scale\.ptx\(M=…, N=…\)"):
        scale.ptx()
    with pytest.raises(UnboundDimensionsError, match=r"scale\.ptx\(M=…, N=8\)"):
        scale.ptx(N=8)


def test_a_template_parameter_may_give_a_dimension() -> None:
    @kernel(in_specs=(Tile("N", f32),))
    def k(X: TensorSpec, *, N: int = 16) -> None:
        assert X.shape == (N,)
        ret()

    k.ptx()
    k.ptx(N=32)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"K": 1}, "'K'"),
        ({"M": -1, "N": 1}, "M must be a positive int, got -1"),
        ({"M": "x", "N": 1}, "M must be a positive int, got 'x'"),
        ({"unrol": 1}, "did you mean unroll"),
    ],
)
def test_unknown_and_unfit_keywords_are_refused(keywords: dict[str, object], words: str) -> None:
    with pytest.raises(KeywordError, match=words):
        scale.ptx(**keywords)


DECLARATIONS: list[tuple[str, Callable[[], object], type[Exception], str]] = [
    ("arch", lambda: kernel(arch="sm_91a"), ArchError, "sm_90a"),
    ("old version", lambda: kernel(arch="sm_100a", version=(8, 0)), ArchError, r"8\.6"),
    ("no version", lambda: kernel(version="8.5"), ArchError, "version"),  # type: ignore[call-overload]  # a mistake on purpose
    ("threads", lambda: kernel(block=(2048, 1, 1)), LaunchError, "1024"),
    ("threads in all", lambda: kernel(block=(64, 64)), LaunchError, "4096 threads"),
    ("z", lambda: kernel(block=(1, 1, 65)), LaunchError, "64"),
    ("no threads", lambda: kernel(block=(0, 1, 1)), LaunchError, "smaller than 1"),
    ("four sizes", lambda: kernel(block=(1, 1, 1, 1)), LaunchError, "must be one to three integers"),
    ("words", lambda: kernel(block="wide"), LaunchError, "must be one to three integers"),  # type: ignore[call-overload]  # a mistake on purpose
    ("cluster", lambda: kernel(cluster=(32, 1, 1)), LaunchError, "cluster"),
    ("no clusters", lambda: kernel(arch="sm_80", cluster=2), LaunchError, "not support clusters"),
    ("grid", lambda: kernel(grid=(1, 70000)), LaunchError, "65535"),
    ("reqntid", lambda: kernel(block=64, reqntid=(32,)), LaunchError, "disagree"),
    ("smem", lambda: kernel(smem=-1), SharedMemoryError, "smem"),
    ("more smem", lambda: kernel(smem=10**6), SharedMemoryError, "227 KiB"),
    ("extern", lambda: kernel(extern_smem="not a name"), SpecError, "symbol"),
    ("slots", lambda: kernel(tma_slots="pointers"), SpecError, "tma_slots"),
    ("spec", lambda: kernel(in_specs=("M",)), SpecError, "Tile"),  # type: ignore[call-overload]  # a mistake on purpose
    ("raw type", lambda: kernel(raw_params=[("q32", "n")]), SpecError, "q32"),
    ("raw name", lambda: kernel(raw_params=[("u32", "a b")]), SpecError, "a b"),
    ("raw word", lambda: kernel(raw_params=[("u64.ptr.globl", "p")]), SpecError, "globl"),
    ("raw space", lambda: kernel(raw_params=[("u64.global", "p")]), SpecError, "ptr"),
    ("raw bf16", lambda: kernel(raw_params=[("bf16", "p")]), SpecError, "b16"),
    ("raw pair", lambda: kernel(raw_params=["u32"]), SpecError, "pair"),  # type: ignore[call-overload]  # a mistake on purpose
    ("raw twice", lambda: kernel(raw_params=[("u32", "n"), ("u32", "n")]), SpecError, "twice"),
    ("directive", lambda: kernel(raw_directives=[("maxntid", (1.5,))]), SpecError, "maxntid"),
    ("raw_directives= is a number", lambda: kernel(raw_directives=3), SpecError, "raw_directives"),
    ("an invalid reqntid", lambda: kernel(reqntid="x"), LaunchError, "reqntid"),
    ("raw_params= is a number", lambda: kernel(raw_params=3), SpecError, "raw_params"),
    ("extern_smem= is a number", lambda: kernel(extern_smem=3), SpecError, "extern_smem"),
    ("no target", lambda: kernel(arch=None), ArchError, "arch"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("declare", "error", "words"), [case[1:] for case in DECLARATIONS], ids=[case[0] for case in DECLARATIONS]
)
def test_declarations_that_make_no_sense_are_refused(
    declare: Callable[[], object], error: type[Exception], words: str
) -> None:
    def k() -> None: ...

    with pytest.raises(error, match=words):
        declare()(k)  # type: ignore[operator]  # a mistake on purpose


def test_specs_and_signature_agree() -> None:
    def one(X: object) -> None: ...
    def star(*X: object) -> None: ...

    with pytest.raises(SignatureError, match="1 positional parameters"):
        kernel(in_specs=(Tile(4, f32), Tile(4, f32)))(one)
    with pytest.raises(SignatureError, match=r"\*X"):
        kernel(star)
    with pytest.raises(SignatureError, match="lambda"):
        kernel(lambda: None)


def test_parameters_stand_in_order_and_the_mini_language_is_spelt() -> None:
    raw = [
        ("u32", "n"),
        ("u64.ptr.global.palign16", "p"),
        ("b8.align64.array128", "map"),
        ("f32", "x"),
        ("u64.ptr", "q"),
    ]

    @kernel(in_specs=(Tile(4, f32),), raw_params=raw)
    def k(A: TensorSpec) -> None:  # noqa: ARG001  a kernel names its arrays and templates
        assert active().parameter_types == {"A": u64, "n": u32, "p": u64, "map": None, "x": f32, "q": u64}
        ret()

    text = k.ptx()
    assert [line.strip(" \t,") for line in text.splitlines() if ".param" in line] == [
        *(".param .u64 A", ".param .u32 n", ".param .u64 .ptr .global .align 16 p", ".param .align 64 .b8 map[128]"),
        *(".param .f32 x", ".param .u64 .ptr .align 1 q"),
    ]


def test_raw_parameters_take_their_values_from_keywords_dimensions_and_templates() -> None:
    @kernel(in_specs=(Tile("M", f32),), raw_params=[("u32", "M"), ("s32", "shift"), ("f32", "eps"), ("u8", "flag")])
    def k(A: TensorSpec, *, eps: float = 0.5) -> None:  # noqa: ARG001  a kernel names its arrays and templates
        ret()

    rows = {each.name: each for each in k.specialize([row(7)], {"shift": -3, "flag": 1}).parameters}
    assert [rows[name].value for name in ("M", "shift", "eps", "flag")] == [7, -3, 0.5, 1]
    assert (rows["A"].kind, rows["A"].index, rows["A"].value) == ("tensor", 0, None)
    with pytest.raises(KeywordError, match="shift"):
        k.specialize([row(7)], {"flag": 1})
    for wrong in (
        {"shift": 2**31, "flag": 0},
        {"shift": 0, "flag": 256},
        {"shift": 0.5, "flag": 0},
        {"shift": 0, "flag": -1},
    ):
        with pytest.raises(KeywordError, match="declared"):
            k.specialize([row(7)], wrong)

    @kernel(raw_params=[("u64.ptr", "p"), ("b8.align64.array128", "map")])
    def bare() -> None:
        ret()

    with pytest.raises(KeywordError, match="an array of bytes"):
        bare.specialize([], {"p": 1})

    @kernel(raw_params=[("u64.ptr.global", "p")])
    def pointer() -> None:
        ret()

    (address,) = pointer.specialize([], {"p": 0x7F00_0000_0100}).parameters
    assert (address.kind, address.type, address.value) == ("scalar", "u64", 0x7F00_0000_0100)


def test_header_directives() -> None:
    def k() -> None:
        ret()

    assert "\n.reqntid 64, 2, 1\n" in kernel(reqntid=(64, 2, 1))(k).ptx()
    assert kernel(reqntid=(64, 2))(k).block == (64, 2, 1)
    text = kernel(
        reqntid=(64,), raw_directives=[("maxntid", (128, 1, 1)), ("explicitcluster", ()), (".minnctapersm", 2)]
    )(k).ptx()
    assert ".reqntid" not in text
    assert ".maxntid 128, 1, 1" in text
    assert ".explicitcluster" in text
    assert ".minnctapersm 2" in text
    assert kernel(raw_directives=[])(k).ptx() == kernel()(k).ptx()


def test_a_specialization_holds_what_a_launch_needs() -> None:
    spec = scale.specialize([row(6, 8), row(8)], {})
    assert (spec.entry, spec.target, spec.grid, spec.block) == ("scale", "sm_90a", (6, 2, 1), (32, 2, 1))
    assert spec.text == scale.ptx(M=6, N=8)
    assert [(out.name, out.shape, out.dtype) for out in spec.outputs] == [("Y", (6, 8), "f32")]
    assert [each.name for each in spec.parameters] == ["X", "W", "Y"]
    assert scale.specialize([row(6, 8), row(8)], {"M": 6}).module is spec.module
    with pytest.raises(ShapeError, match="M=7 contradicts the arrays"):
        scale.specialize([row(6, 8), row(8)], {"M": 7})
    with pytest.raises(ArgumentCountError, match="W"):
        scale.specialize([row(6, 8)], {})


GRIDS: list[tuple[object, tuple[int, int, int]]] = [
    (None, (1, 1, 1)),
    (5, (5, 1, 1)),
    ((5, 6), (5, 6, 1)),
    (lambda M, N: M, (6, 1, 1)),
    (lambda N: (N, 2), (8, 2, 1)),
    (lambda M, unroll: (M * unroll,), (24, 1, 1)),
    (lambda **dims: dims["M"], (6, 1, 1)),
    (lambda rows, columns, /: (rows, columns), (6, 8, 1)),
    (lambda M, *rest, unroll: (M, *rest, unroll), (6, 8, 4)),
    (lambda N, step=2: N // step, (4, 1, 1)),
    (lambda *sizes: sizes, (6, 8, 1)),
    (lambda: 3, (3, 1, 1)),
]


@pytest.mark.parametrize(("grid", "expected"), GRIDS, ids=[str(number) for number in range(len(GRIDS))])
def test_a_grid_may_be_sizes_or_compute_them(grid: object, expected: tuple[int, int, int]) -> None:
    def k(X: TensorSpec, *, factor: int = 2, unroll: int = 4) -> None:  # noqa: ARG001  a kernel names its arrays and templates
        ret()

    built = kernel(in_specs=(Tile("M", "N", f32),), grid=grid)(k)  # type: ignore[call-overload]  # a mistake on purpose
    assert built.specialize([row(6, 8)], {}).grid == expected


@pytest.mark.parametrize("grid", [lambda M: (M - 6,), lambda M: "x", lambda M: (1, 2, 3, 4)])
def test_grids_that_compute_nonsense_are_refused(grid: Callable[..., object]) -> None:
    def k(X: TensorSpec, Y: TensorSpec) -> None:  # noqa: ARG001  a kernel names its arrays and templates
        ret()

    with pytest.raises(LaunchError):
        kernel(in_specs=(Tile("M", "N", f32), Tile("N", f32)), grid=grid)(k).specialize([row(6, 8), row(8)], {})


@pytest.mark.parametrize(
    ("grid", "unknown"),
    [
        (lambda K: K, "K"),
        (lambda a, b, c: a, "a, b, c"),
        (lambda M, K: K, "K"),
        (lambda columns, rows: (columns, rows), "columns, rows"),
        (lambda rows, /: rows, "rows"),
        (lambda N, *rest: N, "N, *rest"),
        (lambda *sizes, K: K, "K"),
        (lambda K, **rest: K, "K"),
    ],
)
def test_a_grid_that_asks_for_other_names_is_refused_where_it_is_declared(
    grid: Callable[..., object], unknown: str
) -> None:
    def k(X: TensorSpec, Y: TensorSpec, *, unroll: int = 4) -> None:  # noqa: ARG001  a kernel names its arrays and templates
        ret()

    with pytest.raises(SignatureError, match=re.escape(f"needs {unknown}, this kernel has M, N, unroll")):
        kernel(in_specs=(Tile("M", "N", f32), Tile("N", f32)), grid=grid)(k)


def test_the_only_dimension_goes_to_the_only_parameter() -> None:
    def k(X: TensorSpec, *, unroll: int = 4) -> None:  # noqa: ARG001  a kernel names its arrays and templates
        ret()

    assert kernel(in_specs=(Tile("N", f32),), grid=lambda size: size // 2)(k).specialize([row(8)], {}).grid == (4, 1, 1)


def test_clusters_divide_the_grid() -> None:
    def k() -> None:
        ret()

    assert kernel(cluster=2, grid=4)(k).specialize([], {}).cluster == (2, 1, 1)
    with pytest.raises(LaunchError, match="not a multiple of the cluster size"):
        kernel(cluster=2, grid=5)(k).specialize([], {})


def test_a_persistent_kernel_has_as_many_blocks_as_a_device_has_room_for() -> None:
    def k(X: TensorSpec) -> None:  # noqa: ARG001  a kernel names its arrays
        ret()

    def on(multiprocessors: int, blocks: int, **said: Any) -> tuple[int, int, int]:
        built = kernel(in_specs=(Tile("N", f32),), grid=lambda N: N, **said)(k)
        return built.specialize([row(blocks)], {}).grid_on(multiprocessors)

    assert on(132, 10_000) == (10_000, 1, 1)
    assert [on(132, blocks, persistent=1)[0] for blocks in (1, 131, 132, 133)] == [1, 131, 132, 132]
    assert on(78, 10_000, persistent=3) == (234, 1, 1)
    assert on(132, 10_000, persistent=1, cluster=8) == (128, 1, 1)  # clusters of 8 CTAs leave 4 of 132 SMs empty
    assert on(1, 10_000, persistent=1, cluster=2) == (2, 1, 1)
    with pytest.raises(LaunchError, match=r"got grid=\(2, 3, 1\)"):
        kernel(grid=(2, 3), persistent=1)(k)
    with pytest.raises(LaunchError, match="one-dimensional grid"):
        kernel(in_specs=(Tile("N", f32),), grid=lambda N: (N, N), persistent=1)(k).specialize([row(8)], {})
    for wrong in (True, -1, 0.5):
        with pytest.raises(LaunchError, match="must be a non-negative int"):
            kernel(persistent=wrong)(k)  # type: ignore[call-overload]  # a mistake on purpose


@pytest.mark.hopper
def test_tensor_maps_pass_by_value_or_by_pointer() -> None:
    def k(A: TensorSpec, B: TensorSpec) -> None:
        with active().scope():
            assert A.tma_desc() is A.tma_desc()
        B.tma_desc()
        ret()

    specs = (Tile(64, 64, bf16, Layout.TMA_128B), Tile(64, 64, bf16, Layout.TMA_128B))
    text = kernel(in_specs=specs)(k).ptx()
    assert ".param .align 64 .b8 A_tma_desc[128],\n" in text
    lines = [line.strip() for line in text.splitlines() if "tma_desc" in line or "cvta" in line][2:]
    assert lines == [
        *(
            "mov.b64 %rd0, A_tma_desc;",
            "cvta.param.u64 %rd1, %rd0;",
            "mov.b64 %rd2, B_tma_desc;",
            "cvta.param.u64 %rd3, %rd2;",
        ),
    ]
    assert text.index("cvta.param.u64 %rd1") < text.index("\t{")
    pointers = kernel(in_specs=specs, tma_slots="pointer")(k)
    assert ".param .u64 A_tma_desc" in pointers.ptx()
    assert "ld.param.u64 %rd0, [A_tma_desc];" in pointers.ptx()
    argument = Argument((64, 64), "bf16", (64, 1), 256)
    rows = pointers.specialize([argument, argument], {}).parameters
    assert [(each.name, each.kind, each.index) for each in rows[2:]] == [
        ("A_tma_desc", "descriptor", 0),
        ("B_tma_desc", "descriptor", 1),
    ]
    handle = TensorSpec("Z").tma_desc()
    assert isinstance(handle, TmaDescriptorHandle)
    assert (handle.name, handle.tensor.name) == ("Z_tma_desc", "Z")


def test_a_kernel_is_traced_once_even_from_many_threads() -> None:
    count: list[int] = []

    @kernel
    def k(*, n: int = 1) -> None:
        count.append(n)
        reg.scalar(u32, init=n)

    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(k.ptx(n=3))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(texts)) == 1
    assert count == [3]


def test_nothing_installed_runs_a_list() -> None:
    with pytest.raises(RuntimeMissingError, match="list"):
        scale([[1.0]], [1.0])
    with pytest.raises(RuntimeMissingError, match="list"):
        scale.simulate([[1.0]], [1.0])


def test_a_differentiable_kernel_needs_a_framework() -> None:
    with pytest.raises(RuntimeMissingError, match="float"):
        differentiable_kernel(scale, scale, save_for_backward=[0])(1.0)


def test_the_arch_of_a_compute_capability() -> None:
    assert [arch_module.target_of(*each) for each in ((7, 5), (8, 0), (9, 0), (10, 0), (10, 3), (12, 0))] == [
        *("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_120"),
    ]


def no_gpu() -> tuple[int, int]:
    raise RuntimeError("the CUDA driver sees no device\nhelp: see nvidia-smi")


@pytest.mark.parametrize(
    ("answers", "message", "help"),
    [
        (
            [],
            "no runtime that launches on GPUs is installed",
            f"{gpu_remedy()}, or pass the",
        ),
        (
            [None],
            "no runtime that launches on GPUs is installed",
            f"{gpu_remedy()}, or pass",
        ),
        ([None, no_gpu, no_gpu], "the CUDA driver sees no device", 'pass the target: @kernel(arch="sm_90a")'),
        ([no_gpu, lambda: (12, 0)], None, None),
        ([lambda: (9, 0), no_gpu], None, None),
    ],
)
def test_auto_asks_the_runtimes(
    monkeypatch: pytest.MonkeyPatch,
    answers: list[Callable[[], tuple[int, int]] | None],
    message: str | None,
    help: str | None,
) -> None:
    rows = [Runtime(str(number), 0, bool, print, capability=answer) for number, answer in enumerate(answers)]
    monkeypatch.setattr("pyptx_ir.plugins.manager.Plugins.runtimes", lambda _: tuple(rows))
    arch_module.detect_arch.cache_clear()

    def k() -> None: ...

    if message is None:
        assert kernel(arch="auto")(k).declaration.target.name == ("sm_120" if answers[0] is no_gpu else "sm_90a")
    else:
        with pytest.raises(ArchError, match=f"cannot detect the GPU's target: {message}") as raised:
            kernel(arch="auto")(k)
        assert str(raised.value.help).startswith(str(help))
    arch_module.detect_arch.cache_clear()


def test_a_kernel_remembers_a_bounded_number_of_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyptx_dsl.kernels.kernel._TRACES", 2)

    @kernel
    def fresh(*, value: int = 0) -> None:
        reg.scalar(u32, init=value)

    texts = [fresh.ptx(value=value) for value in (1, 2, 3, 1, 3)]
    assert len(set(texts)) == 3
    assert (texts[0], texts[2]) == (texts[3], texts[4])
    assert len(fresh._traced) == 2
