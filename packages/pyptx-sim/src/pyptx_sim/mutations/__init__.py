"""Plant faults into PTX, to see whether anything notices: a fence left out, a count off by one, a parity the wrong way.

`mutants` yields every kernel that is one such change away from yours. `survey` runs them all through a trial of yours
and says of each whether it was found, gave wrong numbers, or survived. A survivor is a change that makes no difference,
or a hole in what watches: the trial's data, its schedules, or a rule of the simulator.
"""

from pyptx_sim.extension import Mutation, mutations
from pyptx_sim.mutations.altered import Altered
from pyptx_sim.mutations.mutant import Mutant, mutants
from pyptx_sim.mutations.survey import Outcome, Verdict, survey

__all__ = ["Altered", "Mutant", "Mutation", "Outcome", "Verdict", "mutants", "mutations", "survey"]
