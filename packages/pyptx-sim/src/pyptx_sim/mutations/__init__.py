"""Inject faults into PTX, such as a removed fence or a wrong parity, and test whether a trial detects the faults.

A trial is a function that runs and tests a module, like a test of the kernel. `mutants` yields every kernel that
differs from yours in one such change. `survey` runs each mutant through your trial, and reports whether the checks
found the fault, the results were wrong, or the mutant survived. A mutant that survives is a change without effect, or a
gap in the trial's data, its schedules, or the simulator's rules.
"""

from pyptx_sim.extension.mutation import Mutation
from pyptx_sim.extension.registry import mutations
from pyptx_sim.mutations.altered import Altered
from pyptx_sim.mutations.mutant import Mutant, mutants
from pyptx_sim.mutations.survey import Outcome, Verdict, survey

__all__ = ["Altered", "Mutant", "Mutation", "Outcome", "Verdict", "mutants", "mutations", "survey"]
