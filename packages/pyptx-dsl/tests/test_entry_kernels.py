"""Module kernels called with arrays: the caller's description of the parameters, and errors for a wrong description."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.contract.specs import Layout, Tile
from pyptx_dsl.errors import CallError, KeywordError, LaunchError, PyptxError, SignatureError
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.types import b8, b32, b64, f32, u32, u64
from pyptx_ir.plugins.rows import Argument, EntryParameter, Input, Output, TensorMap

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.modules.builder import ModuleBuilder
    from pyptx_dsl.modules.function_names import FunctionName


def written(**options: object) -> tuple[ModuleBuilder, FunctionName]:
    """Return a module whose kernel multiplies `count` numbers by `factor`, and the kernel's name."""
    m = module(version=(8, 0), target="sm_90a")

    @m.entry("copy", [u64, u32, m.param("to", u64), f32], visible=True, **options)  # type: ignore[arg-type]  # checked there
    def copied(*names: str) -> None:
        """Multiply."""
        r, f, rd = reg.bank("%r", b32, 3), reg.bank("%f", f32, 3), reg.bank("%rd", b64, 9)
        ptx.params(names[1], names[3], into=[r[1], f[1]])
        ptx.global_ptrs(names[0], names[2], generic=rd[1:3], into=rd[3:5])
        ptx.inst.mov.u32(r[2], ptx.special.tid.x())
        ptx.inst.mad.wide.u32(rd[5], r[2], 4, rd[3])
        ptx.inst.mad.wide.u32(rd[6], r[2], 4, rd[4])
        ptx.inst.ld.global_.f32(f[2], ptx.addr(rd[5]))
        ptx.inst.mul.f32(f[2], f[2], f[1])
        ptx.inst.st.global_.f32(ptx.addr(rd[6]), f[2])
        ptx.inst.ret()

    return m, copied


def given(count: int) -> Argument:
    return Argument((count,), "f32", (1,))


IN, OUT = {"param_0": Tile("N", f32)}, {"to": Tile("N", f32, align=16)}


def test_what_the_header_does_not_say_of_its_parameters_the_caller_does() -> None:
    m, copied = written(reqntid=(64,))
    assert copied == "copy"
    k = copied.kernel(in_specs=IN, out_specs=OUT, grid=lambda N: N // 64)
    special = k.specialize([given(128)], {"param_1": 128, "param_3": 2.0})
    assert (special.entry, special.target, special.grid, special.block) == ("copy", "sm_90a", (2, 1, 1), (64, 1, 1))
    assert special.module == m.module()
    assert special.parameters == (
        EntryParameter("param_0", "tensor", "u64", 0),
        EntryParameter("param_1", "scalar", "b32", value=128),
        EntryParameter("to", "tensor", "u64", 1),
        EntryParameter("param_3", "scalar", "f32", value=2.0),
    )
    assert special.inputs == (Input("param_0", (128,), "f32", (1,), 4),)
    assert special.outputs == (Output("to", (128,), "f32", (1,), 16),)
    assert special.mutated == ()
    assert k.__doc__ == "Multiply."
    assert "mad.wide.u32" in k.ptx(N=64)


def test_parameters_may_have_names_of_which_sizes_are_those_of_arrays() -> None:
    _, copied = written(reqnctapercluster=(2, 1, 1))
    names = ("x", "N", "y", "factor")
    tiles = {"x": Tile("N", f32), "y": Tile("N", f32)}
    k = copied.kernel(names=names, in_specs=tiles, mutates=("y",), grid=4, block=32, smem=64)
    special = k.specialize([given(32), given(32)], {"factor": 3.0})
    assert [(each.name, each.value) for each in special.parameters if each.kind == "scalar"] == [
        ("N", 32),
        ("factor", 3),
    ]
    assert (special.cluster, special.shared_bytes, special.mutated) == ((2, 1, 1), 64, (1,))
    assert repr(k) == "EntryKernel(copy, arch='sm_90a')"
    line = next(number for number, text in enumerate(special.text.splitlines(), 1) if "st.global" in text)
    assert special.origins[line][0].function.endswith("copied")


@pytest.mark.hopper
def test_maps_of_tensors_are_parameters_too() -> None:
    m = module(version=(8, 0), target="sm_90a")

    @m.entry("k", [m.param(..., b8, 128, align=64), m.param(..., b8, 64)], reqntid=(32,))
    def k() -> None:
        ptx.inst.ret()

    tile = Tile("M", 64, f32, Layout.TMA_128B, tma_box=(8, 32))
    with pytest.raises(SignatureError, match="'param_1' of 'k' is a structure"):
        k.kernel(in_specs={"param_0": tile})

    @m.entry("j", [m.param(..., b8, 128, align=64)], reqntid=(32,))
    def j() -> None:
        ptx.inst.ret()

    special = j.kernel(in_specs={"param_0": tile}).specialize([Argument((16, 64), "f32", (64, 1))], {})
    (row,) = special.parameters
    assert (row.kind, row.type, row.index) == ("descriptor", "b8", 0)
    assert isinstance(row.descriptor, TensorMap)
    assert row.descriptor.shape == (16, 64)
    assert "j takes" not in m.described()
    assert "Launch k with the driver API, from module.cubin(): param_0 is a structure." in m.described()


WRONG: dict[str, tuple[Callable[[FunctionName], object], type[PyptxError], str]] = {
    "no name": (
        lambda k: k.kernel(in_specs={"copy_param_0": Tile("N", f32)}),
        *(SignatureError, "no parameter 'copy_param_0'.*param_0, param_1, to"),
    ),
    "no threads": (lambda k: k.kernel(), LaunchError, "declares no .reqntid CTA size, only .maxntid .256,.*block="),
    "few names": (lambda k: k.kernel(names=("x",), block=1), SignatureError, "has 4 parameters"),
    "a number": (lambda k: k.kernel(in_specs={"param_1": Tile(1, u32)}, block=1), SignatureError, "is a u32, and no"),
    "no value": (lambda k: k.kernel(block=1).specialize([], {}), KeywordError, "missing raw parameter 'param_0'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_fit_is_refused(what: str) -> None:
    call, error, words = WRONG[what]
    _, copied = written(maxntid=(256,))
    with pytest.raises(error, match=f"(?s){words}"):
        call(copied)


def test_a_device_function_is_no_kernel() -> None:
    m = module(version=(8, 0), target="sm_90a")

    @m.func("f")
    def f() -> None:
        ptx.inst.ret()

    with pytest.raises(CallError, match="'f' is a device function"):
        f.kernel(block=1)


def test_a_module_says_how_its_kernel_is_launched() -> None:
    m, _ = written(maxntid=(256, 1, 1))
    m.shared("more", b8, 0, linking="extern")
    said = m.described()
    assert (
        "kernel copied(param_0: .u64 to f32, param_1: .u32, to: .u64 to f32, written, param_3: .f32)\n    Multiply.\n"
        "    .entry copy\n    .maxntid 256, 1, 1\n\nThe launch sets the size of the dynamic shared memory (more)"
    ) in said
    assert "    from test_entry_kernels import copied\n" in said
    assert '        in_specs={"param_0": Tile("N0", f32), "to": Tile("N1", f32)},\n        mutates=["to"],\n' in said
    assert "        grid=1,\n        block=256,\n        smem=49152,\n    )\n" in said
    assert "    run(param_0, to, param_1=16, param_3=1.0)\n" in said
    assert "    to = run(param_0, to, param_1=16, param_3=1.0)\n" in said


def test_a_module_without_a_known_target_says_it_too() -> None:
    for head in ({}, {"version": (9, 0), "target": "sm_2345"}):
        m = module(unchecked=True, **head)
        m.shared("dynamic", b8, 0, linking="extern")

        @m.entry("k", [m.param("p", u64)])
        def k() -> None:
            (p,) = reg.declare(u64, "%p")
            ptx.inst.ld.param.u64(p, ptx.addr("p"))
            ptx.inst.st.global_.f32(ptx.addr(p), 1.0)

        assert "smem=49152" in m.described()
