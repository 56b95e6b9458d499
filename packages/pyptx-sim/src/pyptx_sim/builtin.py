"""Built-in simulator extension: memory, control flow, barriers, copies, rules outside the pyptx-arch packages."""

from __future__ import annotations

from typing import Final

from pyptx_sim.extension.registry import VERSION, Extension
from pyptx_sim.instructions.compiling.rows import STEPS
from pyptx_sim.mutations.operators import MUTATIONS
from pyptx_sim.rules.table import RULES

EXTENSION: Final = Extension(version=VERSION, steps=STEPS, rules=RULES, mutations=MUTATIONS)
