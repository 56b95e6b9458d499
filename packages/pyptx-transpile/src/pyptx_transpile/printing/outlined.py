"""Helper functions of a printed file that emit statement sequences which occur several times in the module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.syntax import operands as tree
from pyptx_transpile.printing.body_printer import BodyPrinter
from pyptx_transpile.printing.layout import call
from pyptx_transpile.printing.values import literal
from pyptx_transpile.reading.names import Registers, Symbols

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyptx_transpile.planning.plan import Rewrite, RewritePlan
    from pyptx_transpile.printing.page import Page
    from pyptx_transpile.reading.names import Naming
    from pyptx_transpile.reading.rows import Body


@dataclass(frozen=True, slots=True)
class Parameter:
    """Parameter of a helper: name, annotation, and the registers of the helper's body that it replaces.

    `registers` maps a register to its index in a list parameter; None if the parameter is the register itself.
    """

    name: str
    annotation: str
    registers: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Argument:
    """Argument of a helper call: an operand, or `count` registers of a group, of which the operand is the first.

    `opcode` is the instruction's opcode, which sets the format of a number.
    """

    operand: tree.Operand
    opcode: tuple[str, ...] = ()
    count: int | None = None

    def written(self, printer: BodyPrinter) -> str:
        """Return the Python expression of this argument in a call of the helper."""
        if self.count is None:
            return printer.values.expression(self.operand, self.opcode)
        if not isinstance(self.operand, (tree.Register, tree.Symbol)):
            raise TypeError(f"{self.operand!r} is not a register")
        element = printer.registers.element(self.operand.name)
        if element is None:
            raise LookupError(f"{self.operand.name} is not in a register group")
        return f"{element[0]}[{element[1]}:{element[1] + self.count}]"

    def width(self) -> int:
        """Return the approximate number of columns of the argument's Python expression."""
        match self.operand:
            case tree.Immediate():
                return len(literal(self.operand, self.opcode))
            case tree.Register(name) | tree.Symbol(name):
                return len(name) + (1 if self.count is None else len(f"[{self.count}:]") + len(name))
            case _:
                return len("f[128:256]")


class _Bound(Registers):
    """Python names of a helper function's registers: its parameters, and the registers that it declares."""

    def __init__(self, parameters: Iterable[Parameter]) -> None:
        # A helper function has no table of module symbols: it contains their names as strings.
        super().__init__(Symbols(()), 0)
        self._bound: dict[str, tuple[str, int | None]] = {}
        for each in parameters:
            self.reserve(each.name)
            self._bound |= {register: (each.name, number) for register, number in each.registers.items()}

    def element(self, name: str) -> tuple[str, int] | None:
        variable, number = self._bound.get(name, ("", None))
        return (variable, number) if number is not None else super().element(name)

    def is_element(self, name: str) -> bool:
        return name not in self._bound and super().is_element(name)

    def find(self, name: str) -> str | None:
        bound = self._bound.get(name)
        if bound is None:
            return super().find(name)
        return bound[0] if bound[1] is None else f"{bound[0]}[{bound[1]}]"


@dataclass(frozen=True, slots=True, eq=False)
class Helper:
    """Python function that emits the statements of `body` according to a rewrite plan; `says` is its docstring.

    The function is kept only if it has at least `least` calls.
    """

    name: str
    parameters: tuple[Parameter, ...]
    says: str
    body: Body
    plan: RewritePlan
    least: int = 1

    def write(self, page: Page, naming: Naming) -> None:
        """Print the Python definition of the helper."""
        given = [f"{each.name}: {each.annotation}" for each in self.parameters]
        with page.block(call(f"def {self.name}", given), behind=" -> None"):
            page.line(f'"""{self.says}"""')
            BodyPrinter(self.body, self.plan, page, _Bound(self.parameters), naming).print()

    def write_call(self, printer: BodyPrinter, arguments: Iterable[Argument]) -> None:
        """Print a call of the helper with these arguments."""
        printer.page.say(call(self.name, [each.written(printer) for each in arguments]))


def called(plans: Mapping[int, RewritePlan]) -> dict[Helper, list[tuple[int, Rewrite]]]:
    """Return the helpers that bodies call, in order of first calls, each with (start of calling body, call) pairs."""
    found: dict[Helper, list[tuple[int, Rewrite]]] = {}
    for start, plan in plans.items():
        for rewrite in plan.rewrites() if plan.has_helpers else ():
            if rewrite.helper is not None:
                found.setdefault(rewrite.helper, []).append((start, rewrite))
    return found
