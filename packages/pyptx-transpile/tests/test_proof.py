"""Rules that print wrong Python: their rewrites are rejected and reported; the final Python still emits the source."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.modules.builder import ModuleBuilder
from pyptx_dsl.types import BY_NAME
from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax.style import Style
from pyptx_transpile import ProofError, Rewrite, RuleError, ptx_to_python, transpile
from pyptx_transpile.rules.table import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

SOURCE = """.version 8.0
.target sm_90
.address_size 64

.visible .entry first()
{
	.reg .pred %p<4>;
	.reg .b32 %r<9>;

	mov.b32 %r1, 1;
	add.s32 %r2, %r1, 3;
	@%p1 bra $L__BB0_2;
	add.s32 %r3, %r2, 4;
	{
		add.s32 %r3, %r3, 5;
	}
$L__BB0_2:
	ret;
}

.visible .entry second()
{
	.reg .b32 %r<9>;

	add.s32 %r4, %r1, 6;
	ret;
}
"""  # fmt: skip


def rule(write: Callable[[BodyPrinter, int], None]) -> SugarRule:
    """Return a rule that prints each `add` instruction by calling `write`."""

    def find(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
        for at in range(body.start, body.end):
            node = body.instruction(at)
            if node is not None and node.opcode[0] == "add":

                def printed(printer: BodyPrinter, _slots: tuple[Slot, ...], at: int = at) -> None:
                    printer.deviation(at)
                    write(printer, at)

                yield Rewrite("adds", at, at + 1, printed, opens=0)

    return SugarRule("adds", "…", "…", "…", find)


def rebuilt(text: str) -> str:
    """Execute printed Python with stand-ins for its imports; return the PTX of its module."""
    names: dict[str, object] = {**BY_NAME, "ptx": ptx, "reg": reg, "Style": Style, "__name__": "printed"}
    names["partial"] = partial
    names["pyptx"] = type("Facade", (), {"module": staticmethod(module)})
    lines = [line for line in text.splitlines() if not line.startswith(("import ", "from "))]
    exec("\n".join(lines), names)  # noqa: S102  under test
    builder = names["module"]
    assert isinstance(builder, ModuleBuilder)
    return builder.ptx()


def twice(printer: BodyPrinter, at: int) -> None:
    printer.instruction(printer.body.branch(at))
    printer.instruction(printer.body.branch(at))


def moved(printer: BodyPrinter, at: int) -> None:
    printer.page.line(r'ptx.formatted(leading="\n")')
    printer.instruction(printer.body.branch(at))


def broken(printer: BodyPrinter, at: int) -> None:
    raise LookupError(f"no way to print {at} on {printer}")


WRONG: dict[str, Callable[[BodyPrinter, int], None]] = {
    "another instruction": lambda printer, _: printer.page.line("ptx.inst.sub.s32(r[1], r[1], 1)"),
    "nothing": lambda printer, _: printer.page.line("pass"),
    "an instruction twice": twice,
    "raises": lambda printer, _: printer.page.line("1 / 0"),
    "an unknown name": lambda printer, _: printer.page.line("nothing()"),
    "cannot be printed": broken,
    "a syntax error": lambda printer, _: printer.page.line("add %r1 %r1"),
    "an unknown instruction": lambda printer, _: printer.page.line("ptx.inst.add.f16(r[1], r[1], 1)"),
    "other whitespace": moved,
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_everywhere_is_rejected_everywhere(fault: str) -> None:
    done = transpile(SOURCE, (*RULES[:-2], rule(WRONG[fault]), *RULES[-2:]))
    assert done.matched["adds"] == 4
    assert done.applied["adds"] == 0
    assert len(done.rejected) == 4
    assert {each.rule for each in done.rejected} == {"adds"}
    assert {each.function for each in done.rejected} == {"first", "second"}
    assert done.applied["if"] == 1
    assert rebuilt(done.text) == SOURCE


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_once_is_rejected_there_alone(fault: str) -> None:
    def write(printer: BodyPrinter, at: int) -> None:
        if "%r1, 3" in printer.body.items[at].canonical():
            WRONG[fault](printer, at)
        else:
            printer.instruction(printer.body.branch(at))

    done = transpile(SOURCE, (*RULES[:-2], rule(write), *RULES[-2:]))
    (site,) = done.rejected
    assert site.function == "first"
    assert site.statement == "add.s32 %r2, %r1, 3;"
    assert site.reason
    assert done.applied["adds"] == 3
    assert rebuilt(done.text) == SOURCE


def test_two_statements_in_the_wrong_order_are_seen() -> None:
    def find(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
        for at in range(body.start, body.end - 1):
            if body.instruction(at) is not None and body.instruction(at + 1) is not None:

                def exchanged(printer: BodyPrinter, _slots: tuple[Slot, ...], at: int = at) -> None:
                    printer.statement(at + 1)
                    printer.statement(at)

                yield Rewrite("exchange", at, at + 2, exchanged, opens=0)

    done = transpile(SOURCE, (SugarRule("exchange", "…", "…", "…", find),))
    assert done.applied["exchange"] == 0
    assert rebuilt(done.text) == SOURCE


def test_rules_are_chosen_by_name() -> None:
    looped = SOURCE.replace("$L__BB0_2:\n", "").replace("\tmov.b32 %r1, 1;", "$L__BB0_2:\n\tmov.b32 %r1, 1;")
    assert "ptx.loop(" in ptx_to_python(looped, sugar=True)
    assert "ptx.loop(" in ptx_to_python(looped, rules=["loop"])
    assert "ptx.loop(" not in ptx_to_python(looped, sugar=True, rules=["-loop"])
    assert "ptx.loop(" not in ptx_to_python(looped)
    with pytest.raises(RuleError, match="unknown rule 'lop'"):
        ptx_to_python(looped, rules=["lop"])


def test_a_fault_of_the_printer_itself_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyptx_transpile.printing import body_printer

    monkeypatch.setattr(body_printer, "opcode", lambda words: f"ptx.inst.{'.'.join(words[:-1])}.u32")
    with pytest.raises(ProofError, match="without any rule"):
        transpile(SOURCE)


def test_what_the_table_refuses_is_written_unchecked() -> None:
    source = SOURCE.replace("sm_90", "sm_2345").replace("add.s32 %r4", "add.s31 %r4")
    done = transpile(source, RULES)
    assert "unchecked=True" in done.text
    assert done.refused
    assert f"# Not checked against the instruction table, which rejects this: {done.refused}\n" in done.text
    assert rebuilt(done.text) == source
    assert "unchecked" not in transpile(SOURCE, RULES).text


def test_a_rule_that_cannot_look_is_named() -> None:
    def find(_body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
        raise LookupError("nothing here")

    with pytest.raises(RuleError, match="rule 'blind' raised LookupError: nothing here"):
        transpile(SOURCE, (SugarRule("blind", "…", "…", "…", find),))


def test_rules_that_were_replaced_still_are_rules() -> None:
    assert transpile(SOURCE, [replace(each) for each in RULES]).applied["if"] == 1
