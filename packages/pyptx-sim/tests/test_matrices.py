"""Matrices between memory and registers: every form of ldmatrix and stmatrix, wmma from memory to memory, findings."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pyptx_ir.fragments import move_of, wmma_fragment
from pyptx_ir.fragments.moves import MOVES
from pyptx_sim import run
from pyptx_sim.errors import MissingSemantics

from . import mma_reference
from .ptx_text import BODY_LINE, execute, module

ROW = 16  # bytes of a row of an ldmatrix or stmatrix matrix in shared memory


LOADED = [(move.shape, move.types, move.transposed) for move in MOVES]
STORED = [("m8n8", ("b16",), False), ("m8n8", ("b16",), True), ("m16n8", ("b8",), True)]


def name(move, count):
    shape, types, transposed = move
    trans = ".trans" if transposed else ""
    return f"sync.aligned.{shape}.x{count}{trans}.shared.{'.'.join(types)}"


def cases(moves):
    for move in moves:
        for count in (1, 2, 4):
            if int(move[0][1:].partition("n")[0]) * count <= 32:
                yield pytest.param(move, count, id=name(move, count))


def move_named(move):
    shape, types, transposed = move
    return move_of(shape, *types, transposed=transposed)


def stored_elements(row, move):
    """Return the matrix elements in a row of memory, lowest bits first."""
    bits = int.from_bytes(row.tobytes(), "little")
    return [bits >> (index * move.stored) & ((1 << move.stored) - 1) for index in range(move.fragment.columns)]


def permuted_rows():
    """Return a random permutation: the row of shared memory that each of 32 lanes addresses."""
    return np.random.default_rng(5).permutation(32)


# PTX that copies 512 bytes (32 rows) from global to shared memory, and computes the address of row `order[lane]`.
FILL = """
ld.param.u64 %rd2, [source];
ld.param.u64 %rd3, [order];
mov.u32 %r1, buffer;
mul.wide.u32 %rd4, %r0, 16;
add.s64 %rd2, %rd2, %rd4;
ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd2];
mad.lo.u32 %r6, %r0, 16, %r1;
st.shared.v4.u32 [%r6], {%r2, %r3, %r4, %r5};
bar.warp.sync -1;
mul.wide.u32 %rd5, %r0, 4;
add.s64 %rd3, %rd3, %rd5;
ld.global.u32 %r7, [%rd3];
mad.lo.u32 %r8, %r7, 16, %r1;
"""
PARAMETERS = ".param .u64 out, .param .u64 source, .param .u64 order"
BEFORE = ".shared .align 128 .b8 buffer[512];"


def store_words(count):
    lines = [f"st.global.u32 [%rd1+{index * 128}], %r{20 + index};" for index in range(count)]
    return "\n".join(lines)


def run_move(body, out, source, order):
    arguments = [out, source, order.astype(np.uint32)]
    return execute(body, *arguments, parameters=PARAMETERS, before=BEFORE)


@pytest.mark.parametrize(("form", "count"), list(cases(LOADED)))
def test_ldmatrix_deals_rows_out_as_its_fragment_says(form, count):
    move = move_named(form)
    source = np.random.default_rng(1).integers(0, 256, (32, ROW), dtype=np.uint8)
    order, held = permuted_rows(), count * move.fragment.registers
    registers = ", ".join(f"%r{20 + index}" for index in range(held))
    body = f"{FILL}ldmatrix.{name(form, count)} {{{registers}}}, [%r8];\n{store_words(held)}"
    out = np.zeros((4, 32), np.uint32)
    assert run_move(body, out, source, order).findings == ()
    for matrix in range(count):
        rows = [source[order[matrix * move.addresses + row]] for row in range(move.addresses)]
        wanted = [stored_elements(row, move) for row in rows]
        first = matrix * move.fragment.registers
        dealt = mma_reference.matrix(
            move.fragment, out[first : first + move.fragment.registers], f"u{move.fragment.bits}"
        )
        assert dealt == {
            (0, row, column): wanted[row][column]
            for row in range(move.fragment.rows)
            for column in range(move.fragment.columns)
        }


@pytest.mark.hopper
@pytest.mark.parametrize(("form", "count"), list(cases(STORED)))
def test_stmatrix_stores_what_the_lanes_hold(form, count):
    move = move_named(form)
    source = np.random.default_rng(2).integers(0, 256, (32, ROW), dtype=np.uint8)
    order = permuted_rows()
    registers = ", ".join(f"%r{2 + index}" for index in range(count))
    opcode = f"stmatrix.{name(form, count)}"
    body = f"{FILL}{opcode} [%r8], {{{registers}}};\nbar.warp.sync -1;\n" + "\n".join(
        f"ld.shared.u32 %r9, [%r6+{4 * word}];\nst.global.u32 [%rd1+{128 * word}], %r9;" for word in range(4)
    )
    out = np.zeros((4, 32), np.uint32)
    assert run_move(body, out, source, order).findings == ()
    words = source.view(np.uint32)
    expected = source.copy()
    for matrix in range(count):
        held = mma_reference.matrix(move.fragment, [words[:, matrix]], f"u{move.fragment.bits}")
        for row in range(move.addresses):
            bits = sum(held[0, row, column] << (column * move.stored) for column in range(move.fragment.columns))
            line = order[matrix * move.addresses + row]
            expected[line] = np.frombuffer(bits.to_bytes(ROW, "little"), np.uint8)
    np.testing.assert_array_equal(out.T, expected.view(np.uint32))


def test_a_form_without_a_layout_has_no_semantics():
    body = f"{FILL}ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {{%r20}}, [%r8];"
    with pytest.raises(MissingSemantics, match=r"unknown matrix move m8n16 \.s8\.s4"):
        execute(body, parameters=PARAMETERS, before=BEFORE)


def test_generic_addresses_reach_shared_memory():
    body = (
        FILL
        + """
    cvt.u64.u32 %rd6, %r8;
    cvta.shared.u64 %rd6, %rd6;
    ldmatrix.sync.aligned.m8n8.x4.b16 {%r20, %r21, %r22, %r23}, [%rd6];
    """
        + store_words(4)
    )
    source = np.random.default_rng(1).integers(0, 256, (32, ROW), dtype=np.uint8)
    out = np.zeros((4, 32), np.uint32)
    assert run_move(body, out, source, np.arange(32)).findings == ()
    np.testing.assert_array_equal(out.reshape(-1), source.view(np.uint32).reshape(-1))


# --- findings -----------------------------------------------------------------------------------


def found(body, **options):
    out = np.zeros(256, np.uint32)
    result = execute(body, out, before=BEFORE, **options)
    return [(finding.rule, finding.line - BODY_LINE - BEFORE.count("\n")) for finding in result.findings], result


def test_a_row_that_is_not_aligned_is_found():
    rules, result = found("mov.u32 %r1, buffer;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1+8];")
    assert ("misaligned", 1) in rules
    assert "align the address to 16 bytes" in str(result.findings[0])


def test_rows_that_nothing_has_written_are_found():
    load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%r1];"
    rules, result = found(f"mov.u32 %r1, buffer;\n{load}\nst.global.u32 [%rd1], %r5;")
    assert rules == [("uninitialized-memory", 2)]
    assert result.findings[0].count == 32


def test_only_lanes_that_give_addresses_need_good_ones():
    body = """
    mov.u32 %r1, buffer;
    st.shared.v4.u32 [%r1], {%r0, %r0, %r0, %r0};
    bar.warp.sync -1;
    setp.gt.u32 %p1, %r0, 7;
    @%p1 mov.u32 %r1, 3;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];
    """
    rules, _ = found(body)
    assert [rule for rule, _ in rules] == ["lane-race"]  # all 32 lanes store to one address


PRODUCT = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r2, %r3}, {%r0}, {%r0}, {%r0, %r0};"


@pytest.mark.parametrize(
    ("body", "block"),
    [
        (f"setp.lt.u32 %p1, %r0, 16;\n@%p1 {PRODUCT}", 32),
        (f"setp.lt.u32 %p1, %r0, 16;\n@%p1 exit;\n{PRODUCT}", 32),
        (f"mov.u32 %r1, 0;\nmov.u32 %r1, 0;\n{PRODUCT}", 48),
    ],
    ids=["guarded", "exited", "odd block"],
)
def test_a_warp_that_is_not_whole_is_found(body, block):
    rules, result = found(body, block=block)
    assert rules == [("membermask-mismatch", body.count("\n"))]
    assert ".aligned instruction executed without lane" in str(result.findings[0])
    assert "all 32 lanes" in result.findings[0].help


def test_whole_warps_are_clean():
    assert found(f"setp.lt.u32 %p1, %r0, 32;\n@%p1 {PRODUCT}", block=64)[0] == []


def test_a_product_of_one_warp_leaves_the_registers_of_others_alone():
    body = f"""
    mov.u32 %r2, 7;
    mov.u32 %r3, 7;
    setp.lt.u32 %p1, %r0, 32;
    @%p1 bra done;
    {PRODUCT}
    done:
    st.global.u32 [%rd1], %r2;
    """
    out = np.zeros(96, np.uint32)
    assert execute(body, out, block=96).findings == ()
    assert (out[:32] == 7).all()
    lanes = np.arange(32, 96).reshape(2, 8, 4)
    octets = np.zeros((2, 8, 16), np.int64)
    octets[..., ::4] = lanes
    products = octets @ octets.swapaxes(1, 2)
    np.testing.assert_array_equal(out[32:].reshape(2, 8, 4), products[:, :, ::2] + lanes)


def test_an_operand_that_was_never_written_is_found():
    product = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r2, %r3}, {%r9}, {%r0}, {%r0, %r0};"
    text = f"{product}\nst.global.u32 [%rd1], %r2;"
    rules, result = found(text)
    assert rules == [("uninitialized-register", 1)]
    assert "%r9" in str(result.findings[0])


# --- wmma ---------------------------------------------------------------------------------------


def wmma_kernel(shape, types, layouts, strides, space):
    """Return a wmma kernel that loads a, b and c, executes the MMA and stores d; its parameters are their addresses."""
    fragments = {which: wmma_fragment(shape, which, t) for which, t in zip("dabc", types, strict=True)}
    lists = {
        which: "{" + ", ".join(f"%{which}{index}" for index in range(fragment.registers)) + "}"
        for which, fragment in fragments.items()
    }
    kinds = {which: t if t in {"f32", "f64"} else "b32" for which, t in zip("dabc", types, strict=True)}
    declared = "\n".join(f".reg .{kinds[w]} %{w}<{fragments[w].registers}>;" for w in "dabc")
    loads = "\n".join(
        f"ld.param.u64 %rd{i}, [{which}];\n"
        f"wmma.load.{which}.sync.aligned.{layouts[i]}.{shape}{space}.{types[i + 1]} {lists[which]}, [%rd{i}]"
        + (f", {strides[i]};" if strides[i] else ";")
        for i, which in enumerate("abc")
    )
    named = f"{types[0]}.{types[3]}" if types[1] == "f16" else ".".join(types)
    operation = ".and.popc" if types[1] == "b1" else ""
    tail = f", {strides[3]};" if strides[3] else ";"
    return module(
        f"{declared}\n{loads}\n"
        f"wmma.mma{operation}.sync.aligned.{layouts[0]}.{layouts[1]}.{shape}.{named} "
        f"{lists['d']}, {lists['a']}, {lists['b']}, {lists['c']};\n"
        f"ld.param.u64 %rd4, [d];\n"
        f"wmma.store.d.sync.aligned.{layouts[3]}.{shape}{space}.{types[0]} [%rd4], {lists['d']}{tail}",
        parameters=", ".join(f".param .u64 {which}" for which in "abcd"),
    )


def in_memory(bits, layout, stride, width):
    """Return the bytes of a matrix with lines of `stride` elements; all bits of the padding are set."""
    lines = bits if layout == "row" else bits.T
    padded = np.full((len(lines), stride), (1 << width) - 1, np.uint64)
    padded[:, : lines.shape[1]] = lines
    spread = (padded[..., None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)
    return np.packbits(spread.astype(np.uint8).reshape(-1), bitorder="little")


def of_memory(data, shape, layout, stride, width):
    bits = np.unpackbits(data, bitorder="little").reshape(-1, stride, width).astype(object)
    numbers = (bits << np.arange(width)).sum(axis=-1)
    rows, columns = shape
    return numbers[:rows, :columns] if layout == "row" else numbers[:columns, :rows].T


CASES = [
    ("m16n16k16", ("f32", "f16", "f16", "f16"), ("row", "row", "col", "col"), (24, 16, 40, 0)),
    ("m8n32k16", ("f16", "f16", "f16", "f32"), ("col", "col", "row", "row"), (16, 0, 0, 40)),
    ("m32n8k16", ("s32", "s8", "s8", "s32"), ("row", "col", "row", "col"), (32, 48, 0, 64)),
    ("m16n16k16", ("s32", "u8", "u8", "s32"), ("col", "row", "col", "row"), (0, 0, 0, 0)),
    ("m16n16k16", ("f32", "bf16", "bf16", "f32"), ("row", "col", "row", "row"), (0, 32, 16, 20)),
    ("m16n16k8", ("f32", "tf32", "tf32", "f32"), ("col", "row", "col", "col"), (0, 0, 0, 0)),
    ("m8n8k4", ("f64",) * 4, ("row", "col", "col", "row"), (6, 0, 0, 10)),
    ("m8n8k32", ("s32", "s4", "s4", "s32"), ("row", "col", "row", "row"), (64, 32, 8, 0)),
    ("m8n8k128", ("s32", "b1", "b1", "s32"), ("row", "col", "col", "row"), (256, 0, 0, 0)),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[1][1]}" for case in CASES])
def test_wmma_from_memory_to_memory(case):
    shape, types, layouts, strides = case
    m, n, k = (int(part) for part in shape[1:].replace("n", " ").replace("k", " ").split())
    extents = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}
    random = np.random.default_rng(len(shape))
    matrices, memory = {}, []
    full = [stride or extents[w][layout == "row"] for stride, layout, w in zip(strides, layouts, "abcd", strict=True)]
    for i, which in enumerate("abc"):
        element = types[i + 1]
        bits = mma_reference.random_bits(random, element, extents[which])
        matrices[which] = np.vectorize(lambda b, t=element: mma_reference.value(int(b), t), otypes=[object])(bits)
        memory.append(in_memory(bits, layouts[i], full[i], mma_reference.WIDTHS[element]))
    lines = m if layouts[3] == "row" else n
    width = mma_reference.WIDTHS[types[0]]
    memory.append(np.zeros(lines * full[3] * width // 8, np.uint8))
    result = run(wmma_kernel(shape, types, layouts, strides, ".global"), grid=1, block=32, args=memory)
    assert result.findings == ()
    found = of_memory(memory[3], (m, n), layouts[3], full[3], width)
    for row in range(m):
        for column in range(n):
            a, b = matrices["a"][row], matrices["b"][:, column]
            terms = [x & y if types[1] == "b1" else x * y for x, y in zip(a, b, strict=True)]
            wanted = matrices["c"][row, column] + sum(terms)
            number = mma_reference.value(int(found[row, column]), types[0])
            size = abs(matrices["c"][row, column]) + sum(map(abs, terms))
            bound = {"s32": 0, "f64": size * 2.0**-48, "f32": size * 2.0**-19, "f16": size * 2.0**-10 + 2.0**-24}
            wrapped = (wanted + (1 << 31)) % (1 << 32) - (1 << 31) if types[0] == "s32" else wanted
            assert abs(number - wrapped) <= bound[types[0]], (row, column)


def test_an_exact_product_of_f64_is_a_chain_of_fused_multiply_adds():
    random = np.random.default_rng(5)
    a, b, c = (random.standard_normal(shape) for shape in ((8, 4), (4, 8), (8, 8)))
    d = np.zeros((8, 8))
    text = wmma_kernel("m8n8k4", ("f64",) * 4, ("row",) * 4, (4, 8, 8, 8), ".global")
    assert run(text, grid=1, block=32, args=[a, b, c, d], numerics="exact").findings == ()
    for row, column in np.ndindex(8, 8):
        chained = c[row, column]
        for k in range(4):
            chained = float(Fraction(a[row, k]) * Fraction(b[k, column]) + Fraction(chained))
        assert d[row, column] == chained


def test_several_warps_store_one_matrix_at_one_address():
    """Each warp writes the same values, so the order of the writes does not matter."""
    body = """
    cvt.rn.f32.u32 %f1, %r0;
    LOAD
    wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd0], {%f2, %f3, %f4, %f5, %f6, %f7, %f8, %f9};
    """.replace(
        "LOAD", "wmma.load.c.sync.aligned.col.m16n16k16.global.f32 {%f2, %f3, %f4, %f5, %f6, %f7, %f8, %f9}, [%rd2];"
    )
    matrix = np.arange(256, dtype=np.float32).reshape(16, 16)
    out = np.zeros((16, 16), np.float32)
    text = "ld.param.u64 %rd2, [given];" + body
    execute(text, out, matrix, block=96, parameters=".param .u64 out, .param .u64 given", checks="none")
    np.testing.assert_array_equal(out, matrix.T)


@pytest.mark.parametrize("layouts", ["row.col", "row.row", "col.col", "col.row"])
def test_warps_multiply_registers_that_they_share(layouts):
    """The simulator stores registers that depend only on the lane once for all warps."""
    body = f"""
    and.b32 %r1, %r0, 31;
    mad.lo.u32 %r2, %r1, 0x00110013, 0x3c003800;
    mov.u32 %r3, %laneid;
    mad.lo.u32 %r3, %r3, 0x00170011, 0x38003c00;
    mma.sync.aligned.m8n8k4.{layouts}.f32.f16.f16.f32
        {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}}, {{%r3, %r3}}, {{%r3, %r2}},
        {{0f00000000, 0f00000000, 0f00000000, 0f00000000, 0f00000000, 0f00000000, 0f00000000, 0f00000000}};
    {" ".join(f"st.global.f32 [%rd1+{128 * 4 * i}], %f{i};" for i in range(8))}
    """
    whole, alone = (np.zeros((8, 128), np.float32) for _ in range(2))
    execute(body, whole, block=128, checks="none")
    execute(body, alone, block=32, checks="none")
    for warp in range(4):
        np.testing.assert_array_equal(whole[:, 32 * warp : 32 * warp + 32], alone[:, :32])
    assert len(np.unique(alone[:, :32])) > 50
