"""A third-party plugin, installed as a user would install it: correct use, and errors.

`acme_arch` is a separate distribution. If it is installed (nox installs it), the tests use it; otherwise they build and
install it into a temporary folder. Every case runs in a fork of a process that has imported the modules of pyptx.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.origins import install_command

if TYPE_CHECKING:
    from .conftest import Run

ACME = Path(__file__).parent / "acme_arch"
STUB = Path("acme_arch", "ptx", "instruction_set.pyi")
PACKAGES = Path(__file__).resolve().parents[2] / "packages"

KERNEL = """
import numpy as np
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import b32, u32

@kernel(in_specs=(Tile("N", u32),), out_specs=(Tile("N", u32),), grid=1, block=(32, 1, 1), arch=ARCH)
def frob(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    tid = reg.from_(ptx.special.tid.x(), u32)
    value = reg.scalar(b32)
    ptx.inst.ld.global_.b32(value, ptx.addr(px + tid * 4))
    ptx.acme.frob(value, value)
    ptx.inst.st.global_.b32(ptx.addr(py + tid * 4), value)
    ptx.ret()
"""


def write_plugin(folder: Path, name: str, body: str, version: str = "API_VERSION") -> None:
    """Write a plugin module for `version` of the hooks."""
    head = "from pyptx_ir.isa.rows import row\nfrom pyptx_ir.plugins import API_VERSION, hookimpl\n\n"
    head += f"@hookimpl\ndef pyptx_api_version():\n    return {version}\n\n"
    (folder / f"{name}.py").write_text(head + body, encoding="utf-8")


def test_it_keeps_the_contract(run: Run) -> None:
    run("from pyptx_ir.plugins.testing import check_plugin\ncheck_plugin('acme_arch.plugin')")


def test_its_target_is_found_and_has_what_it_extends(run: Run) -> None:
    script = """
from pyptx_ir.isa.targets import default_version, includes
from pyptx_ir.plugins.targets import find_target
target = find_target("acme_1")
assert target.shared_optin == 64 * 1024
assert includes("acme_1", "sm_80") and not includes("acme_1", "sm_90a") and not includes("sm_90a", "acme_1")
assert default_version("acme_1") == (8, 5)
"""
    run(script)


def test_its_namespace_traces_one_instruction(run: Run) -> None:
    printed = run(f'ARCH = "acme_1"\n{KERNEL}\nprint(frob.ptx(N=32))')
    assert printed.count("acme.frob.b32") == 1
    assert ".target acme_1" in printed


def test_any_instruction_of_its_can_be_written_without_the_namespace(run: Run) -> None:
    printed = run(
        f'ARCH = "acme_1"\n{KERNEL.replace("ptx.acme.frob", "ptx.inst.acme.frob.b32")}\nprint(frob.ptx(N=32))'
    )
    assert printed.count("acme.frob.b32") == 1


def test_its_instruction_is_found_by_search(run: Run) -> None:
    assert "acme.frob.b32 d, a;" in run('from pyptx_ir.commands import main\nassert main(["isa", "frob"]) == 0')


def test_it_ships_the_types_of_its_instructions_as_the_command_writes_them(run: Run, tmp_path: Path) -> None:
    command = ["stubs", "--package", "acme_arch", "--output", str(tmp_path)]
    run(f"from pyptx_ir.commands import main\nassert main({command!r}) == 0")
    stub = (tmp_path / STUB).read_text(encoding="utf-8")
    assert "class Acme_frob:\n    def b32(self, d: Result, a: Value, /" in stub
    assert stub == (ACME / "src" / STUB).read_text(encoding="utf-8"), "pyptx stubs --package acme_arch writes it again"


def test_a_stub_of_ones_own_imports_the_types_that_it_ships(run: Run, tmp_path: Path) -> None:
    run(f"from pyptx_ir.commands import main\nassert main(['stubs', '--output', {str(tmp_path)!r}]) == 0")
    (path,) = tmp_path.rglob("*.pyi")
    assert path.relative_to(tmp_path).as_posix() == "pyptx_dsl/instructions/instruction_set.pyi"
    assert "    from acme_arch.ptx.instruction_set import acme as acme\n" in path.read_text(encoding="utf-8")


def test_its_instruction_is_simulated(run: Run) -> None:
    script = f"""
ARCH = "acme_1"
{KERNEL}
x = np.arange(32, dtype=np.uint32) * np.uint32(2654435761)
expected = [(int(format(int(v), "032b")[::-1], 2) + 1) % 2**32 for v in x]
assert frob(x).tolist() == expected
"""
    run(script)


def test_its_rule_of_the_transpiler_is_used_and_proved(run: Run) -> None:
    script = r"""
from pyptx.codegen import transpile
from pyptx_ir.plugins.manager import manager
head = ".version 8.5\n.target acme_1\n.address_size 64\n\n.visible .entry k()\n{\n\t.reg .b32 %r<3>;\n\n"
source = head + "\tacme.frob.b32 %r2, %r1;\n\tret;\n}\n"
done = transpile(source, manager().sugar_rules())
names = {"__name__": "printed"}
exec(done.text, names)
assert done.applied["acme_frob"] == 1
assert "ptx.acme.frob(r[2], r[1])" in done.text
assert names["module"].ptx() == source
"""
    run(script)


def test_its_fragments_say_what_its_row_does_and_are_computed_with_in_a_kernel(run: Run) -> None:
    script = """
from itertools import product
from pyptx import kernel, ptx, reg
from pyptx.types import b32, f32, u32
from pyptx_ir.fragments import fragment_of
from pyptx_ir.isa.matrix_rows import BITS
from pyptx_ir.isa.kinds.fragments import registers_of

SHAPE = "m32n8k8"
held = {name: fragment_of("acme.dot", SHAPE, name, kind) for name, kind in (("d", "f32"), ("a", "tf32"), ("b", "tf32"))}
for (name, fragment), extent in zip(held.items(), ("mn", "mk", "kn")):
    assert fragment.registers == registers_of(SHAPE, extent, BITS[fragment.title.rpartition(".")[2]])
    for row, column in product(range(fragment.rows), range(fragment.columns)):
        (place,) = fragment.places(row, column)
        assert (fragment.row(place.lane, place.element), fragment.column(place.lane, place.element)) == (row, column)
assert held["d"].lane_of(17, 3) == 17 and held["a"].lane_of(9, 2) == 6

@kernel(grid=1, block=(32, 1, 1), arch="acme_1")
def dot():
    lane = reg.from_(ptx.special.laneid(), u32)
    d, a, b = reg.array(f32, held["d"].registers), reg.array(b32, 8), reg.array(b32, 2)
    ptx.inst.acme.dot.m32n8k8.f32.tf32(list(d), list(a), list(b))
    held["d"].row(lane, 3) + 1
    ptx.ret()

print(dot.ptx())
try:
    fragment_of("acme.dot", "m16n8k8", "a", "tf32")
except ValueError as error:
    print(error)
"""
    printed = run(script)
    assert printed.count("acme.dot.m32n8k8.f32.tf32") == 1
    assert "acme.dot has no shape 'm16n8k8'" in printed


def test_two_warps_share_a_fragment_of_a_type_of_its_own(run: Run) -> None:
    script = """
from itertools import product
from pyptx_ir.fragments import fragment_of
from pyptx_ir.isa.check import verdict_on
from pyptx_ir.isa.forms import register_type
from pyptx_ir.syntax import parse_instruction

d, a = (fragment_of("acme.pair", "m32n8k8", name, kind) for name, kind in (("d", "f32"), ("a", "a12")))
for fragment in (d, a):
    held = {(fragment.row(t, i), fragment.column(t, i)) for t in range(64) for i in range(fragment.count)}
    assert held == set(product(range(32), range(8))) and len(fragment.lanes) == 6
assert (d.registers, a.registers) == (4, 2)

D, A, B = (", ".join(f"%{kind}_{i}" for i in range(n)) for kind, n in (("f32", 4), ("b32", 2), ("b32", 1)))
for first, second in ((D, A), (D + ", %f32_4", A), (D, "%f32_5, %f32_6")):
    text = f"acme.pair.m32n8k8.f32.a12.f16 {{{first}}}, {{{second}}}, {{{B}}};"
    verdict = verdict_on(parse_instruction(text), register_type, "acme_1", (8, 5))
    print("right" if verdict is None else verdict.message.rpartition("; ")[2])
"""
    assert run(script).splitlines() == [
        "right",
        "it must be a vector of 4, each a .f32 or .b32 register",
        "it must be a vector of 2, each a .b32 register",
    ]


VAULT = """
from pyptx import kernel, ptx, reg
from pyptx.types import b32, u32

@kernel(grid=1, block=(32, 1, 1), arch=ARCH)
def fill():
    value = reg.scalar(b32, init=7)
    for words in (3, 16, WORDS):
        place = reg.scalar(u32, init=ptx.acme.vault(words))
        ptx.inst.acme.put.b32(ptx.addr(place), value)
    ptx.ret()

try:
    print(fill.ptx())
except Exception as error:
    print(type(error).__name__, error)
"""


def test_its_memory_hands_out_aligned_places_up_to_its_end(run: Run) -> None:
    printed = run(f'ARCH, WORDS = "acme_1", {(4096 - 128) // 4}\n{VAULT}')
    assert [line.split(", ")[1] for line in printed.splitlines() if "mov.u32" in line] == ["0;", "64;", "128;"]
    assert "vault" not in printed


@pytest.mark.parametrize(
    ("arch", "words", "said"),
    [
        (
            "acme_1",
            "993",
            "AllocationError kernel 'fill' needs 4100 bytes of vault; a CTA on acme_1 has",
        ),
        ("acme_1", "0", "AllocationError cannot allocate 0 bytes of vault"),
        ("sm_90a", "1", "AllocationError sm_90a has no vault"),
    ],
)
def test_what_its_memory_has_not_is_refused_at_the_users_line(run: Run, arch: str, words: str, said: str) -> None:
    printed = run(f'ARCH, WORDS = "{arch}", {words}\n{VAULT}')
    assert said in printed
    assert "case.py" in printed
    assert "ptx.acme.vault(words)" in printed


def test_a_memory_that_is_declared_is_allocated_in_variables_of_its_space(run: Run, tmp_path: Path) -> None:
    head = "from pyptx_ir.isa.memory_rows import Memory\n\n"
    row = "Memory('local', 'local memory', lambda target: 1024, alignment=16, declared=True)"
    write_plugin(tmp_path, "stack", f"{head}@hookimpl\ndef pyptx_memories():\n    return [{row}]\n")
    script = """
import numpy as np
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import b32, u32
from pyptx_dsl.trace_context import active
from pyptx_ir.syntax.operands import Address, Symbol

@kernel(in_specs=(Tile(32, u32),), out_specs=(Tile(32, u32),), grid=1, block=(32, 1, 1), arch="sm_80")
def keep(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    tid = reg.from_(ptx.special.tid.x(), u32)
    regions = [active().memories.of("local").allocate(active(), 20) for _ in range(2)]
    value = reg.scalar(b32)
    ptx.inst.ld.global_.b32(value, ptx.addr(px + tid * 4))
    for region in regions:
        ptx.inst.st.local.b32(Address(Symbol(region.name)), value)
        ptx.inst.add.u32(value, value, 1)
    ptx.inst.ld.local.b32(value, Address(Symbol(regions[1].name)))
    ptx.inst.st.global_.b32(ptx.addr(py + tid * 4), value)
    ptx.ret()

print(keep.ptx())
x = np.arange(32, dtype=np.uint32)
assert keep(x).tolist() == (x + 1).tolist()
"""
    printed = run(script, PYPTX_PLUGINS="stack")
    assert ".local .align 16 .b8 local_0[20];" in printed
    assert ".local .align 16 .b8 local_1[20];" in printed


CHECKED = """\
.version 8.5
.target acme_1
.address_size 64

.visible .entry k()
{{
	.reg .b32 %r<3>;
	acme.alloc.b32 %r1;
	{}
	ret;
}}
"""


def checked(body: str) -> str:
    """Return a script that prints the findings of `pyptx check` in an acme_1 kernel with this body."""
    return f"""
from pyptx_ir.isa.modules import check_text
for found in check_text({CHECKED.format(body)!r}):
    print(found.line, found.severity, found.code, found.message, found.help, sep=" | ")
"""


def test_its_rules_of_check_report_codes_of_its_own_behind_the_others(run: Run) -> None:
    leak = "8 | warning | vault-leak | 'k' allocates a line of the vault and frees none"
    help = "acme.free.b32 it before the CTA exits"
    assert run(checked("acme.free.b32 %r1;")) == ""
    assert run(checked("")) == f"{leak} | {help}\n"
    both = run(checked("add.s32 %r2, %r1, %r9;")).splitlines()
    assert [line.split(" | ")[2] for line in both] == ["vault-leak", "undefined-register"]


def test_a_rule_of_check_whose_code_has_no_row_is_refused(run: Run, tmp_path: Path) -> None:
    rule = "CheckRule('other.rule', frozenset({'nonesuch'}), print)"
    head = "from pyptx_ir.isa.check_rows import CheckRule\n\n"
    write_plugin(tmp_path, "other", f"{head}@hookimpl\ndef pyptx_check_rules():\n    return [{rule}]\n")
    printed = run(
        "try:\n    from pyptx_ir.isa.modules import check_text\n    check_text('')\n"
        "except Exception as error:\n    print(type(error).__name__, error)",
        PYPTX_PLUGINS="other",
    )
    assert "PluginError unknown code 'nonesuch' in the pyptx check rule 'other.rule'" in printed
    assert "help: provide a row for the code with the hook pyptx_check_codes" in printed


SLICES = """
import json
import numpy as np
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import b32, u32, u64
from pyptx_ir.plugins.rows import Argument

@kernel(
    in_specs=(Tile("N", u32),), out_specs=(Tile("N", u32),), grid=1, block=(32, 1, 1), arch="acme_1", tma_slots=SLOTS
)
def lengthen(X, Y):
    described, (_, py) = X.descriptor("acme_slice"), ptx.global_ptrs(X, Y)
    assert X.descriptor("acme_slice") is described
    tid = reg.from_(ptx.special.tid.x(), u32)
    base, length, value = reg.scalar(u64), reg.scalar(u64), reg.scalar(u32)
    ptx.inst.ld.u64(base, ptx.addr(described))
    ptx.inst.ld.u64(length, ptx.addr(described, 8))
    ptx.inst.ld.global_.u32(value, ptx.addr(base + tid * 4))
    ptx.inst.st.global_.u32(ptx.addr(py + tid * 4), value + ptx.cvt(u32, u64, reg.scalar(u32), length))
    ptx.ret()

special = lengthen.specialize([Argument((32,), "u32", (1,))], {})
"""


@pytest.mark.parametrize("slots", ["value", "pointer"])
def test_its_descriptor_of_an_array_is_simulated(run: Run, slots: str) -> None:
    script = """
x = np.arange(32, dtype=np.uint32)
result = lengthen.simulate(x, checks="all")
assert result.outputs[0].tolist() == (x + 128).tolist() and not result.findings, result
print(lengthen.ptx(N=32))
"""
    printed = run(f"SLOTS = {slots!r}{SLICES}{script}")
    assert (".param .align 8 .b8 X_slice[16]" if slots == "value" else ".param .u64 X_slice") in printed


OFFERED = """
from pathlib import Path
import numpy as np
import pyptx_sim
from pyptx_ir.commands import main

source = Path(__file__).with_name("length.ptx")
source.write_text('''
.version 8.0
.target sm_80
.address_size 64
.visible .entry length(.param .align 8 .b8 s[16], .param .u64 out)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [s+8]; ld.param.u64 %rd2, [out]; st.global.u64 [%rd2], %rd1;
    ret;
}
''')
assert main(["sim", "--help"]) == 0
words = ["--block", "1", "--arg", "f32[10]=zeros@Slice(skipped=8)", "--arg", "u64[1]", "--save", "out=-"]
assert main(["sim", str(source), *words]) == 0
x, out = np.zeros(6, np.uint16), np.zeros(1, np.uint64)
given = [pyptx_sim.WithDescriptor(x, pyptx_sim.Slice.of(x)), out]
print(pyptx_sim.run(source.read_text(), grid=1, block=1, args=given).clean, out)
"""


def test_its_descriptor_is_offered_by_name_and_in_a_shell(run: Run) -> None:
    printed = run(OFFERED)
    assert "f32[64,32]=zeros@Slice(skipped=4)" in printed
    assert "\n[32]\nno findings" in printed
    assert "True [12]" in printed


def test_its_descriptor_comes_back_from_a_record_and_is_made_by_a_program_in_c(run: Run) -> None:
    script = """
from pyptx_bundles import BundleError, record, restore
from pyptx_bundles.c_interface import interface_of
from pyptx_bundles.c_launch import launch_functions
from pyptx_bundles.manifest import BundleEntry
from pyptx_bundles.kernel_signature import signature_of


plain = json.loads(json.dumps(record(special)))
assert restore(plain) == special
assert plain["parameters"][2]["descriptor"] == {"acme_slice": {"length": 128}}
plain["parameters"][2]["descriptor"]["acme_slice"]["length"] = 0
try:
    restore(plain)
except BundleError as error:
    print(error)
entry = BundleEntry("lengthen", "lengthen", {"N": 32}, special, b"", None)
print(launch_functions(interface_of("lengthen", signature_of(lengthen.declaration, special), [entry]), [0]))
"""
    printed = run(f"SLOTS = 'value'{SLICES}{script}")
    assert "parameters[2].descriptor.acme_slice.length is 0: expected 1 to 4294967296" in printed
    assert "check_address(0, values.X, 16)" in printed
    lines = [line.strip() for line in printed.splitlines()]
    assert lines.index("X_slice_words[0] = values.X;") + 1 == lines.index("X_slice_words[1] = 128;")
    assert "parameters[2] = X_slice;" in lines


def test_without_its_package_a_descriptor_says_what_to_install(run: Run) -> None:
    script = """
try:
    special = lengthen.specialize([Argument((32,), "u32", (1,))], {})
except Exception as error:
    print(type(error).__name__, error)
"""
    changed = SLICES.replace('"acme_1"', '"sm_90a"').replace("\nspecial = ", "\n# ")
    for kind, said in (
        ("tensor_map", "the descriptor tensor_map needs pyptx-arch-hopper"),
        ("acme_slice", "no installed plugin provides the descriptor acme_slice"),
    ):
        text = f"SLOTS = 'value'{changed.replace('acme_slice', kind)}{script}"
        printed = run(text, PYPTX_DISABLE_PLUGIN_AUTOLOAD="1")
        assert f"MissingPluginError {said}" in printed
        assert f'X.descriptor("{kind}")' in printed
        assert (f"help: {install_command('hopper')}" in printed) is (kind == "tensor_map")


def test_its_advice_goes_before_what_is_said_less_of(run: Run) -> None:
    script = """
from pyptx_dsl.inspect.advice import advice_on
for remark in ("acme.frob is deprecated and blends nothing, line 3", "acme.grok is deprecated"):
    print(advice_on(remark).help)
"""
    first, second = run(script).splitlines()
    assert first == "write acme.blend, and wait for it"
    assert second == "use the replacement named by ptxas or by the instruction's reference page"


def test_its_launch_attribute_reaches_the_driver(run: Run) -> None:
    script = KERNEL.replace("arch=ARCH", 'arch="acme_1", launch={"acme_zeal": "much"}')
    printed = run(f"{script}\nprint(frob.declaration.attributes)")
    assert printed.strip() == repr(((63, b"\1\0\0\0"),))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('ARCH = "sm_90a"', "acme.frob.b32 needs acme_1; the target is sm_90a"),
        ('ARCH = "acme_2"', "did you mean acme_1"),
    ],
)
def test_another_target_is_refused_at_the_users_line(run: Run, change: str, said: str) -> None:
    script = f"""
{change}
try:
{"".join(f"    {line}" + chr(10) for line in KERNEL.splitlines())}
    frob.ptx(N=32)
except Exception as error:
    print(error)
"""
    printed = run(script)
    assert said in printed
    assert "case.py" in printed or "acme_2" in printed


def test_a_register_of_the_wrong_type_is_refused(run: Run) -> None:
    script = f"""
ARCH = "acme_1"
{KERNEL.replace("reg.scalar(b32)", "reg.scalar(u32)").replace("acme.frob(value, value)", "acme.frob(value, px)")}
try:
    frob.ptx(N=32)
except Exception as error:
    print(error)
"""
    printed = run(script)
    assert "acme.frob.b32" in printed
    assert "help" in printed


def test_a_clash_with_another_plugin_names_both(run: Run, tmp_path: Path) -> None:
    write_plugin(tmp_path, "other", "@hookimpl\ndef pyptx_instructions():\n    return [row('acme.frob.b32 d, a')]\n")
    script = """
from pyptx_ir.plugins.manager import manager
try:
    manager().instructions()
except Exception as error:
    print(type(error).__name__, error)
"""
    printed = run(script, PYPTX_PLUGINS="other")
    assert "PluginError" in printed
    assert "'acme.frob.b32 d, a'" in printed
    assert "plugin 'acme' (acme-arch)" in printed
    assert "plugin 'other' (PYPTX_PLUGINS)" in printed


def test_a_plugin_that_does_not_import_is_named_when_it_could_matter_and_only_then(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import a_package_that_nobody_has\n", encoding="utf-8")
    script = f"""
ARCH = "acme_1"
{KERNEL}
assert "acme.frob" in frob.ptx(N=32)  # nothing of the broken plugin's was asked for
for ask in (lambda: ptx.nonesuch, lambda: ptx.inst.nonesuch.b32, lambda: frob(np.zeros(32, np.uint32))):
    try:
        ask()
    except Exception as error:
        print(error)
"""
    printed = run(script, PYPTX_PLUGINS="broken")
    assert "plugin 'broken' (PYPTX_PLUGINS) failed to import" in printed
    assert "a_package_that_nobody_has" in printed


def test_a_plugin_for_another_version_of_the_hooks_is_refused(run: Run, tmp_path: Path) -> None:
    write_plugin(tmp_path, "tomorrow", "", version="API_VERSION + 1")
    script = """
from pyptx_ir.plugins.manager import manager
try:
    manager().targets()
except Exception as error:
    print(error)
"""
    printed = run(script, PYPTX_PLUGINS="tomorrow")
    assert "plugin 'tomorrow' (PYPTX_PLUGINS) has plugin API version" in printed


def test_installed_plugins_can_be_switched_off_and_named_one_by_one(run: Run) -> None:
    script = "from pyptx_ir.plugins.manager import manager\nprint(*manager().loaded())"
    assert {"baseline", "acme", "dsl", "sim"} <= set(run(script).split())
    assert run(script, PYPTX_DISABLE_PLUGIN_AUTOLOAD="1").split() == ["baseline"]
    only = run(script, PYPTX_DISABLE_PLUGIN_AUTOLOAD="1", PYPTX_PLUGINS="acme_arch.plugin").split()
    assert only == ["baseline", "acme_arch.plugin"]


def test_without_it_the_target_and_the_namespace_are_unknown(run: Run) -> None:
    script = """
from pyptx import ptx
from pyptx_ir.plugins.targets import find_target
for ask in (lambda: find_target("acme_1"), lambda: ptx.acme):
    try:
        ask()
    except Exception as error:
        print(type(error).__name__, error)
assert not hasattr(ptx, "acme")
"""
    printed = run(script, PYPTX_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "TargetError unknown target 'acme_1'" in printed
    assert "acme" in printed.splitlines()[-2] + printed.splitlines()[-1]


def shipped() -> list[str]:
    """Return the plugin modules of this repository, installed or not."""
    tables = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in PACKAGES.glob("*/pyproject.toml")]
    return sorted(module for table in tables for module in table.get("entry-points", {}).get("pyptx", {}).values())


@pytest.mark.parametrize("module", shipped())
def test_every_shipped_plugin_loads_without_a_framework(module: str) -> None:
    script = f"import sys, {module}; print(*sorted({{'numpy', 'torch', 'jax'}} & set(sys.modules)))"
    sources = os.pathsep.join(str(path) for path in PACKAGES.glob("*/src"))
    environment = {**os.environ, "PYTHONPATH": sources}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_shipped_plugins_are_the_ones_we_know() -> None:
    assert shipped() == [
        "pyptx_arch_blackwell.plugin",
        "pyptx_arch_hopper.plugin",
        "pyptx_bundles.plugin",
        "pyptx_diff.plugin",
        "pyptx_dsl.plugin",
        "pyptx_ir.isa.plugin",
        "pyptx_jax.plugin",
        "pyptx_sim.plugin",
        "pyptx_torch.plugin",
        "pyptx_transpile.plugin",
        "pyptx_virtual.plugin",
    ]
