"""Random numbers, operators and sizes in small modules, at every position where PTX accepts a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

HEADER = ".version 8.5\n.target sm_80\n.address_size 64\n"
# PTX statements with a number: `@` is replaced by the drawn number.
INSTRUCTIONS = (
    "mov.u32 r, @;",
    "mov.u64 e, @;",
    "mov.f32 f, @;",
    "mov.pred p, @;",
    "add.u32 r, r, @;",
    "add.f64 g, g, @;",
    "shl.b32 r, r, @;",
    "lop3.b32 r, r, r, r, @;",
    "bfe.u32 r, r, @, 4;",
    "setp.eq.u32 p, r, @;",
    "selp.u32 r, @, r, p;",
    "cvt.u64.u32 e, @;",
    "mov.v2.u32 v, {r, @};",
    "mov.u32 v.x, @;",
    "bar.sync @;",
    "vote.sync.any.pred p, p, @;",
    "shfl.sync.idx.b32 r, r, 0, @, -1;",
    "vadd.u32.u32.u32 r, r, @;",
    "ld.global.u32 r, [d+@];",
    "ld.shared.u32 r, [shared+@];",
    "ld.param.u32 r, [out+@];",
    "st.global.u32 [d], @;",
    "st.global.v2.u32 [d], {r, @};",
    "cp.async.ca.shared.global [shared], [d], @;",
    "cp.async.wait_group @;",
    "bar.sync 1, @;",
    "bar.arrive 1, @;",
    "mbarrier.init.shared.b64 [shared], @;",
    "alloca.u64 e, @;",
    "prmt.b32 r, r, @, r;",
    "dp4a.u32.u32 r, r, @, r;",
    "atom.global.add.u32 r, [d], @;",
    "fns.b32 r, r, 0, @;",
    "pmevent @;",
    "nanosleep.u32 @;",
    "call (r), next, (@);",
    "targets: .branchtargets L<@>; brx.idx r, targets; L0: L1: L2:",
)
DECLARATIONS = (
    ".reg .b32 q<@>;",
    ".reg .v2 .f32 q<@>;",
    ".local .b8 l[@];",
    ".local .align @ .b8 l[4];",
    ".local .b32 l<@>;",
    ".shared .b32 l[@][@];",
    ".shared .align @ .b8 l[4];",
    ".param .b8 l[@];",
)
VARIABLES = (
    ".global .b32 l = @;",
    ".global .u64 l = @;",
    ".global .f32 l = @;",
    ".global .f64 l = @;",
    ".global .u8 l[4] = {1, @};",
    ".global .b16 l[2][@] = {{1}, {2}};",
    ".global .b32 l[@];",
    ".global .v4 .b32 l[@];",
    ".global .align @ .b8 l[4];",
    ".global .b32 l<@>;",
    ".const .b8 l[@];",
    ".func taken(.param .b8 l[@]) { ret; }",
    ".func taken(.param .align @ .b8 l[4]) { ret; }",
)
DIRECTIVES = (".maxntid @", ".reqntid @, @", ".minnctapersm @ .maxntid 32", ".maxnreg @")
OPERATORS = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=", "==", "!=", "&&", "||")
SIGNS = ("-", "+", "!", "~", "(.s64)", "(.u64)")
NAMES = ("r", "p", "variable", "shared", "v.x", "next", "%tid.x", "WARP_SZ")
EDGES = (0, 1, 2, 3, 8, 31, 255, 1 << 16, 1_000_000_000, 1 << 31, 1 << 32, 1 << 63, 1 << 64, 1 << 80)


@dataclass(frozen=True, slots=True)
class Made:
    """A PTX module, and its statement that contains the drawn number."""

    text: str
    statement: str


def made(chance: Random) -> Made:
    """Return a PTX module with a random number at a random position."""
    places = chance.choice((INSTRUCTIONS, INSTRUCTIONS, DECLARATIONS, VARIABLES, DIRECTIVES))
    whole = chance.choice(places)
    number = expression(chance, 2) if places in (INSTRUCTIONS, VARIABLES) else literal(chance)
    statement = whole.replace("@", number)
    parts = {kind: statement if kind is places else "" for kind in (INSTRUCTIONS, DECLARATIONS, VARIABLES, DIRECTIVES)}
    return Made(module(parts[INSTRUCTIONS], parts[DECLARATIONS], parts[VARIABLES], parts[DIRECTIVES]), statement)


def module(instruction: str, declaration: str, variable: str, directive: str) -> str:
    """Return a PTX module with these parts, which may be invalid; the rest of the module is valid."""
    return f"""{HEADER}.global .b32 variable;
.func (.reg .b32 more) next(.reg .b32 one) {{ add.u32 more, one, 1; ret; }}
{variable}
.visible .entry k(.param .u64 out) {directive}
{{
	.reg .b64 d, e;
	.reg .b32 r;
	.reg .v2 .b32 v;
	.reg .pred p;
	.reg .f32 f;
	.reg .f64 g;
	.shared .align 16 .b8 shared[64];
	{declaration}
	ld.param.u64 d, [out];
	mov.u32 r, 1;
	mov.u32 v.x, 2;
	mov.u32 v.y, 3;
	mov.f64 g, 1.0;
	setp.eq.u32 p, r, 1;
	{instruction}
	st.global.u32 [d], r;
	ret;
}}
"""


def expression(chance: Random, depth: int) -> str:
    """Return a random literal, a name, or an expression of literals and names."""
    kind = chance.randrange(8) if depth else 0
    inner = [expression(chance, depth - 1) for _ in range(3)] if kind > 3 else []
    match kind:
        case 4:
            return f"{chance.choice(SIGNS)}{inner[0]}"
        case 5:
            return f"({inner[0]})"
        case 6:
            return f"{inner[0]} {chance.choice(OPERATORS)} {inner[1]}"
        case 7:
            return f"{inner[0]} ? {inner[1]} : {inner[2]}"
        case _:
            return chance.choice(NAMES) if not chance.randrange(6) else literal(chance)


def literal(chance: Random) -> str:
    """Return a random literal in any base, often near the limit of a type, sometimes invalid."""
    value = abs(chance.choice(EDGES) + chance.randrange(-2, 3))
    spelt = chance.choice((f"{value}", f"{value}", f"{value:#x}", f"0{value:o}", f"{value:#b}"))
    match chance.randrange(12):
        case 0:
            return f"{spelt}U"
        case 1:
            return f"-{spelt}"
        case 2:
            return f"0{value}"
        case 3:
            return chance.choice(("1.5", "1e30", "1e300", "1e400", "0f3F800000", "0dFFF8000000000000", ".5", "-2.0"))
        case 4:
            return chance.choice(("0x", "0b2", "1e", "08", "0f1", "1.e", "5u", "99999999999999999999", "0xG"))
        case _:
            return spelt
