"""Inject faults into PTX to test whether a trial detects them: a removed fence, a count off by one, a wrong parity.

`mutants` yields every kernel that differs from yours in one such change. `survey` runs each through your trial and
reports whether the checks found the fault, it gave wrong numbers, or it survived. A survivor is a change without
effect, or a gap in the trial's data, its schedules, or the simulator's rules.
"""

from pyptx_sim.extension import Mutation, mutations
from pyptx_sim.mutations.altered import Altered
from pyptx_sim.mutations.mutant import Mutant, mutants
from pyptx_sim.mutations.survey import Outcome, Verdict, survey

__all__ = ["Altered", "Mutant", "Mutation", "Outcome", "Verdict", "mutants", "mutations", "survey"]
