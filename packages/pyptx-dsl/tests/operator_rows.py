"""Every operator on registers, and exactly the PTX that it emits: rows of `docs/operators.md` and `docs/offsets.md`.

Registers are named by type: `u v` u32, `s t` s32, `b c` b32, `h` u16, `i` s16, `U V` u64, `S T` s64, `P` b64 (a
pointer), `x y` f32, `d e` f64, `m n` f16, `k l` bf16, `xx yy` f16x2, `p q` predicates; `tid` is the special register
`%tid.x`. A new register takes the next name of its register group.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill


@dataclass(frozen=True, slots=True)
class Row:
    """A line of Python, and the lines of PTX it emits."""

    python: str
    emitted: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Operator rows under one heading of a docs page."""

    title: str
    text: str
    rows: tuple[Row, ...]


SECTIONS = (
    Section(
        "Integers: 32 bits",
        "An integer result has the type of the left operand; untyped bits (b32) count as unsigned. Python and "
        "NumPy integers are literals and must fit the register's type.",
        (
            Row("u + v", "add.u32 %r0, %u, %v"),
            Row("u + 5", "add.u32 %r0, %u, 5"),
            Row("5 + u", "add.u32 %r0, %u, 5"),
            Row("s + t", "add.s32 %r0, %s, %t"),
            Row("b + 1", "add.u32 %r0, %b, 1"),
            Row("u + h", "cvt.u32.u16 %r0, %h; add.u32 %r1, %u, %r0", "the narrower one is widened by its own sign"),
            Row("s + i", "cvt.s32.s16 %r0, %i; add.s32 %r1, %s, %r0"),
            Row("h + u", "cvt.u32.u16 %r0, %h; add.u32 %r1, %r0, %u"),
            Row("u - v", "sub.u32 %r0, %u, %v"),
            Row("s - 1", "sub.s32 %r0, %s, 1"),
            Row("5 - u", "sub.u32 %r0, 5, %u"),
            Row("u * 3", "mul.lo.u32 %r0, %u, 3", "see [offsets](offsets.md)"),
            Row("s * t", "mul.lo.s32 %r0, %s, %t"),
            Row("u // 3", "div.u32 %r0, %u, 3"),
            Row("s // 3", "div.s32 %r0, %s, 3", "PTX truncates toward zero, Python rounds down"),
            Row("100 // u", "div.u32 %r0, 100, %u"),
            Row("u % 3", "rem.u32 %r0, %u, 3"),
            Row("s % 3", "rem.s32 %r0, %s, 3", "the sign is the dividend's, in Python the divisor's"),
            Row("u << 4", "shl.b32 %r0, %u, 4", "see [offsets](offsets.md)"),
            Row("1 << u", "shl.b32 %r0, 1, %u"),
            Row("u >> 4", "shr.u32 %r0, %u, 4"),
            Row("s >> 4", "shr.s32 %r0, %s, 4", "arithmetic"),
            Row("b >> 4", "shr.u32 %r0, %b, 4"),
            Row("s >> u", "shr.s32 %r0, %s, %u"),
            Row("u & 31", "and.b32 %r0, %u, 31"),
            Row("u | v", "or.b32 %r0, %u, %v"),
            Row("u ^ v", "xor.b32 %r0, %u, %v"),
            Row("~u", "not.b32 %r0, %u"),
            Row("-s", "neg.s32 %r0, %s"),
            Row("abs(s)", "abs.s32 %r0, %s"),
            Row("u.max(v)", "max.u32 %r0, %u, %v"),
            Row("s.max(t)", "max.s32 %r0, %s, %t"),
            Row("s.min(-1)", "min.s32 %r0, %s, -1"),
            Row("+u", "", "nothing: the register itself"),
        ),
    ),
    Section(
        "Integers: 64 and 16 bits",
        "64-bit sums are `.s64` for both signs, as compilers emit them for pointers.",
        (
            Row("U + 8", "add.s64 %rd0, %U, 8"),
            Row("U + V", "add.s64 %rd0, %U, %V"),
            Row("P + u", "cvt.u64.u32 %rd0, %u; add.s64 %rd1, %P, %rd0", "zero extension"),
            Row("P + s", "cvt.s64.s32 %rd0, %s; add.s64 %rd1, %P, %rd0", "sign extension"),
            Row("u + P", "cvt.u64.u32 %rd0, %u; add.s64 %rd1, %rd0, %P"),
            Row("P + h", "cvt.u64.u16 %rd0, %h; add.s64 %rd1, %P, %rd0"),
            Row("U - V", "sub.s64 %rd0, %U, %V"),
            Row("8 - U", "sub.s64 %rd0, 8, %U"),
            Row("U * 3", "mul.lo.u64 %rd0, %U, 3"),
            Row("S * T", "mul.lo.s64 %rd0, %S, %T"),
            Row("U // 3", "div.u64 %rd0, %U, 3"),
            Row("S % 3", "rem.s64 %rd0, %S, 3"),
            Row("U << 4", "shl.b64 %rd0, %U, 4"),
            Row("U >> u", "shr.u64 %rd0, %U, %u"),
            Row("S >> 4", "shr.s64 %rd0, %S, 4"),
            Row("U & 255", "and.b64 %rd0, %U, 255"),
            Row("U | u", "cvt.u64.u32 %rd0, %u; or.b64 %rd1, %U, %rd0"),
            Row("~U", "not.b64 %rd0, %U"),
            Row("-S", "neg.s64 %rd0, %S"),
            Row("S.max(T)", "max.s64 %rd0, %S, %T"),
            Row("h + 1", "add.u16 %rs0, %h, 1"),
            Row("i >> 2", "shr.s16 %rs0, %i, 2"),
            Row("h * 3", "mul.lo.u16 %rs0, %h, 3"),
            Row("h & 7", "and.b16 %rs0, %h, 7"),
        ),
    ),
    Section(
        "Offsets",
        "An *offset* is the result of `*` or `<<` on a register of 16 or 32 bits, or of `+`, `-` or unary `-` on "
        "an offset. The exact value of an offset is also available in a wider register. No product in an address "
        "therefore wraps at 2^32, however many are chained, while shared memory addresses stay 32 bits.\n"
        "\n"
        "- **Width**: the trace emits the instruction at the operator: the narrow form if the offset is used as a "
        "narrow value, and the 64-bit form if it is used with a 64-bit register. A 16-bit offset also has a "
        "32-bit form.\n"
        "- **Two widths**: an offset that is used in two widths is computed in the wider width only, exactly, and "
        "one `cvt` takes its low bits. A product of plain values, which is one instruction in either width, is "
        "emitted in both widths.\n"
        "- **Plain registers**: a sum of plain registers is not an offset: it has 32 bits and wraps. Results of "
        "all other operators (`// % >> & | ^`), which read an offset's narrow form, have 32 bits, too.\n"
        "- **Writes**: an offset that is written to is a plain register afterwards: one `cvt` widens it for a "
        "later sum with a pointer. If a loop may execute an earlier sum again, an in-place operator on an offset "
        "also refreshes its 64-bit form, by one more `cvt`; a write to the offset by another instruction raises a "
        "RewrittenOffsetError.",
        (
            Row("P + u * 4096", "mul.wide.u32 %rd0, %u, 4096; add.s64 %rd1, %P, %rd0"),
            Row("P + s * -4", "mul.wide.s32 %rd0, %s, -4; add.s64 %rd1, %P, %rd0"),
            Row(
                "P + u * -4",
                "cvt.u64.u32 %rd0, %u; mul.lo.s64 %rd0, %rd0, -4; add.s64 %rd1, %P, %rd0",
                "`mul.wide` cannot multiply an unsigned by a negative number",
            ),
            Row("P + u * v", "mul.wide.u32 %rd0, %u, %v; add.s64 %rd1, %P, %rd0"),
            Row(
                "P + u * s",
                "cvt.u64.u32 %rd0, %u; cvt.s64.s32 %rd1, %s; mul.lo.s64 %rd0, %rd0, %rd1; add.s64 %rd2, %P, %rd0",
            ),
            Row("P + (u << 4)", "mul.wide.u32 %rd0, %u, 16; add.s64 %rd1, %P, %rd0"),
            Row("P + (u << v)", "cvt.u64.u32 %rd0, %u; shl.b64 %rd0, %rd0, %v; add.s64 %rd1, %P, %rd0"),
            Row("P + ((u << 4) + 2048)", "mul.wide.u32 %rd1, %u, 16; add.s64 %rd0, %rd1, 2048; add.s64 %rd2, %P, %rd0"),
            Row(
                "P + (u * 8 + v)",
                "mul.wide.u32 %rd1, %u, 8; cvt.u64.u32 %rd0, %v; add.s64 %rd0, %rd1, %rd0; add.s64 %rd2, %P, %rd0",
            ),
            Row(
                "P + (u * 8 - v * 4)",
                "mul.wide.u32 %rd1, %u, 8; mul.wide.u32 %rd2, %v, 4; sub.s64 %rd0, %rd1, %rd2; add.s64 %rd3, %P, %rd0",
            ),
            Row("P + (u + v) * 4", "add.u32 %r0, %u, %v; mul.wide.u32 %rd0, %r0, 4; add.s64 %rd1, %P, %rd0"),
            Row("P - u * 4", "mul.wide.u32 %rd0, %u, 4; sub.s64 %rd1, %P, %rd0"),
            Row("P + (5 - u * 4)", "mul.wide.u32 %rd1, %u, 4; sub.s64 %rd0, 5, %rd1; add.s64 %rd2, %P, %rd0"),
            Row("P + -(u * 4)", "mul.wide.u32 %rd1, %u, 4; neg.s64 %rd0, %rd1; add.s64 %rd2, %P, %rd0"),
            Row("P + (1 << u)", "shl.b64 %rd0, 1, %u; add.s64 %rd1, %P, %rd0"),
            Row(
                "P + u * v * 4",
                "mul.wide.u32 %rd1, %u, %v; mul.lo.s64 %rd0, %rd1, 4; add.s64 %rd2, %P, %rd0",
                "two multiplications",
            ),
            Row("P + s * t * 4", "mul.wide.s32 %rd1, %s, %t; mul.lo.s64 %rd0, %rd1, 4; add.s64 %rd2, %P, %rd0"),
            Row("P + (u * v << 2)", "mul.wide.u32 %rd1, %u, %v; shl.b64 %rd0, %rd1, 2; add.s64 %rd2, %P, %rd0"),
            Row(
                "P + u * 4 * (v * 8)",
                "mul.wide.u32 %rd1, %u, 4; mul.wide.u32 %rd2, %v, 8; mul.lo.s64 %rd0, %rd1, %rd2; "
                "add.s64 %rd3, %P, %rd0",
            ),
            Row(
                "P + (u * v + c) * 4",
                "mul.wide.u32 %rd2, %u, %v; cvt.u64.u32 %rd1, %c; add.s64 %rd1, %rd2, %rd1; "
                "mul.lo.s64 %rd0, %rd1, 4; add.s64 %rd3, %P, %rd0",
                "a sum that contains a multiplication, multiplied",
            ),
            Row("u * v * 4", "mul.lo.u32 %r0, %u, %v; mul.lo.u32 %r1, %r0, 4", "no pointer: 32 bits"),
            Row("U * (u * 4)", "mul.wide.u32 %rd0, %u, 4; mul.lo.u64 %rd1, %U, %rd0"),
            Row(
                "P + u * v // 4",
                "mul.lo.u32 %r0, %u, %v; div.u32 %r1, %r0, 4; cvt.u64.u32 %rd0, %r1; add.s64 %rd1, %P, %rd0",
                "division reads 32 bits",
            ),
            Row("P + h * 4", "cvt.u64.u16 %rd0, %h; mul.lo.s64 %rd0, %rd0, 4; add.s64 %rd1, %P, %rd0"),
            Row("P + (h << 2)", "cvt.u64.u16 %rd0, %h; shl.b64 %rd0, %rd0, 2; add.s64 %rd1, %P, %rd0"),
            Row("P + u * h", "cvt.u32.u16 %r0, %h; mul.wide.u32 %rd0, %u, %r0; add.s64 %rd1, %P, %rd0"),
            Row("P + h * u", "cvt.u32.u16 %r0, %h; mul.wide.u32 %rd0, %r0, %u; add.s64 %rd1, %P, %rd0"),
            Row("u + h * 4", "mul.wide.u16 %r1, %h, 4; add.u32 %r0, %u, %r1", "16 bits with 32 bits"),
            Row(
                "P + (u + h * 4)",
                "cvt.u64.u16 %rd1, %h; mul.lo.s64 %rd1, %rd1, 4; cvt.u64.u32 %rd0, %u; add.s64 %rd0, %rd0, %rd1; "
                "add.s64 %rd2, %P, %rd0",
            ),
            Row(
                "o = u * 4; P + o; o + 1",
                "mul.lo.u32 %r0, %u, 4; mul.wide.u32 %rd0, %u, 4; add.s64 %rd1, %P, %rd0; add.u32 %r1, %r0, 1",
                "used in both widths",
            ),
            Row(
                "i = u * v + s; P + i * 4; i < 100",
                "mul.wide.u32 %rd2, %u, %v; cvt.s64.s32 %rd1, %s; add.s64 %rd1, %rd2, %rd1; cvt.u32.u64 %r1, %rd1; "
                "mul.lo.s64 %rd0, %rd1, 4; add.s64 %rd3, %P, %rd0; setp.lt.u32 %p0, %r1, 100",
                "an index in one width",
            ),
            Row(
                "o = u * 4; o += 8; P + o",
                "mul.lo.u32 %r0, %u, 4; add.u32 %r0, %r0, 8; cvt.u64.u32 %rd0, %r0; add.s64 %rd1, %P, %rd0",
                "a plain register after the write",
            ),
        ),
    ),
    Section(
        "Comparisons",
        "Each comparison returns a new predicate. Comparing signed with unsigned values is an error if the order "
        "depends on the sign.",
        (
            Row("u < v", "setp.lt.u32 %p0, %u, %v"),
            Row("u <= 5", "setp.le.u32 %p0, %u, 5"),
            Row("s > -1", "setp.gt.s32 %p0, %s, -1"),
            Row("5 > s", "setp.lt.s32 %p0, %s, 5"),
            Row("b >= 1", "setp.ge.u32 %p0, %b, 1"),
            Row("u == 0", "setp.eq.u32 %p0, %u, 0"),
            Row("u != v", "setp.ne.u32 %p0, %u, %v"),
            Row("U < u", "cvt.u64.u32 %rd0, %u; setp.lt.u64 %p0, %U, %rd0"),
            Row("u < U", "cvt.u64.u32 %rd0, %u; setp.lt.u64 %p0, %rd0, %U"),
            Row("S < u", "cvt.u64.u32 %rd0, %u; setp.lt.s64 %p0, %S, %rd0"),
            Row("h == 3", "setp.eq.u16 %p0, %h, 3"),
            Row("x < y", "setp.lt.f32 %p0, %x, %y"),
            Row("x >= 0", "setp.ge.f32 %p0, %x, 0f00000000"),
            Row("x == y", "setp.eq.f32 %p0, %x, %y"),
            Row("x != x", "setp.neu.f32 %p0, %x, %x", "true for NaN, as in Python"),
            Row("d > 1.5", "setp.gt.f64 %p0, %d, 0d3FF8000000000000"),
            Row("m < n", "setp.lt.f16 %p0, %m, %n"),
        ),
    ),
    Section(
        "Floating point",
        "Floating-point operators emit the rounding modifier (`.rn`), so ptxas does not fuse them. Both operands "
        "of a floating-point operator have one type; literals are rounded to it and emitted as bits.",
        (
            Row("x + y", "add.rn.f32 %f0, %x, %y"),
            Row("x + 1", "add.rn.f32 %f0, %x, 0f3F800000"),
            Row("1.0 - x", "sub.rn.f32 %f0, 0f3F800000, %x"),
            Row("x - y", "sub.rn.f32 %f0, %x, %y"),
            Row("x * 0.5", "mul.rn.f32 %f0, %x, 0f3F000000"),
            Row("x / y", "div.rn.f32 %f0, %x, %y"),
            Row("1 / x", "div.rn.f32 %f0, 0f3F800000, %x"),
            Row("-x", "neg.f32 %f0, %x"),
            Row("abs(x)", "abs.f32 %f0, %x"),
            Row("x.max(0)", "max.f32 %f0, %x, 0f00000000"),
            Row("x.min(y)", "min.f32 %f0, %x, %y"),
            Row("d + e", "add.rn.f64 %fd0, %d, %e"),
            Row("d / 2", "div.rn.f64 %fd0, %d, 0d4000000000000000"),
            Row("m + n", "add.rn.f16 %h0, %m, %n"),
            Row("m * 2", "mov.b16 %h0, 0x4000; mul.rn.f16 %h1, %m, %h0", "16-bit types have no literals"),
            Row("k * l", "mul.rn.bf16 %h0, %k, %l"),
            Row("k + 1", "mov.b16 %h0, 0x3F80; add.rn.bf16 %h1, %k, %h0"),
            Row("xx * yy", "mul.rn.f16x2 %hh0, %xx, %yy"),
        ),
    ),
    Section(
        "Predicates",
        "`~p` is the negation `!p` and emits nothing; as an operand of `& | ^`, `~p` takes one `not`. A pair of "
        "destinations `p|q` is `reg.PipeRef(p, q)`.",
        (
            Row("p & q", "and.pred %p0, %p, %q"),
            Row("p | q", "or.pred %p0, %p, %q"),
            Row("p ^ q", "xor.pred %p0, %p, %q"),
            Row("~p", ""),
            Row("p & ~q", "not.pred %p0, %q; and.pred %p1, %p, %p0"),
        ),
    ),
    Section(
        "In place",
        "An augmented assignment writes to the left register itself. `u = u + v` binds the Python name to a new "
        "register instead. In a traced loop or `ptx.if_`, `u = u + v` raises a ControlFlowError if the name is "
        "read after the block or in the next iteration: other iterations and threads would read an uninitialized "
        "register.",
        (
            Row("u += v", "add.u32 %u, %u, %v"),
            Row("u -= 1", "sub.u32 %u, %u, 1"),
            Row("u *= 3", "mul.lo.u32 %u, %u, 3"),
            Row("u //= 3", "div.u32 %u, %u, 3"),
            Row("u %= 3", "rem.u32 %u, %u, 3"),
            Row("u <<= 2", "shl.b32 %u, %u, 2"),
            Row("s >>= 2", "shr.s32 %s, %s, 2"),
            Row("u &= 7", "and.b32 %u, %u, 7"),
            Row("u |= 8", "or.b32 %u, %u, 8"),
            Row("u ^= v", "xor.b32 %u, %u, %v"),
            Row("P += u * 4096", "mul.wide.u32 %rd0, %u, 4096; add.s64 %P, %P, %rd0"),
            Row("P += s", "cvt.s64.s32 %rd0, %s; add.s64 %P, %P, %rd0"),
            Row("x += y", "add.rn.f32 %x, %x, %y"),
            Row("x /= 2", "div.rn.f32 %x, %x, 0f40000000"),
            Row("p &= q", "and.pred %p, %p, %q"),
        ),
    ),
    Section(
        "Special registers",
        "ptxas accepts special registers in `mov` and `cvt` only, so an operator first copies a special register.",
        (
            Row("tid & 31", "mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31"),
            Row("tid == 0", "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0"),
            Row("u + tid", "mov.u32 %r0, %tid.x; add.u32 %r1, %u, %r0"),
        ),
    ),
    Section(
        "Shared memory",
        "A shared array with an index for each dimension is an element, which can be read and written: `line[i]`, "
        "`tile[row, column]`. With fewer indices, a shared array is the address of the selected part: "
        "`tile[stage]`. `line.address(i)` is the address of an element; element `[i]` of an array of mbarriers is an "
        "mbarrier. In the table, `line` has 32 elements of f32, `tile` 4 x 64.",
        (
            Row("x + line[3]", "ld.shared.f32 %f0, [line+12]; add.rn.f32 %f1, %x, %f0"),
            Row("line[-1] = x", "st.shared.f32 [line+124], %x"),
            Row("line[u]", "mov.u32 %r0, line; mad.lo.u32 %r0, %u, 4, %r0; ld.shared.f32 %f0, [%r0]"),
            Row("line[u] = 1.0", "mov.u32 %r0, line; mad.lo.u32 %r0, %u, 4, %r0; st.shared.f32 [%r0], 0f3F800000"),
            Row("line.address(u)", "mov.u32 %r0, line; mad.lo.u32 %r0, %u, 4, %r0", "no load"),
            Row("tile[1, 2]", "ld.shared.f32 %f0, [tile+264]"),
            Row("tile[1][2] = x", "st.shared.f32 [tile+264], %x"),
            Row("tile[1]", "", "the address `tile+256`"),
            Row("tile[u]", "mov.u32 %r0, tile; mad.lo.u32 %r0, %u, 256, %r0", "an address"),
        ),
    ),
)

ROWS = tuple(row for section in SECTIONS for row in section.rows)


PAGES = {
    "operators.md": tuple(section for section in SECTIONS if section.title != "Offsets"),
    "offsets.md": tuple(section for section in SECTIONS if section.title == "Offsets"),
}


def page(name: str) -> str:
    """Return the tables of a page of `docs`."""
    parts = []
    for section in PAGES[name]:
        text = "\n".join(
            fill(line, 120, subsequent_indent="  " * line.startswith("- "), break_on_hyphens=False)
            for line in section.text.split("\n")
        )
        parts.append(f"## {section.title}\n\n{text}\n\n| Python | PTX | |\n|---|---|---|")
        for row in section.rows:
            ptx = "<br>".join(f"`{line}`" for line in row.emitted.split("; ") if line) or "–"
            python = row.python.replace("|", "\\|")
            parts.append(f"| `{python}` | {ptx} | {row.note} |")
        parts.append("")
    return "\n".join(parts)
