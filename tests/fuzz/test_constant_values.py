"""Random constant expressions have the same value, of the same type, in the instruction table and in the simulator."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from pyptx_ir.isa.constant_values import Unsigned, evaluated
from pyptx_ir.isa.modules.constants import of_value
from pyptx_ir.syntax import parse
from pyptx_ir.syntax.nodes import Variable
from pyptx_sim import literals
from pyptx_sim.errors import ProgramError
from pyptx_sim.program.constants import evaluate

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand

ATOMS = (
    *("0", "1", "-1", "2", "-7", "5U", "017", "0b101", "1U", "WARP_SZ", "-WARP_SZ", "63", "64", "1.5", "-3.0", "2.0"),
    *("0x7fffffff", "0xffffffff", "0x7fffffffffffffff", "0x8000000000000000", "18446744073709551615", "(1-2)"),
    *("~0", "!5", "~1U", "(.s64)-1", "(.u64)-1", "(.s64)5U", "-9223372036854775807"),
)
OPERATORS = ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=", "==", "!=", "&&", "||"]
FORMS: tuple[str, ...] = (
    "{a} {o} {b}",
    "{a} {o} {b} {p} {c}",
    "({a} {o} {b}) {p} {c}",
    "{a} ? {b} : {c}",
    "-({a} {o} {b})",
)
FORMS += ("~({a} {o} {b})", "!({a} {o} {b})", "(.u64)({a} {o} {b}) {p} {c}", "(.s64)({a} {o} {b}) {p} {c}")


def initializer(text: str) -> Operand:
    node = parse(f".version 9.0\n.target sm_90\n.global .b64 g = {text};\n").body[-1]
    assert isinstance(node, Variable)
    value = node.declarators[0].initializer
    assert value is not None
    return value


def nowhere(name: str, _form: str) -> int:
    raise ProgramError(f"{name} has no address")


def test_both_evaluators_agree_on_random_expressions() -> None:
    draw = random.Random(11)
    compared = 0
    for _ in range(2000):
        parts = {name: draw.choice(ATOMS) for name in "abc"} | {name: draw.choice(OPERATORS) for name in "op"}
        operand = initializer(draw.choice(FORMS).format(**parts))
        if not of_value(operand, {})[0]:
            continue
        ours = evaluated(operand)
        try:
            simulated: int | float | None = evaluate(operand, nowhere)
        except (ProgramError, ZeroDivisionError):
            simulated = None
        assert ours == simulated, parts
        assert type(ours) is type(simulated) or isinstance(ours, Unsigned) == isinstance(simulated, literals.Unsigned)
        compared += 1
    assert compared > 1000
