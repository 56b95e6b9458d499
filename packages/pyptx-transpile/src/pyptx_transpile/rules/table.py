"""The rules that come with this package, in the order in which they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_transpile.rules.branches import IF
from pyptx_transpile.rules.exits import BLOCK, EXIT
from pyptx_transpile.rules.expressions import EXPRESSION
from pyptx_transpile.rules.functions import FUNCTION
from pyptx_transpile.rules.loops import LOOP, WHILE
from pyptx_transpile.rules.mangled_names import NAMES
from pyptx_transpile.rules.repeats import REPEAT

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import SugarRule

RULES: tuple[SugarRule, ...] = (NAMES, WHILE, LOOP, IF, BLOCK, EXIT, REPEAT, FUNCTION, EXPRESSION)
