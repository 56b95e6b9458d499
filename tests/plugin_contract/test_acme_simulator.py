"""A third-party memory, asynchronous engine, proxy, rules and mutation in the simulator: results and checks.

CTAs of acme_1 have a vault of 64 lines, which their warps allocate and free, and a blender that multiplies matrices in
the vault asynchronously.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Run

# Lane i stores four words at address 20 * i + j; ldmatrix loads four matrices of eight such rows.
TILES = """
.version 8.5
.target acme_1
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<20>;
.reg .b64 %rd<6>;
.shared .align 16 .b8 rows[512];
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
mul.lo.u32 %r2, %r1, 20;
add.u32 %r3, %r2, 1;
add.u32 %r4, %r2, 2;
add.u32 %r5, %r2, 3;
mov.u32 %r6, rows;
mad.lo.u32 %r7, %r1, 16, %r6;
st.shared.v4.u32 [%r7], {%r2, %r3, %r4, %r5};
bar.warp.sync -1;
ldmatrix.sync.aligned.m8n4.x4TRANS.shared.b32 {%r8, %r9, %r10, %r11}, [%r7];
mul.wide.u32 %rd2, %r1, 16;
add.u64 %rd3, %rd1, %rd2;
st.global.v4.u32 [%rd3], {%r8, %r9, %r10, %r11};
ret;
}
"""


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_a_matrix_move_of_its_own_loads_what_its_fragment_says(run: Run, trans: str) -> None:
    script = f"""
import numpy as np
import pyptx_sim
from pyptx_ir.fragments import move_of

out = np.zeros((32, 4), np.uint32)
result = pyptx_sim.run({TILES.replace("TRANS", trans)!r}, grid=1, block=32, args=[out])
assert not result.findings, result.findings
fragment = move_of("m8n4", "b32", transposed={bool(trans)}).fragment
assert (fragment.rows, fragment.columns) == (8, 4)
for matrix in range(4):
    for lane in range(32):
        assert out[lane, matrix] == 20 * (8 * matrix + fragment.row(lane, 0)) + fragment.column(lane, 0)
"""
    run(script)


HEAD = """
.version 8.5
.target acme_1
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .pred %p<4>;
.reg .b32 %r<20>;
.reg .b64 %rd<6>;
.shared .align 8 .b64 bar;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
"""
# Two matrices of 4 x 4 words, thread i's words i and i + 1, are stored to lines of the vault, and multiplied.
PUT = """
acme.alloc.b32 %r2;
acme.alloc.b32 %r3;
acme.alloc.b32 %r4;
and.b32 %r11, %r1, 31;
setp.lt.u32 %p1, %r11, 16;
shl.b32 %r5, %r11, 2;
add.u32 %r6, %r2, %r5;
add.u32 %r7, %r3, %r5;
@%p1 acme.put.b32 [%r6], %r11;
add.u32 %r8, %r11, 1;
@%p1 acme.put.b32 [%r7], %r8;
"""
FENCE = "acme.fence;\n"
MEET = "bar.warp.sync -1;\n"
BLEND = "setp.eq.u32 %p2, %r11, 0;\n@%p2 acme.blend.b32 [%r4], [%r2], [%r3];\n"
WAIT = "@%p2 acme.wait;\n"
GET = """
add.u32 %r9, %r4, %r5;
@!%p1 bra DONE;
acme.get.b32 %r10, [%r9];
shr.u32 %r12, %r1, 5;
mad.lo.u32 %r12, %r12, 16, %r11;
mul.wide.u32 %rd2, %r12, 4;
add.u64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r10;
DONE:
"""
FREE = "acme.free.b32 %r2;\nacme.free.b32 %r3;\nacme.free.b32 %r4;\n"
END = "ret;\n}\n"
KERNEL = HEAD + PUT + FENCE + MEET + BLEND + WAIT + MEET + GET + FREE + END
# A multiplication whose completion is signaled to an mbarrier.
TOLD = KERNEL.replace(
    WAIT,
    """@%p2 mbarrier.init.shared.b64 [bar], 1;
@%p2 acme.commit.shared.b64 [bar];
bar.warp.sync -1;
WAITS:
mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
@!%p3 bra WAITS;
""",
)
# The words of the first matrix are permuted by a recipe: word i + 5 goes to position i.
PUBLISH = "acme.publish;\n"
CONSULT = "@%p2 acme.consult.b32 [%r3];\n"
RECIPE = PUT.replace("%r11, 1;", "%r11, 5;")
SHUFFLE = "setp.eq.u32 %p2, %r11, 0;\n" + CONSULT + "@%p2 acme.shuffle.b32 [%r4], [%r2], [%r3];\n"
SHUFFLED = HEAD + RECIPE + FENCE + PUBLISH + MEET + SHUFFLE + WAIT + MEET + GET + FREE + END
# Variants of the multiplication: the result is written by columns; the kernel returns the line of matrix a (FIRST);
# the result overwrites a; a second multiplication, of the result, overwrites a.
COLUMNS = KERNEL.replace("acme.blend", "acme.blend.columns")
FIRST = KERNEL.replace("add.u32 %r9, %r4", "add.u32 %r9, %r2")
IN_PLACE = FIRST.replace(BLEND, BLEND.replace("%r4", "%r2"))
AGAIN = FIRST.replace(WAIT, WAIT + BLEND.replace("[%r4], [%r2]", "[%r2], [%r4]") + WAIT)
SCRIPT = """
import numpy as np
from pyptx_sim import run

def go(text, warps=1, **options):
    out = np.zeros((warps, 4, 4), np.int32)
    result = run(text, grid=1, block=32 * warps, args=[out], **options)
    return out, result.findings

a = np.arange(16).reshape(4, 4)
"""
FindingsOfKernels = dict[tuple[str, str], list[str]]
SCHEDULES = ("", "seed=1", "seed=2", "seed=3", "delay_async=True")


@pytest.mark.parametrize("kernel", [KERNEL, TOLD], ids=["waited for", "signals an mbarrier"])
def test_its_engine_multiplies_right_whatever_the_schedule(run: Run, kernel: str) -> None:
    calls = "\n".join(
        f"out, found = go(TEXT, {options})\nassert (out == a @ (a + 1)).all() and not found, (out, found)"
        for options in SCHEDULES
    )
    run(f"{SCRIPT}TEXT = {kernel!r}\n{calls}")


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (SHUFFLED, "(np.arange(16) + 5) % 16"),
        (COLUMNS, "(a @ (a + 1)).T"),
        (IN_PLACE, "a @ (a + 1)"),
        (AGAIN, "a @ (a + 1) @ (a + 1)"),
    ],
    ids=["by a recipe", "by columns", "in place", "twice"],
)
def test_what_its_engine_does_besides_is_right_and_clean(run: Run, kernel: str, expected: str) -> None:
    calls = "\n".join(
        f"out, found = go(TEXT, {options})\nassert (out == expected).all() and not found, (out, found)"
        for options in SCHEDULES
    )
    run(f"{SCRIPT}TEXT = {kernel!r}\nexpected = ({expected}).reshape(1, 4, 4)\n{calls}")


ORDERS = [
    (SHUFFLED.replace(PUBLISH, ""), ["missing-recipe-fence"]),
    (SHUFFLED.replace(CONSULT, ""), ["missing-recipe-fence"]),
    (SHUFFLED.replace(CONSULT, CONSULT.replace("%r3", "%r2")), ["missing-recipe-fence"]),
    (SHUFFLED.replace(PUBLISH + MEET, PUBLISH), ["lane-race"]),
    (SHUFFLED.replace(FENCE, ""), ["missing-acme-fence"]),
    (AGAIN.replace("acme.blend", "acme.blend.columns", 1), ["blend-order"]),
]
FAULTS = [
    (KERNEL.replace(FENCE, ""), ["missing-acme-fence"]),
    (KERNEL.replace(FENCE + MEET, FENCE), ["lane-race"]),
    (KERNEL.replace(WAIT, ""), ["read-before-wait", "uninitialized-memory", "unfinished-blend"]),
    (KERNEL.replace("acme.free.b32 %r4;\n", ""), ["vault-leak"]),
    (KERNEL.replace(FREE, FREE + "acme.free.b32 %r3;\n"), ["vault-owner"]),
    (KERNEL.replace("add.u32 %r9, %r4, %r5;", "add.u32 %r9, %r5, 4096;"), ["out-of-bounds"]),
    (KERNEL.replace("@%p1 acme.put.b32 [%r7], %r8;", ""), ["uninitialized-memory"]),
]
ALONE = [
    (KERNEL.replace(FENCE, ""), "missing-acme-fence"),
    (SHUFFLED.replace(PUBLISH, ""), "missing-recipe-fence"),
    (AGAIN.replace("acme.blend", "acme.blend.columns", 1), "blend-order"),
]


@pytest.fixture(scope="module")
def found(run_once: Run) -> FindingsOfKernels:
    """Return the rules of the findings in each kernel, given kernel texts with options of the run."""
    asked = [(kernel, schedule) for kernel, _ in ORDERS for schedule in SCHEDULES[::2]]
    asked += [(kernel, "delay_async=True") for kernel, _ in FAULTS]
    asked += [(kernel, f"checks={rule!r}") for kernel, rule in ALONE]
    calls = ", ".join(f"go({kernel!r}, {options})" for kernel, options in asked)
    printed = run_once(
        f"{SCRIPT}import json\nprint(json.dumps([sorted({{f.rule for f in each[1]}}) for each in [{calls}]]))"
    )
    return dict(zip(asked, json.loads(printed), strict=True))


@pytest.mark.parametrize(("kernel", "rules"), ORDERS)
def test_fences_of_its_recipes_and_orders_of_its_words_are_judged(
    found: FindingsOfKernels, kernel: str, rules: list[str]
) -> None:
    assert [found[kernel, schedule] for schedule in SCHEDULES[::2]] == [rules] * len(SCHEDULES[::2])


def test_what_it_says_of_recipes_and_orders(run: Run) -> None:
    faults = [SHUFFLED.replace(PUBLISH, ""), AGAIN.replace("acme.blend", "acme.blend.columns", 1)]
    printed = run(f"{SCRIPT}for text in {faults!r}: print(*[f.message for f in go(text)[1]], sep='\\n')")
    assert "line 1 +0 was modified and used without a proxy fence" in printed
    assert "layout mismatch at line 2 +0: written with columns, read with rows" in printed


@pytest.mark.parametrize(("kernel", "rules"), FAULTS)
def test_each_fault_with_it_has_its_rule(found: FindingsOfKernels, kernel: str, rules: list[str]) -> None:
    assert set(found[kernel, "delay_async=True"]) >= set(rules)


@pytest.mark.parametrize(("kernel", "rule"), ALONE)
def test_a_rule_that_the_check_of_races_reports_can_be_asked_for_alone(
    found: FindingsOfKernels, kernel: str, rule: str
) -> None:
    assert found[kernel, f"checks={rule!r}"] == [rule]


def test_two_warps_race_in_its_memory(run: Run) -> None:
    kernel = HEAD + "mov.u32 %r2, 0;\nacme.put.b32 [%r2], %r1;\n" + END
    printed = run(f"{SCRIPT}print(*[str(f) for f in go({kernel!r}, warps=2)[1]], sep='\\n')")
    assert "vault-race" in printed
    assert "line 0 +0" in printed
    assert "put bar.sync between the two accesses" in printed


def test_each_warp_that_reads_its_memory_is_held_against_a_later_write(run: Run) -> None:
    """Warps 0 to 3 read lines that warp 4 overwrites; one reading warp skips the barrier in between."""
    kernel = (
        HEAD + "mov.u32 %r2, 0;\nshr.u32 %r12, %r1, 5;\nsetp.eq.u32 %p1, %r12, 4;\nsetp.ne.u32 %p2, %r12, MISSING;\n"
        "and.b32 %r11, %r1, 31;\nsetp.eq.and.u32 %p3, %r11, 0, %p1;\n"
        "@%p3 acme.put.b32 [%r2], %r1;\nbar.sync 0;\n@!%p1 acme.get.b32 %r3, [%r2];\n"
        "@%p2 bar.sync 1, COUNT;\n@%p3 acme.put.b32 [%r2], %r1;\n" + END
    )
    script = f"""
for missing, count in (*((warp, 128) for warp in range(4)), (5, 160)):
    text = {kernel!r}.replace("MISSING", str(missing)).replace("COUNT", str(count))
    rules = [f.rule for f in go(text, warps=5)[1]]
    assert rules == ["vault-race"] * (missing < 4), (missing, rules)
"""
    run(SCRIPT + script)


def test_the_hint_of_its_own_rule_is_shown(run: Run) -> None:
    printed = run(f"{SCRIPT}print(*[f for f in go({KERNEL.replace(WAIT, '')!r}, delay_async=True)[1]], sep='\\n')")
    assert "warning[unfinished-blend]: " in printed
    assert "help: acme.wait, or acme.commit to an mbarrier and a wait for its phase" in printed


def test_who_finds_no_line_waits_until_there_is_one(run: Run) -> None:
    calls = "\n".join(
        f"out, found = go(TEXT, warps=30, {options})\nassert (out == a @ (a + 1)).all() and not found, (out, found)"
        for options in SCHEDULES
    )
    text = HEAD + "acme.alloc.b32 %r13;\n" + PUT + FENCE + MEET + BLEND + WAIT + MEET + GET + FREE
    run(f"{SCRIPT}TEXT = {KERNEL!r}\n{calls}")  # the kernel's 30 warps allocate 90 lines, but a vault has only 64
    printed = run(
        f"{SCRIPT}text = {text + 'bar.sync 0;' + chr(10) + 'acme.free.b32 %r13;' + chr(10) + END!r}\n"
        "print(*go(text.replace('acme.free.b32 %r2;', 'bar.sync 0;'), warps=30)[1], sep='\\n')"
    )
    assert "deadlock" in printed
    assert "waits for a line of the vault: all 64 are taken" in printed
    assert "help: free lines in other warps first, or allocate fewer" in printed


def test_its_mutation_is_injected_and_found(run: Run) -> None:
    script = f"""
from pyptx_ir.syntax import parse
from pyptx_sim.mutations import mutants, mutations
(fence,) = [each for each in mutations() if each.name == "drop an acme fence"]
(mutant,) = mutants(parse({KERNEL!r}), [fence])
print(sorted({{f.rule for f in go(mutant.module)[1]}}))
"""
    assert "missing-acme-fence" in run(SCRIPT + script)


def test_its_work_has_a_row_of_the_timeline(run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    run(f"{SCRIPT}go({KERNEL!r}, trace={str(trace)!r})")
    events = json.loads(trace.read_text(encoding="utf-8"))
    events = events["traceEvents"] if isinstance(events, dict) else events
    names = {event["args"]["name"] for event in events if event.get("name") == "thread_name"}
    assert any("the blender" in name for name in names), names


def test_its_operand_kind_is_checked(run: Run) -> None:
    script = f"""
from pyptx_sim.errors import UnknownForm
try:
    go({KERNEL.replace("acme.get.b32 %r10, [%r9];", "acme.get.b32 %r10, [%rd1];")!r})
except UnknownForm as error:
    print(error)
"""
    assert "must be an address in the vault, in a 32-bit register" in run(SCRIPT + script)


def test_blocks_that_end_early_leave_the_others_their_own_memory(run: Run) -> None:
    early = "mov.u32 %r14, %ctaid.x;\nsetp.eq.u32 %p3, %r14, 0;\n@%p3 ret;\n"
    kernel = KERNEL.replace(PUT, early + PUT)
    script = f"""
for options in ({", ".join(f"dict({options})" for options in SCHEDULES)},):
    out = np.zeros((1, 4, 4), np.int32)
    found = run({kernel!r}, grid=2, block=32, args=[out], **options).findings
    assert (out == a @ (a + 1)).all() and not found, (options, out, found)
"""
    run(SCRIPT + script)
