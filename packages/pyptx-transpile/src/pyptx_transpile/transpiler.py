"""Transpile PTX text to Python: print, execute, and reject rewrites until the emitted text matches the source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pyptx_ir.collector import collector_paused
from pyptx_ir.errors import PyptxError
from pyptx_ir.renamed import former_attribute
from pyptx_ir.syntax.parser import parse
from pyptx_ir.syntax.style import style_and_items
from pyptx_transpile.errors import ProofError, RuleError
from pyptx_transpile.module_plan import ModulePlan
from pyptx_transpile.planning.plan import FaultyRewriteError
from pyptx_transpile.printing.module_printer import ModulePrinter
from pyptx_transpile.progress import Progress
from pyptx_transpile.proof.refusals import has_unknown, one_line, refusals
from pyptx_transpile.proof.verification import Proof
from pyptx_transpile.reading.names import Naming
from pyptx_transpile.reading.rows import Row
from pyptx_transpile.rules.forms import FORM
from pyptx_transpile.rules.label_names import LABEL
from pyptx_transpile.rules.mangled_names import NAMES
from pyptx_transpile.rules.special_registers import SPECIAL

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence

    from pyptx_ir.plugins.rows import SugarRule
    from pyptx_ir.syntax.nodes import Module
    from pyptx_ir.terminal.progress import ProgressCallback
    from pyptx_transpile.planning.plan import Rewrite
    from pyptx_transpile.printing.module_printer import Printed
    from pyptx_transpile.proof.verification import Faults

# Maximum rewrites of a module that may raise an exception while they are printed; more end the transpilation.
_MOST_RAISING = 1_000
_ROUNDS = 10  # number of attempts after which a function body with errors is printed without any rules


@dataclass(frozen=True, slots=True)
class RejectedRewrite:
    """A rejected rewrite: PTX function, first instruction and its index in `Row.items`, and the reason."""

    rule: str
    function: str
    statement: str
    place: int
    reason: str


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A statement printed with `unchecked=True`: PTX function, text, index in `Row.items`, and the reason."""

    function: str
    statement: str
    place: int
    reason: str


@dataclass(frozen=True, slots=True)
class Transpiled:
    """Python text for a module, with statistics of the rewrite rules.

    - `matched`: number of matches per rule; `applied`: number of rewrites in the text.
    - `rejected`: rewrites that failed verification; `dropped`: helper calls removed because the helper had too few
    calls left.
    - `unchecked`: statements that the checks reject, and instructions that are not in the instruction table.
    - `refused`: reason if the whole module is unchecked.
    """

    text: str
    matched: Counter[str]
    applied: Counter[str]
    rejected: tuple[RejectedRewrite, ...]
    dropped: tuple[RejectedRewrite, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    refused: str = ""

    if not TYPE_CHECKING:
        __getattr__ = former_attribute


class Transpiler:
    """Transpiler of one module: prints Python, executes it and rejects faulty rewrites."""

    def __init__(
        self,
        module: Module,
        rules: Iterable[SugarRule],
        *,
        kernel_name: str | None = None,
        unchecked: bool | str = False,
        refusing: bool = False,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Prepare a parsed module and the rules to apply; a string in `unchecked` is the reason to disable all checks.

        With `refusing`, the checks have rejected a statement: all such statements are emitted unchecked.
        """
        self._progress = Progress(on_progress)
        self._style, row = style_and_items(module)
        self._row = Row(module, row)
        if refusing or (not unchecked and has_unknown(self._row)):
            self._row.refused = refusals(self._row)
        rules = tuple(rules)
        self._printer = ModulePrinter(
            self._row,
            self._style,
            self._row.items[-1].leading_trivia,
            kernel_name=kernel_name,
            unchecked=unchecked,
            naming=Naming(demangled=NAMES in rules, special=SPECIAL in rules, numbered=LABEL in rules),
            forms=FORM in rules,
        )
        self._progress.begin(self._row.bodies())
        self._plan = ModulePlan(self._row, rules, self._printer.names(), self._progress)
        self._matched = self._plan.rewrites()
        self._rejected: list[RejectedRewrite] = []
        self._numbered = True

    def run(self, *, verify: bool = True) -> Transpiled:
        """Return the Python text; with `verify`, execute it and compare its module. Raise ProofError on a mismatch."""
        printed = self.printed()
        proof = Proof(self._row, self._style, self._progress)
        rounds = 0
        while verify and (self._reject(self.proved(proof, printed), entirely=rounds >= _ROUNDS)):
            rounds += 1
            printed = self.printed()
        if verify and not self._numbered:
            printed = self.printed()
        self._progress.finish()
        dropped = tuple([self._site(rewrite, "too few calls remain") for rewrite in self._plan.dropped])
        items = self._row.items
        unchecked = tuple(
            [Unchecked(items[at].function, items[at].canonical(), at, why) for at, why in self._row.refused.items()]
        )
        return Transpiled(
            printed.text(), self._matched, self._plan.rewrites(), tuple(self._rejected), dropped, unchecked
        )

    def proved(self, proof: Proof, printed: Printed) -> Faults:
        """Return the rewrites that are faulty in one verification of the printed file.

        An extra branch changes the names of later unnamed labels, so that correct rewrites appear faulty. So a faulty
        file is executed again with all labels named: then each rewrite is right or wrong by itself. If all rewrites are
        right, labels keep their names.
        """
        try:
            faults = proof.faults(printed)
        except ProofError:
            if not printed.numbered:
                raise
        else:
            if not faults or not printed.numbered:
                return faults
        self._numbered = False
        named = proof.faults(self.printed())
        self._numbered = bool(named)
        return named

    def printed(self) -> Printed:
        """Return the printed file for the current rewrite plans."""
        for _ in range(_MOST_RAISING):
            try:
                return self._printer.printed(self._plan.plans, self._progress, numbered=self._numbered)
            except FaultyRewriteError as fault:
                self._reject({fault.body.start: {fault.rewrite: str(fault)}}, entirely=False)
        raise RuleError(
            f"{_MOST_RAISING} rewrites raised errors while they were printed", help="disable the rule of these rewrites"
        )

    def _reject(self, faults: Faults, *, entirely: bool) -> bool:
        """Plan faulty bodies again: without faulty rewrites, or without rewrites. Return whether a body was faulty."""
        guilty = self._plan.withdraw(faults, entirely=entirely)
        for wrong in guilty.values():
            self._rejected += [self._site(rewrite, reason) for rewrite, reason in wrong.items()]
        return bool(faults or guilty)

    def _site(self, rewrite: Rewrite, reason: str) -> RejectedRewrite:
        item = self._row.items[rewrite.start]
        return RejectedRewrite(rewrite.rule, item.function, item.canonical(), rewrite.start, reason)


def transpile(
    source: str,
    rules: Iterable[SugarRule] = (),
    *,
    name: str = "<string>",
    kernel_name: str | None = None,
    verify: bool = True,
    unchecked: bool = False,
    on_progress: ProgressCallback | None = None,
) -> Transpiled:
    """Return the Python for a PTX module's text, with statistics of the rewrite rules.

    `name` is the text's name in messages, `kernel_name` the Python name of its first kernel. Unless `verify` is false,
    the Python is executed and must emit the text again. Statements that the DSL's checks reject, and unknown
    instructions, are emitted unchecked. The whole module is unchecked if the checks reject its head, or if `unchecked`
    is true. `on_progress` gets the number of steps done and the total. Raise PtxSyntaxError for invalid PTX, ProofError
    for a module that cannot be emitted.
    """
    rules = tuple(rules)
    with collector_paused():
        module = parse(source, name)
        made = partial(Transpiler, module, rules, kernel_name=kernel_name, on_progress=on_progress)
        if unchecked:
            return made(unchecked=True).run(verify=verify)
        said = ""
        for refusing in (False, True):
            try:
                return made(refusing=refusing).run(verify=verify)
            except ProofError as error:
                refusal = error.__cause__
                if not isinstance(refusal, PyptxError):
                    raise
                said = one_line(refusal.message)
        return replace(made(unchecked=said).run(verify=verify), refused=said)


def ptx_to_python(
    source: str,
    *,
    sugar: bool = False,
    kernel_name: str | None = None,
    rules: Sequence[str] | None = None,
    verify: bool = True,
    unchecked: bool = False,
) -> str:
    """Return Python that emits the text `source` again, byte for byte, when it is executed.

    With `sugar`, every rule is used. `rules` lists the names of the rules to use, or, with the prefix `-`, of the rules
    to leave out. Other arguments are as in `transpile`. Raise RuleError for an unknown rule.
    """
    used = chosen(rules, sugar=sugar)
    return transpile(source, used, kernel_name=kernel_name, verify=verify, unchecked=unchecked).text


def chosen(names: Sequence[str] | None, *, sugar: bool) -> tuple[SugarRule, ...]:
    """Return the rules with these names, in application order; if `names` is None, all rules with `sugar`, else none.

    Raise RuleError for an unknown name.
    """
    from pyptx_ir.plugins.manager import manager

    if names is None and not sugar:
        return ()
    known = {rule.name: rule for rule in manager().sugar_rules()}
    without = {name[1:] for name in names or () if name.startswith("-")}
    wanted = {name for name in names or () if not name.startswith("-")} or known.keys()
    for name in (*wanted, *without):
        if name not in known:
            raise RuleError(f"unknown rule {name!r}", help=f"rules: {', '.join(known)}")
    return tuple(rule for name, rule in known.items() if name in wanted and name not in without)
