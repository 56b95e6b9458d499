"""Tensor maps modified by kernels: tensormap.replace, tensormap.cp_fenceproxy, and the fences before copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_ir.plugins.rows import TensorMap
from pyptx_sim import WithDescriptor
from pyptx_sim.errors import MissingSemantics

from .ptx_text import execute
from .test_async_copy import SCHEDULES, each_schedule
from .test_tensor_copy import OUT, box_of

pytestmark = pytest.mark.hopper

schedules = pytest.mark.parametrize("schedule", SCHEDULES[::3], ids=["in order", "late"])
BEFORE = ".shared .align 1024 .b8 s[4096];\n.shared .align 128 .b8 edited[128];\n.shared .align 8 .b64 bar;"
# Parameters: `m` points to a tensor map of `x`, `y` is another array, `room` has space for two tensor maps.
PARAMETERS = ".param .u64 out, .param .u64 m, .param .u64 y, .param .u64 room"
HEAD = """
ld.param.u64 %rd2, [m];
ld.param.u64 %rd3, [y];
ld.param.u64 %rd4, [room];
mov.u32 %r2, s;
mov.u32 %r3, edited;
setp.eq.u32 %p0, %r0, 0;
setp.lt.u32 %p5, %r0, 32;
@%p0 mbarrier.init.shared.b64 [bar], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
"""
RELEASE = "@%p0 fence.proxy.tensormap::generic.release.gpu;\n"
ACQUIRE = "fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n"
LOAD = """
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size};
@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
    [%r2], [%rd2, {{{corner}}}], [bar];
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
"""


def edit(field: str, value: str, kind: str = "b32", where: str = "global", address: str = "%rd2") -> str:
    return f"@%p0 tensormap.replace.tile.{field}.{where}.b1024.{kind} [{address}], {value};\n"


def run(
    body: str, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], box: tuple[int, int], size: int, **options: Any
) -> tuple[np.ndarray[Any, Any], list[tuple[str, int | None]]]:
    """Run PTX, copy out `size` bytes of shared memory, and return the bytes, and rule and line of each finding."""
    out, room = np.zeros(size, np.uint8), np.zeros(256, np.uint8)
    described = TensorMap("u32", x.shape, x.strides, box, (1, 1))
    text = HEAD + body + OUT.format(words=size // 4)
    result = execute(
        text, out, WithDescriptor(x, described), y, room, block=64, parameters=PARAMETERS, before=BEFORE, **options
    )
    return out, [(finding.rule, finding.line) for finding in result.findings]


def arrays() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    return random.integers(1, 1 << 31, (8, 8), np.uint32), random.integers(1, 1 << 31, (12, 16), np.uint32)


# Edits of all fields in which a tensor map of y (boxes of 6 x 4, every other row) differs from a tensor map of x.
FIELDS = (
    edit("global_address", "%rd3", "b64"),
    edit("global_dim", "0, 16"),
    edit("global_dim", "1, 12"),
    edit("global_stride", "0, 64", "b64"),
    edit("box_dim", "0, 4"),
    edit("box_dim", "1, 6"),
    edit("element_stride", "1, 2"),
)


@schedules
def test_a_map_of_one_array_becomes_that_of_another(schedule: dict[str, Any]) -> None:
    x, y = arrays()
    expected = box_of(y, (6, 4), (7, 14), (2, 1), 0)
    body = "".join(FIELDS) + RELEASE + ACQUIRE + LOAD.format(size=expected.nbytes, corner="14, 7")
    found, findings = run(body, x, y, (8, 8), expected.nbytes, **schedule)
    assert findings == []
    assert found.tobytes() == expected.tobytes()


def test_modes_are_replaced() -> None:
    """A 32B swizzle exchanges 16-byte pieces in every other line; elements out of bounds become NaN."""
    x, y = arrays()
    modes = edit("swizzle_mode", "1") + edit("elemtype", "7") + edit("fill_mode", "1") + edit("interleave_layout", "0")
    found, findings = run(modes + RELEASE + ACQUIRE + LOAD.format(size=256, corner="0, 4"), x, y, (8, 8), 256)
    assert findings == []
    lines = found.view(np.uint32).reshape(2, 4, 2, 4)
    assert (lines[0].reshape(4, 8) == x[4:]).all()
    assert np.isnan(lines[1].view(np.float32)).all()
    found, _ = run(modes + RELEASE + ACQUIRE + LOAD.format(size=256, corner="0, 0"), x, y, (8, 8), 256)
    lines = found.view(np.uint32).reshape(2, 4, 2, 4)
    assert (lines[1][:, ::-1].reshape(4, 8) == x[4:]).all()


def test_the_rank_is_replaced() -> None:
    x, y = arrays()
    body = edit("rank", "0") + RELEASE + ACQUIRE
    body += LOAD.format(size=32, corner="0").replace("2d", "1d")
    found, findings = run(body, x, y, (8, 8), 32)
    assert findings == []
    assert found.tobytes() == x[0].tobytes()


# Threads copy the tensor map to shared memory, one thread modifies it there, and a warp copies it to `room`.
SHARED = (
    "shl.b32 %r10, %r0, 2;\nadd.u32 %r11, %r3, %r10;\ncvt.u64.u32 %rd6, %r10;\nadd.u64 %rd7, %rd2, %rd6;\n"
    "@%p5 ld.global.u32 %r12, [%rd7];\n@%p5 st.shared.u32 [%r11], %r12;\nbar.sync 0;\n"
    + edit("global_address", "%rd3", "b64", "shared::cta", "%r3")
    + edit("global_stride", "0, 64", "b64", "shared::cta", "%r3")
    + "@!%p5 bra DONE_EDITING;\nbar.warp.sync -1;\n"
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd4], [%r3], 128;\n"
    "DONE_EDITING:\nbar.sync 0;\nmov.u64 %rd2, %rd4;\n"
)


@schedules
def test_a_map_is_edited_in_shared_memory_and_brought_to_global_memory(schedule: dict[str, Any]) -> None:
    x, y = arrays()
    found, findings = run(SHARED + ACQUIRE + LOAD.format(size=256, corner="2, 1"), x, y, (8, 8), 256, **schedule)
    assert findings == []
    expected = box_of(np.ascontiguousarray(y[:8, :8]), (8, 8), (1, 2), (1, 1), 0)
    assert found.tobytes() == expected.tobytes()


# A tensor map of y, built on the device alone: a warp stores zeros, and one of its threads sets every field.
ZEROS = (
    "shl.b32 %r10, %r0, 2;\nadd.u32 %r11, %r3, %r10;\n@%p5 st.shared.u32 [%r11], 0;\n@!%p5 bra DONE_EDITING;\n"
    "bar.warp.sync -1;\n{}bar.warp.sync -1;\n"
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd4], [%r3], 128;\n"
    "DONE_EDITING:\nbar.sync 0;\nmov.u64 %rd2, %rd4;\n"
)
BUILT = (
    ("global_address", "%rd3", "b64"), ("rank", "1", "b32"), ("box_dim", "0, 8", "b32"), ("box_dim", "1, 8", "b32"),
    ("global_dim", "0, 16", "b32"), ("global_dim", "1, 12", "b32"), ("global_stride", "0, 64", "b64"),
    ("element_stride", "0, 1", "b32"), ("element_stride", "1, 1", "b32"), ("elemtype", "2", "b32"),
    ("interleave_layout", "0", "b32"), ("swizzle_mode", "0", "b32"), ("fill_mode", "0", "b32"),
)  # fmt: skip


def built(*without: str) -> str:
    """Return PTX that builds a tensor map from zeros, as some compilers do, but leaves the fields `without` unset."""
    edits = (edit(*field, "shared::cta", "%r3") for field in BUILT if field[0] not in without)
    return ZEROS.format("".join(edits))


@schedules
def test_a_map_is_built_from_zeros(schedule: dict[str, Any]) -> None:
    x, y = arrays()
    found, findings = run(built() + ACQUIRE + LOAD.format(size=256, corner="6, 3"), x, y, (8, 8), 256, **schedule)
    assert findings == []
    assert found.tobytes() == box_of(y, (8, 8), (3, 6), (1, 1), 0).tobytes()


@pytest.mark.parametrize("field", ["box_dim", "global_dim"])
def test_a_map_of_which_a_field_was_never_set_is_a_finding(field: str) -> None:
    x, y = arrays()
    _, findings = run(built(field) + ACQUIRE + LOAD.format(size=256, corner="6, 3"), x, y, (8, 8), 256)
    assert "tensor-map" in {rule for rule, _ in findings}


def test_zeros_alone_are_no_map() -> None:
    x, y = arrays()
    _, findings = run("mov.u64 %rd2, %rd4;\n" + LOAD.format(size=256, corner="0, 0"), x, y, (8, 8), 256)
    assert "tensor-map" in {rule for rule, _ in findings}


WRITE = edit("global_address", "%rd3", "b64") + edit("global_stride", "0, 64", "b64")
ONE_FENCE = {
    "no fence": WRITE,
    "no acquire": WRITE + RELEASE,
    "no release": WRITE + ACQUIRE,
    "an acquire before the release": WRITE + ACQUIRE + RELEASE,
    "an acquire of another map": WRITE + RELEASE + ACQUIRE.replace("%rd2", "%rd4"),
    "a release before the write": RELEASE + WRITE + ACQUIRE,
    "fence.proxy.async instead of a tensormap fence": WRITE + "fence.proxy.async;\n",
    "no acquire after a releasing copy": SHARED,
}


@schedules
@pytest.mark.parametrize("name", list(ONE_FENCE))
def test_a_map_that_its_proxy_may_not_see_is_a_finding(schedule: dict[str, Any], name: str) -> None:
    x, y = arrays()
    _, findings = run(ONE_FENCE[name] + LOAD.format(size=256, corner="0, 0"), x, y, (8, 8), 256, **schedule)
    assert {rule for rule, _ in findings} == {"missing-tensormap-fence"}


OTHER = "setp.eq.u32 %p6, %r0, 32;\n" + LOAD.replace("@%p0", "@%p6")


@each_schedule
@pytest.mark.parametrize(
    ("order", "rules"),
    [
        ("bar.sync 0;\n" + ACQUIRE, set()),
        (ACQUIRE + "bar.sync 0;\n", set()),
        ("@%p0 " + ACQUIRE + "bar.sync 0;\n", set()),  # one thread acquires the tensor map, then bar.sync
        ("bar.sync 0;\n@%p0 " + ACQUIRE, {"missing-tensormap-fence"}),
        ("bar.sync 0;\n", {"missing-tensormap-fence"}),
    ],
    ids=["it does", "all have", "a thread has", "a thread does, too late", "nobody does"],
)
def test_another_warp_copies_by_a_map_that_its_block_has_acquired(
    schedule: dict[str, Any], order: str, rules: set[str]
) -> None:
    x, y = arrays()
    body = WRITE + RELEASE + order + OTHER.format(size=256, corner="0, 0")
    found, findings = run(body, x, y, (8, 8), 256, **schedule)
    assert {rule for rule, _ in findings} == rules
    assert found.tobytes() == np.ascontiguousarray(y[:8, :8]).tobytes()


STORE = "@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {0, 0}], [%r2];\n"
FILLED = "mad.lo.u32 %r7, %r0, 4, %r2;\nst.shared.u32 [%r7], %r0;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
COMMIT = "@%p0 cp.async.bulk.commit_group;\n"
WAIT = "@%p0 cp.async.bulk.wait_group{} 0;\n"


@pytest.mark.parametrize(("wait", "rules"), [("", {"early-reuse"}), (WAIT.format(".read"), set())])
def test_a_map_is_edited_while_a_copy_reads_it(wait: str, rules: set[str]) -> None:
    x, y = arrays()
    body = FILLED + STORE + COMMIT + wait + WRITE + WAIT.format("")
    _, findings = run(body, x, y, (8, 8), 256)
    assert {rule for rule, _ in findings} == rules


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (edit("box_dim", "0, 6"), "tensor-map"),
        (edit("global_stride", "0, 40", "b64"), "tensor-map"),
        (edit("global_stride", "0, 0x10000000000", "b64"), "tensor-map"),
        (edit("global_dim", "0, 0"), "tensor-map"),
        (edit("element_stride", "0, 3"), "tensor-map"),
        (edit("swizzle_mode", "3"), "tensor-map"),
        (edit("global_dim", "1, 900"), "out-of-bounds"),
    ],
)
def test_a_map_that_no_longer_holds_is_a_finding_where_it_is_used(body: str, rule: str) -> None:
    x, y = arrays()
    store = STORE.replace("{0, 0}", "{0, 800}") if rule == "out-of-bounds" else STORE
    text = body + RELEASE + ACQUIRE + FILLED + store + COMMIT + WAIT.format("")
    _, findings = run(text, x, y, (8, 8), 256)
    assert [found for found, _ in findings] == [rule]


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("rank", "0xFFFFFFFF", "b32"),
        ("rank", "300", "b32"),
        ("global_address", "0x8000000000000000", "b64"),
        ("global_address", "-16", "b64"),
        ("global_stride", "0, -16", "b64"),
        ("global_dim", "0, 0xFFFFFFFF", "b32"),
        ("box_dim", "1, 0xFFFFFFFF", "b32"),
        ("element_stride", "1, 0xFFFFFFFF", "b32"),
    ],
)
def test_any_value_can_be_put_into_a_field_and_is_judged_where_the_map_is_used(
    field: str, value: str, kind: str
) -> None:
    x, y = arrays()
    text = edit(field, value, kind) + RELEASE + ACQUIRE + FILLED + STORE + COMMIT + WAIT.format("")
    _, findings = run(text, x, y, (8, 8), 256)
    assert [rule for rule, _ in findings] == ([] if field == "global_dim" else [rules_of(field)])


def rules_of(field: str) -> str:
    return "out-of-bounds" if field == "global_address" else "tensor-map"


def test_a_map_among_the_parameters_cannot_be_edited() -> None:
    x, _ = arrays()
    described = TensorMap("u32", x.shape, x.strides, (8, 8), (1, 1))
    body = "mov.b64 %rd2, m; cvta.param.u64 %rd2, %rd2;\nsetp.eq.u32 %p0, %r0, 0;\n"
    body += edit("rank", "1").replace(".global.", ".")
    parameters = ".param .u64 out, .param .align 64 .b8 m[128]"
    (finding,) = execute(body, np.zeros(1, np.uint32), WithDescriptor(x, described), parameters=parameters).findings
    assert finding.rule == "tensor-map"
    assert "param memory" in finding.message


def test_replacing_a_field_of_no_map_is_a_finding() -> None:
    x, y = arrays()
    body = "@%p0 st.global.u32 [%rd4+64], 1;\n" + edit("rank", "1", address="%rd4") + FILLED
    _, findings = run(body, x, y, (8, 8), 256)
    assert [rule for rule, _ in findings] == ["tensor-map"]


def test_the_stride_of_a_sixth_dimension_is_a_finding() -> None:
    """Five dimensions have four strides, ordinals 0 to 3 (the innermost has none); `pyptx check` also accepts 4."""
    x, y = arrays()
    _, findings = run(edit("global_stride", "4, 64", "b64") + FILLED, x, y, (8, 8), 256)
    assert [rule for rule, _ in findings] == ["tensor-map"]


@pytest.mark.parametrize("shift", [8, 32])
def test_a_map_that_is_misaligned_is_a_finding(shift: int) -> None:
    x, y = arrays()
    _, findings = run(f"add.u64 %rd4, %rd4, {shift};\n" + edit("rank", "1", address="%rd4") + FILLED, x, y, (8, 8), 256)
    assert [rule for rule, _ in findings] == ["misaligned"]


def test_a_swizzle_of_96_bytes_has_no_semantics() -> None:
    x, y = arrays()
    with pytest.raises(MissingSemantics, match="swizzle_mode"):
        run(edit("swizzle_mode", "4"), x, y, (8, 8), 256)


def test_every_mode_has_a_value() -> None:
    """Each value of a mode field compiles, except swizzle mode 4, and the tensor map stays valid."""
    x, y = arrays()
    modes = {"elemtype": 16, "interleave_layout": 3, "swizzle_mode": 4, "fill_mode": 2}
    edits = "".join(edit(field, str(value)) for field, count in modes.items() for value in range(count))
    last = "".join(edit(field, "0") for field in modes) + edit("elemtype", "2")
    found, findings = run(edits + last + RELEASE + ACQUIRE + LOAD.format(size=256, corner="0, 0"), x, y, (8, 8), 256)
    assert findings == []
    assert found.tobytes() == x.tobytes()
