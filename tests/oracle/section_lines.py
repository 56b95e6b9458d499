"""Debug sections with random lines that a grammar generates; a seed determines them."""

from __future__ import annotations

import random

_MODULE = ".version 9.0\n.target sm_90a\n.address_size 64\n{}\n.visible .entry k()\n{{\nhere:\nret;\n}}\n{}\n"
_NAMES = (
    ".debug_info",
    ".debug_str",
    ".debug_loc",
    ".data1",
    "debug_info",
    ".a.b",
    ".a$b",
    ".a_b",
    "$a",
    ".debug_abbrev",
)
_WORDS = (".b8", ".b16", ".b32", ".b64", ".byte", ".4byte", ".quad", ".u8", ".2byte", ".b128", ".f32")
_NUMBERS = ("0", "1", "255", "256", "-128", "-129", "65535", "65536", "4294967295", "-2147483649", "0x1F", "017", "08")
_OTHERS = ("18446744073709551615", "1U", "0b11", "1.0", "'a'", '"a"', "WARP_SZ", "(1)", "1+1", "-here", "_")
_LABELS = ("here", "L", "M", "k", "g", "nowhere", ".debug_abbrev", "L+4", "L-M", "M - L", "here-L", "L+1+1", "L-4")
_AROUND = ("{}", "{}", "{}", "{};", "{} // x", "/* x */ {}", "{}\n", '# 1 "a.cu"\n{}')


def sections(seed: int, count: int) -> tuple[str, ...]:
    """Return `count` PTX modules, each with one or two debug sections."""
    chance = random.Random(seed)
    return tuple(_MODULE.format(*_parts(chance)) for _ in range(count))


def _parts(chance: random.Random) -> tuple[str, str]:
    above = chance.choice(("", "", ".global .b8 g[4];", '.file 1 "a.cu"', '.file 1 "a.cu", 1, 2'))
    one = _section(chance, chance.choice(_NAMES))
    return (above, one) if chance.random() < 0.8 else (f"{above}\n{one}", _section(chance, ".debug_abbrev"))


def _section(chance: random.Random, name: str) -> str:
    lines = [_line(chance) for _ in range(chance.randint(0, 3))]
    chance.shuffle(lines := ["L:", "M:", *lines])
    return "\n".join([f".section {name}", "{", *lines, "}"])


def _line(chance: random.Random) -> str:
    values = [_value(chance) for _ in range(chance.choice((1, 1, 1, 2)))]
    return chance.choice(_AROUND).format(f"{chance.choice(_WORDS[:7] * 3 + _WORDS)} {', '.join(values)}")


def _value(chance: random.Random) -> str:
    return chance.choice(chance.choices((_NUMBERS, _LABELS, _OTHERS), (4, 2, 1))[0])
