"""Built-in simulator extension: memory, control flow, barriers, copies, rules outside the pyptx-arch packages."""

from __future__ import annotations

from typing import Final

from pyptx_sim.checks.rules import RULES
from pyptx_sim.extension import VERSION, Extension
from pyptx_sim.instructions.compiling.rows import STEPS
from pyptx_sim.mutations.operators import MUTATIONS

EXTENSION: Final = Extension(version=VERSION, steps=STEPS, rules=RULES, mutations=MUTATIONS)
