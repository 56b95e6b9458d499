"""From the text of a module to Python that writes the same text: printed, run, and mended until it is right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pyptx_ir.collector import collector_paused
from pyptx_ir.errors import PyptxError
from pyptx_ir.syntax.parser import parse
from pyptx_ir.syntax.style import learnt
from pyptx_transpile.errors import ProofError, RuleError
from pyptx_transpile.module_plan import ModulePlan
from pyptx_transpile.module_printer import ModulePrinter
from pyptx_transpile.names import Naming
from pyptx_transpile.plan import FaultyClaimError
from pyptx_transpile.progress import Progress
from pyptx_transpile.proof import Proof
from pyptx_transpile.refusals import has_unknown, one_line, refusals
from pyptx_transpile.rows import Row
from pyptx_transpile.rules.forms import FORM
from pyptx_transpile.rules.label_names import LABEL
from pyptx_transpile.rules.mangled_names import NAMES
from pyptx_transpile.rules.special_registers import SPECIAL

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence

    from pyptx_ir.plugins.rows import SugarRule
    from pyptx_ir.syntax.nodes import Module
    from pyptx_transpile.module_printer import Printed
    from pyptx_transpile.plan import Claim
    from pyptx_transpile.progress import Told
    from pyptx_transpile.proof import Faults

_MOST_RAISING = 1_000  # claims of a module that raise while they are printed
_ROUNDS = 10  # after so many, a body whose rules still fail is printed without any


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A site that a rule was withdrawn from: the function, the first instruction and its place, and why."""

    rule: str
    function: str
    statement: str
    place: int
    reason: str


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A statement that is written unchecked: its function, its text and its place, and why."""

    function: str
    statement: str
    place: int
    reason: str


@dataclass(frozen=True, slots=True)
class Transpiled:
    """Python for a module, and what its rules did.

    `met` counts the sites that a rule found, `applied` those that the text has; `withdrawn` are those that were wrong,
    `dropped` those whose function has too few calls left without them. `unchecked` are the statements that the checks
    refuse, and the instructions that are not in the table. `refused` is why a whole module is written unchecked.
    """

    text: str
    met: Counter[str]
    applied: Counter[str]
    withdrawn: tuple[Withdrawn, ...]
    dropped: tuple[Withdrawn, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    refused: str = ""


class Transpiler:
    """Prints one module, and proves what it prints."""

    def __init__(
        self,
        module: Module,
        rules: Iterable[SugarRule],
        *,
        kernel_name: str | None = None,
        unchecked: bool | str = False,
        refusing: bool = False,
        told: Told | None = None,
    ) -> None:
        """Prepare to print a module that was parsed, by some rules; `unchecked` may be the reason why it is that.

        With `refusing`, the checks have refused a statement of it: all such statements are written unchecked.
        """
        self._progress = Progress(told)
        self._style, row = learnt(module)
        self._row = Row(module, row)
        if refusing or (not unchecked and has_unknown(self._row)):
            self._row.refused = refusals(self._row)
        rules = tuple(rules)
        self._printer = ModulePrinter(
            self._row,
            self._style,
            self._row.items[-1].lead,
            kernel_name=kernel_name,
            unchecked=unchecked,
            naming=Naming(demangled=NAMES in rules, special=SPECIAL in rules, numbered=LABEL in rules),
            forms=FORM in rules,
        )
        self._progress.begin(self._row.bodies())
        self._plan = ModulePlan(self._row, rules, self._printer.names(), self._progress)
        self._met = self._plan.claims()
        self._withdrawn: list[Withdrawn] = []
        self._numbered = True

    def run(self, *, verify: bool = True) -> Transpiled:
        """Return the Python; unless `verify` is false, it was run, and emits the module. Raise ProofError if not."""
        printed = self.printed()
        proof = Proof(self._row, self._style, self._progress)
        rounds = 0
        while verify and (self._withdraw(self.proved(proof, printed), entirely=rounds >= _ROUNDS)):
            rounds += 1
            printed = self.printed()
        if verify and not self._numbered:
            printed = self.printed()
        self._progress.finish()
        dropped = tuple([self._site(claim, "too few calls are left") for claim in self._plan.dropped])
        items = self._row.items
        unchecked = tuple(
            [Unchecked(items[at].function, items[at].canonical(), at, why) for at, why in self._row.refused.items()]
        )
        return Transpiled(printed.text(), self._met, self._plan.claims(), tuple(self._withdrawn), dropped, unchecked)

    def proved(self, proof: Proof, printed: Printed) -> Faults:
        """Return the claims that are wrong in one round of the proof.

        One too many branch gives other names to labels that have none, and other claims look wrong. So a file that is
        wrong is run with all names: then each claim is right or wrong by itself. If all are right, labels keep names.
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
        """Return the file as it is planned now."""
        for _ in range(_MOST_RAISING):
            try:
                return self._printer.printed(self._plan.plans, self._progress, numbered=self._numbered)
            except FaultyClaimError as fault:
                self._withdraw({fault.body.start: {fault.claim: str(fault)}}, entirely=False)
        raise RuleError(f"{_MOST_RAISING} claims raised while they were printed", hint="leave that rule out")

    def _withdraw(self, faults: Faults, *, entirely: bool) -> bool:
        """Plan the bodies at fault again without the claims that were wrong, or without any rule; tell of a change."""
        guilty = self._plan.withdraw(faults, entirely=entirely)
        for wrong in guilty.values():
            self._withdrawn += [self._site(claim, reason) for claim, reason in wrong.items()]
        return bool(faults or guilty)

    def _site(self, claim: Claim, reason: str) -> Withdrawn:
        item = self._row.items[claim.start]
        return Withdrawn(claim.rule, item.function, item.canonical(), claim.start, reason)


def transpile(
    source: str,
    rules: Iterable[SugarRule] = (),
    *,
    name: str = "<string>",
    kernel_name: str | None = None,
    verify: bool = True,
    unchecked: bool = False,
    told: Told | None = None,
) -> Transpiled:
    """Return Python for the text of a module, and what the rules did.

    `name` is what the text is called in messages, `kernel_name` what its first kernel is called in Python. Unless
    `verify` is false, the Python was run and emits the text again. Statements that the instruction table refuses, or
    does not know, are written unchecked, a module whose head is refused as a whole, and any module with `unchecked`.
    `told` hears how many of how many steps are done.

    Raise PtxSyntaxError for what is no PTX, ProofError for what cannot be written at all.
    """
    rules = tuple(rules)
    with collector_paused():
        module = parse(source, name)
        made = partial(Transpiler, module, rules, kernel_name=kernel_name, told=told)
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
    """Return Python that, when it is run, writes the text `source` again, byte for byte.

    With `sugar`, every rule is used; `rules` names those to use, or with a `-` in front those to leave out. The rest
    is as in `transpile`. Raise RuleError for a rule that there is not.
    """
    used = chosen(rules, sugar=sugar)
    return transpile(source, used, kernel_name=kernel_name, verify=verify, unchecked=unchecked).text


def chosen(names: Sequence[str] | None, *, sugar: bool) -> tuple[SugarRule, ...]:
    """Return the rules of these names, in their order; without names, all of them with `sugar` and none without.

    Raise RuleError for a name that there is not.
    """
    from pyptx_ir.plugins.manager import manager

    if names is None and not sugar:
        return ()
    known = {rule.name: rule for rule in manager().sugar_rules()}
    without = {name[1:] for name in names or () if name.startswith("-")}
    wanted = {name for name in names or () if not name.startswith("-")} or known.keys()
    for name in (*wanted, *without):
        if name not in known:
            raise RuleError(f"no rule is called {name!r}", hint=f"there are {', '.join(known)}")
    return tuple(rule for name, rule in known.items() if name in wanted and name not in without)
