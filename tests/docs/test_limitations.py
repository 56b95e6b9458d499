"""Limitations listed in docs/limitations.md: a test shows that each still exists, and fails when it is removed."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.mutations.subjects import SUBJECTS

from pyptx import Tile, differentiable_kernel, kernel, module, ptx, reg, smem
from pyptx.bundles import BundleError, export, load
from pyptx.calls import call_of
from pyptx.codegen import ptx_to_python
from pyptx.diff import compare
from pyptx.smem import SharedTile
from pyptx.types import b8, f32, pred, tf32, u32
from pyptx_dsl.errors import (
    ContractError,
    DtypeError,
    ForeignArrayError,
    GradientError,
    LayoutError,
    OperandError,
    RuntimeMissingError,
    SignatureError,
    SpecError,
    TruthValueError,
    UnboundDimensionsError,
)
from pyptx_ir.isa.check import TABLE_VERSION
from pyptx_ir.isa.modules import check_text
from pyptx_ir.plugins.rows import EntryParameter, Im2col
from pyptx_ir.syntax import PtxSyntaxError, parse, parse_instruction, parse_recovering
from pyptx_sim import Result, Sampler, Surface, TensorMap, Texture, WithDescriptor, readers, run
from pyptx_sim.errors import LaunchError, MissingSemantics, ProgramError

from .pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = ROOT / "docs" / "limitations.md"
WORDS = np.zeros(64, np.uint32)
VECTOR = Tile("N", f32)
TWO = ".param .u64 x, .param .u64 y"


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the warning for kernel calls with CPU tensors."""
    monkeypatch.setenv("PYPTX_CPU", "quiet")


def entries() -> dict[str, str]:
    """Return the text of each entry of docs/limitations.md, by the name of its test (derived from its heading)."""
    parts = re.split(r"(?m)^### ", PAGE.read_text(encoding="utf-8").split("\n## ", 1)[1])[1:]
    names = [re.sub(r"\W+", "_", re.sub(r"[^\w\s-]", "", part.splitlines()[0].lower())) for part in parts]
    return dict(zip(names, parts, strict=True))


def test_every_entry_has_a_test_and_every_test_an_entry() -> None:
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_") and "every_entry" not in name}
    assert entries().keys() == tests
    for name, text in entries().items():
        assert re.findall(r"Test:\s+`(\w+)`\.", text) == [f"test_{name}"]


def test_every_entry_is_linked_from_the_page_about_its_subject() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in PAGE.parent.rglob("*.md"))
    linked = {link.replace("-", "_") for link in re.findall(r"\((?:\.\./)?limitations\.md#([\w-]+)\)", pages)}
    assert entries().keys() <= linked


def entry(body: str, target: str = "sm_90a", version: str = "9.0", parameters: str = "") -> str:
    """Return a PTX module with one kernel `k`."""
    return (
        f".version {version}\n.target {target}\n.address_size 64\n.visible .entry k({parameters})\n{{\n"
        ".reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<16>;\n"
        f".shared .align 128 .b8 s[1024];\n{body}\nret;\n}}\n"
    )


def ran(text: str, *args: Any, block: int = 1, grid: int = 1, **options: Any) -> Result:
    """Run the kernel `k` of a module on the simulator with all checks."""
    return run(text, grid=grid, block=block, args=list(args), **options)


def rules(result: Result) -> set[str]:
    """Return the rules of the findings of a simulator run."""
    return {finding.rule for finding in result.findings}


# Simulator ------------------------------------------------------------------------------------------------------------

MISSING = {
    "tex.2dms.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r0, %r1, %r2, %r3}];": "sm_90a",
    "tex.a2dms.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r0, %r1, %r2, %r3}];": "sm_90a",
    "mbarrier.init.layout::v1.shared.b64 [s], 1;": "sm_90a",
    "mbarrier.test_wait.phase_type::primary.shared.b64 %p0, [s], %rd0;": "sm_90a",
    "mbarrier.test_wait.parity.phase_type::conditional.shared.b64 %p0, [s], %r0;": "sm_90a",
    "ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {%r0}, [s];": "sm_100a",
    "add.e4m3x4.e2m1p4x4 %r0, %r1, %r2;": "sm_100a",
    "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [s], 4;": "sm_103a",
    "fabric.submit;": "sm_100a",
}


def test_missing_instructions() -> None:
    for line, target in MISSING.items():
        with pytest.raises(MissingSemantics):
            ran(entry(line, target, ".".join(map(str, TABLE_VERSION))), block=32)


def test_layouts_of_tensor_maps() -> None:
    matrix, sliced = np.zeros((8, 8), np.float32), np.zeros((2, 2, 3, 4, 8), np.float16)
    slices = TensorMap("f16", (2, 3, 4, 16), (384, 64, 16, 2), (1, 1, 2, 16), (1,) * 4, "none", "16B")
    for array, described in ((matrix, TensorMap.of(matrix, (8, 4), swizzle="32B")), (sliced, slices)):
        with pytest.raises(LaunchError, match="not simulated"):
            ran(entry("", parameters=".param .align 64 .b8 m[128]"), WithDescriptor(array, described))


def test_halo_of_im2colw() -> None:
    described = readers_of_pixels()
    copy = (
        "mov.u64 %rd0, m; cvta.param.u64 %rd0, %rd0; mov.u32 %r0, 0; mov.u16 %h0, 2; mov.u16 %h1, 0;\n"
        "mbarrier.init.shared.b64 [s+512], 1; fence.proxy.async.shared::cta;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [s+512], 128;\n"
        "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes"
        " [s], [%rd0, {%r0, %r0, %r0}], [s+512], {%h0, %h1};"
    )
    with pytest.raises(MissingSemantics, match="halo"):
        ran(entry(copy, "sm_100a", "9.0", ".param .align 64 .b8 m[128]"), described)


def readers_of_pixels() -> WithDescriptor:
    """Return an array of pixels with a tensor map in im2col mode."""
    pixels = np.zeros((2, 8, 8), np.float32)
    described = TensorMap("f32", (2, 8, 8), (256, 32, 4), (), (1, 1, 1), im2col=Im2col((0,), (0,), 4, 8))
    return WithDescriptor(pixels, described)


def test_device_runtime_functions() -> None:
    declared = ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b32 a);\n"
    called = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], 1; call.uni (b), cudaLaunchDevice, (a); }"
    with pytest.raises(ProgramError, match="undefined function cudaLaunchDevice"):
        ran(entry(called).replace(".visible", f"{declared}.visible"))


def test_several_devices() -> None:
    word, out = np.full(1, 3, np.uint32), np.zeros(1, np.uint32)
    reduced = "multimem.ld_reduce.relaxed.sys.global.add.u32 %r0, [%rd0]; st.global.u32 [%rd1], %r0;"
    load_both = "ld.param.u64 %rd0, [x]; ld.param.u64 %rd1, [y];"
    ran(entry(load_both + reduced, parameters=TWO), word, out)
    assert out == word
    assert not {"devices", "gpus"} & {*inspect.signature(run).parameters}


def test_size_of_the_device() -> None:
    for target in ("sm_80", "sm_90a", "sm_100a"):
        assert ran(entry("", target), grid=132 * 16, block=32, cooperative=True).clean
        with pytest.raises(LaunchError, match="132"):
            ran(entry("", target), grid=132 * 32 + 1, cooperative=True)


def test_time() -> None:
    fields = {field.name for field in dataclasses.fields(ran(entry("")).statistics)}
    assert fields == {"instructions", "warps", "ctas", "steps", "waves"}


def test_bank_conflicts_and_uncoalesced_accesses() -> None:
    @kernel(in_specs=(Tile(32, 32, f32),), out_specs=(Tile(32, f32),), grid=1, block=32)
    def column(x, y):
        px, py = ptx.global_ptrs(x, y)
        lane, tile, value = reg.from_(ptx.special.tid.x(), u32), smem.alloc(f32, (32, 32)), reg.scalar(f32)
        ptx.ld(f32, value, ptx.addr(px + lane * 128))  # uncoalesced load: adjacent lanes' addresses differ by 128 bytes
        tile[lane, 0] = value  # bank conflict: all 32 lanes store to one bank
        ptx.st(f32, ptx.addr(py + lane * 4), tile[lane, 0])
        ptx.ret()

    assert column.simulate(np.zeros((32, 32), np.float32)).findings == ()


def test_instructions_that_the_target_lacks() -> None:
    text = entry("wgmma.fence.sync.aligned;", "sm_80", "8.0")
    assert ran(text, block=128).clean
    assert {found.code for found in check_text(text)} == {"target"}


def test_edges_of_cube_textures() -> None:
    faces, out = np.ones((6, 4, 4), np.float32), np.zeros(1, np.float32)
    faces[0] = 0  # face +x, which the direction (1, 0.999, 0) hits near face +y
    sample = (
        "ld.param.u64 %rd0, [x]; ld.param.u64 %rd1, [y];\n"
        "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F7FBE77; mov.f32 %f3, 0f00000000;\n"
        "tex.cube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd0, {%f1, %f2, %f3, %f3}]; st.global.f32 [%rd1], %f4;"
    )
    cube = Texture(faces, "cube", Sampler(address="clamp", filter="linear", normalized=True))
    assert ran(entry(sample, parameters=TWO), cube, out).clean
    assert out == 0


def test_views_that_are_refused() -> None:
    for view, word in ((np.arange(4.0)[::-1], "negative strides"), (np.ma.array([1, 2]), "masked")):
        with pytest.raises(LaunchError, match=word):
            ran(entry("", parameters=".param .u64 x"), view)
    with pytest.raises(LaunchError, match="non-contiguous"):
        Surface(np.zeros((4, 8), np.float32)[:, ::2], "2d")


def test_tensor_maps_for_the_driver() -> None:
    assert any(readers_of_pixels().descriptor.encode(4096)[64:])


def test_tritons_im2col_and_fp4_descriptors() -> None:
    for said in ({"is_im2col": True}, {"fp4_padded": True}):
        with pytest.raises(LaunchError, match="unsupported descriptor"):
            readers.triton._map("x", "tensordesc<fp16[16, 16]>", said, (16, 16), (16, 1), nan=False, rounded=False)


def test_grids_that_cute_dsl_computes_on_the_host() -> None:
    mlir = "    cuda.kernel @rows(%arg0: f32) attributes {facts = {exact_block_dim = array<i64: 32, 1, 1>}} {\n"
    compiled: Any = SimpleNamespace(artifacts=SimpleNamespace(PTX="", MLIR=mlir), ir_module="")
    with pytest.raises(LaunchError, match="the grid of rows depends on arguments of the host function"):
        readers.from_cute(compiled, None, [1.0])


def test_tensor_cores_measured_on_hopper_only() -> None:
    recorded = sorted((ROOT / "tests" / "golden").glob("truth_*.json"))
    assert [path.name for path in recorded] == ["truth_sm_90.json"]
    assert re.search("H[12]00", json.loads(recorded[0].read_text(encoding="utf-8"))["device"])


CROWD = """
.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flags, .param .u64 out)
{
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [flags]; ld.param.u64 %rd3, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; xor.b32 %r3, %r1, 1;
    mad.wide.u32 %rd4, %r1, 4, %rd1; mad.wide.u32 %rd5, %r1, 4, %rd2;
    mad.wide.u32 %rd6, %r3, 4, %rd2; mad.wide.u32 %rd7, %r1, 4, %rd3;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra READ;
    st.global.u32 [%rd4], 7;
    st.release.gpu.global.u32 [%rd5], 1;
    ret;
READ:
    ld.acquire.gpu.global.u32 %r4, [%rd6];  // the flag of the adjacent thread
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra READ;
    ld.global.u32 %r5, [%rd4];
    st.global.u32 [%rd7], %r5;
    ret;
}
"""


def test_releases_to_many_locations() -> None:
    def found(threads: int, seed: int) -> set[str]:
        return rules(ran(CROWD, *(np.zeros(threads, np.uint32) for _ in range(3)), grid=2, block=threads, seed=seed))

    assert found(64, 0) == found(96, 1) == {"global-race"}
    assert not found(96, 0)


def test_addresses_that_select_a_variable() -> None:
    def found(address: str) -> set[str]:
        variables = ".shared .align 16 .b8 a[64];\n.shared .align 16 .b8 b[64];\nmov.u32 %r0, a; mov.u32 %r1, b;"
        return rules(ran(entry(f"{variables}\n{address}\nst.shared.u32 [%r2+64], 1;")))

    assert found("mov.u32 %r2, %r0;") == {"other-variable"}
    assert not found("setp.eq.u32 %p0, 0, 0; selp.b32 %r2, %r0, %r1, %p0;")


def test_benign_races_of_volatile_loads() -> None:
    def severities(load: str) -> set[str]:
        pointers = "ld.param.u64 %rd0, [x]; ld.param.u64 %rd1, [y];"
        text = entry(f"{pointers} {load}.u32 %r0, [%rd0]; st.global.u32 [%rd1], %r0;", parameters=TWO)
        return {finding.severity for finding in ran(text, WORDS, np.zeros(1, np.uint32), grid=2).findings}

    assert severities("ld.global") == {"note"}
    assert severities("ld.volatile.global") == {"error"}


def test_scope_of_a_wait_for_other_ctas() -> None:
    subject = SUBJECTS["cluster_copy"]
    narrow = subject.text.replace("try_wait.parity.acquire.cluster", "try_wait.parity")
    assert narrow != subject.text
    assert subject.run(parse(narrow)).clean


def test_sizes_of_a_module() -> None:
    for declared in (".reg .b32 %q<1048577>;", ".global .b8 g[268435457];", ".shared .b8 g<65537>;"):
        with pytest.raises(ProgramError):
            ran(entry(declared))


def test_kernels_for_blackwell_on_a_gpu() -> None:
    results = [*ROOT.glob("benchmarks/results/*.md"), *ROOT.glob("tests/golden/*.json")]
    blackwell = re.compile(r"\bG?B[123]0[0-9]\b|RTX 50\d0")
    assert results
    assert not [path.name for path in results if blackwell.search(path.read_text(encoding="utf-8"))]


# Checker and instruction table ----------------------------------------------------------------------------------------


def codes(text: str) -> set[tuple[str, str]]:
    """Return severity and code of each diagnostic of `pyptx check` for a PTX text."""
    return {(found.severity, found.code) for found in check_text(text)}


def test_devices_before_sm_50() -> None:
    assert codes(entry("add.rm.s32 %r0, %r1, %r2;", "sm_20", "3.2")) == {("warning", "retired-target")}
    assert codes(entry("add.rm.s32 %r0, %r1, %r2;", "sm_50", "5.0")) == {("error", "modifier")}


def test_ptx_after_version_95() -> None:
    assert TABLE_VERSION == (9, 5)
    newer = {("warning", "newer-version"), ("warning", "unknown-instruction")}
    assert codes(entry("frobnicate.b32 %r0;", version="9.6")) == newer


def test_code_that_ptxas_accepts() -> None:
    assert codes(entry("wgmma.fence.sync;")) == {("error", "missing-modifier")}


def test_depth_and_number_of_errors() -> None:
    for text in (".entry k() {" + "{" * 101 + "}" * 101 + "}", "mov.b32 %r1, " + "(" * 65 + "1" + ")" * 65 + ";"):
        with pytest.raises(PtxSyntaxError, match="nest"):
            parse(text)
    assert len(parse_recovering("add.s32 %r1 %r2;\n" * 2000)[1]) <= 1001


def test_instructions_without_a_function() -> None:
    types = {"%r1": "u32", "%rd1": "u64"}.get
    assert call_of(parse_instruction("atom.global.add.u32 %r1, [%rd1], 1;"), types)
    assert call_of(parse_instruction("atom.add.global.u32 %r1, [%rd1], 1;"), types) is None


# Transpiler and diff --------------------------------------------------------------------------------------------------


def raw_branches(body: str) -> int:
    """Return the number of branches of a kernel that the transpiler prints as branches in Python."""
    return ptx_to_python(entry(body), sugar=True).count("ptx.inst.bra")


def test_deeply_nested_code() -> None:
    def nested(depth: int) -> str:
        opened = "".join(
            f"setp.eq.s32 %p1, %r1, {i};\n@%p1 bra L{i};\nadd.s32 %r1, %r1, {i + 1};\n" for i in range(depth)
        )
        return opened + "".join(f"add.s32 %r2, %r2, {i};\nL{i}:\n" for i in reversed(range(depth)))

    assert raw_branches(nested(14)) == 0
    assert raw_branches(nested(20)) > 0


def test_branches_into_a_loop() -> None:
    loop = "HEAD:\nadd.s32 %r1, %r1, 1;\nMIDDLE:\nadd.s32 %r1, %r1, 2;\nsetp.lt.s32 %p2, %r1, 9;\n@%p2 bra HEAD;\n"
    assert raw_branches(loop.replace("MIDDLE:\n", "")) == 0
    assert raw_branches(f"@%p1 bra MIDDLE;\n{loop}") > 0


def test_modules_that_the_table_refuses() -> None:
    text = entry("add.s32 %r0, %r1, %r2;")
    whole = re.compile(r"^module = pyptx\.module\(.*unchecked=True", re.MULTILINE)
    assert whole.search(ptx_to_python(text.replace("sm_90a", "sm_1"), sugar=True))
    assert not whole.search(ptx_to_python(text.replace("add.s32", "add.rm.s32"), sugar=True))


def test_equivalent_code_in_a_diff() -> None:
    written = entry("mov.b32 %r0, -1;").replace("()\n", "()\n.maxntid 32\n")
    for old, new in (("-1", "4294967295"), (".maxntid 32", ".maxntid 32, 1, 1")):
        assert not compare(written, written.replace(old, new)).same


# Writing kernels ------------------------------------------------------------------------------------------------------


@kernel(in_specs=(VECTOR,), out_specs=(VECTOR,), grid=1, block=64)
def doubled(x, y):
    px, py = ptx.global_ptrs(x, y)
    at, value = reg.from_(ptx.special.tid.x(), u32) * 4, reg.scalar(f32)
    ptx.ld(f32, value, ptx.addr(px + at))
    ptx.st(f32, ptx.addr(py + at), value + value)
    ptx.ret()


def traced(body: Callable[[], object]) -> str:
    """Return the PTX of a kernel with this body."""

    def k() -> None:
        body()

    return kernel(k).ptx()


def test_kernels_of_any_size() -> None:
    with pytest.raises(UnboundDimensionsError):
        doubled.ptx()


def test_kernels_that_call_kernels() -> None:
    with pytest.raises(RuntimeMissingError):
        traced(lambda: doubled(reg.scalar(f32)))


def test_pythons_if_and_while() -> None:
    with pytest.raises(TruthValueError):
        traced(lambda: bool(reg.scalar(u32) < 2))


def test_optimization() -> None:
    def twice() -> None:
        x = reg.scalar(u32, init=1)
        assert x + 3 is not x + 3

    assert traced(twice).count("add.u32") == 2


def test_element_types_without_an_array() -> None:
    for dtype in (np.complex64, "U4"):
        with pytest.raises(DtypeError):
            doubled(np.zeros(64, dtype))


def test_directives_of_printf() -> None:
    for directive in ("%*d", "%n"):
        with pytest.raises(OperandError, match="is not a directive"):
            traced(lambda text=directive: ptx.printf(text, reg.scalar(u32)))
    with pytest.raises(OperandError):
        traced(lambda: ptx.printf("%d", reg.scalar(pred)))


def test_tiles_of_tf32_along_m_or_n() -> None:
    with pytest.raises(SpecError, match="MN-major"):
        SharedTile(tf32, (64, 64), major="MN")


def test_errors_of_a_whole_module() -> None:
    m = module(version=(8, 7), target="sm_90a")

    @m.entry("k")
    def _k() -> None:
        ptx.call("undefined")
        ptx.ret()

    assert codes(m.ptx()) == {("error", "undefined-function")}


# Launching ------------------------------------------------------------------------------------------------------------


def test_structures_by_value() -> None:
    m = module(version=(8, 7), target="sm_90a")

    @m.entry("k", [m.param("p", b8, 24, align=8)], visible=True)
    def k(_: str) -> None:
        ptx.ret()

    with pytest.raises(SignatureError, match="a structure in memory"):
        k.kernel(grid=1, block=32)()


def test_descriptors_of_plugins() -> None:
    from pyptx_launch import LaunchError as Refused
    from pyptx_launch.plans import _parameter_for

    parameter = EntryParameter(name="x_column", kind="descriptor", type="b8", index=0, descriptor=object())
    with pytest.raises(Refused, match=r"unsupported parameter .*: a descriptor of object"):
        _parameter_for(parameter, "k")


@pytest.mark.torch
def test_strided_tensors() -> None:
    import torch

    with pytest.raises(LayoutError):
        doubled(torch.ones(128)[::2])


@pytest.mark.torch
def test_arrays_of_two_frameworks() -> None:
    import torch

    with pytest.raises(ForeignArrayError):
        doubled(torch.ones(64), out=np.zeros(64, np.float32))


@pytest.mark.torch
def test_gradients_of_a_kernel() -> None:
    import torch

    with pytest.raises(GradientError):
        doubled(torch.ones(64, requires_grad=True)).sum().backward()


@pytest.mark.torch
def test_second_derivatives() -> None:
    import torch

    x = torch.ones(64, requires_grad=True)
    function = differentiable_kernel(doubled, lambda x, _: doubled(x))
    (first,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    with pytest.raises(GradientError, match="the backward pass reached doubled"):
        first.sum().backward()


@pytest.mark.jax
def test_symbolic_shapes_in_jaxexport() -> None:
    import jax
    from jax import export as jax_export

    (size,) = jax_export.symbolic_shape("n")
    with pytest.raises(ContractError):
        jax_export.export(jax.jit(doubled))(jax.ShapeDtypeStruct((size,), np.float32))


SHARDED = """
import jax, numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from tests.docs.test_limitations import doubled
mesh = jax.make_mesh((2,), ("d",))
x = jax.device_put(np.ones(64, np.float32), NamedSharding(mesh, PartitionSpec("d")))
print("all-gather" in jax.jit(doubled).lower(x).compile().as_text())
"""


@pytest.mark.jax
@pytest.mark.long
def test_sharded_arrays_in_jax() -> None:
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", SHARDED]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True"]


@pytest.mark.ptxas
def test_sizes_of_a_bundle(tmp_path: Any) -> None:
    export(doubled, [{"N": 64}], tmp_path / "bundle")
    with pytest.raises(ContractError, match="was not compiled for N=65"):
        load(tmp_path / "bundle")["doubled"](np.zeros(65, np.float32))


@pytest.mark.ptxas
def test_pointers_to_descriptors_in_a_bundle(tmp_path: Any) -> None:
    @kernel(in_specs=(Tile(8, 8, f32, tma_box=(8, 8)),), grid=1, block=32, arch="sm_90a", tma_slots="pointer")
    def pointed(x):
        x.tma_desc()
        ptx.ret()

    with pytest.raises(BundleError, match="passed by pointer"):
        export(pointed, [{}], tmp_path / "bundle")


# Installation ---------------------------------------------------------------------------------------------------------


def test_operating_systems() -> None:
    for name in ("launch", "torch", "jax"):
        project = tomllib.loads((ROOT / "packages" / f"pyptx-{name}" / "pyproject.toml").read_text("utf-8"))["project"]
        assert {row for row in project["classifiers"] if "Operating System" in row} == {
            "Operating System :: POSIX :: Linux"
        }


def test_releases() -> None:
    command = ("git", "tag", "--list", "pyptx*-v*")
    assert subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout == b""
