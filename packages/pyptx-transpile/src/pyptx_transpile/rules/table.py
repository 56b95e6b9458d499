"""Rewrite rules of pyptx-transpile, in order of application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_transpile.rules.branches import IF
from pyptx_transpile.rules.chains import ELIF
from pyptx_transpile.rules.conditions import CONDITION
from pyptx_transpile.rules.exits import BLOCK, EXIT
from pyptx_transpile.rules.expressions import EXPRESSION
from pyptx_transpile.rules.forms import FORM
from pyptx_transpile.rules.fragments import FRAGMENT
from pyptx_transpile.rules.functions import FUNCTION
from pyptx_transpile.rules.label_names import LABEL
from pyptx_transpile.rules.loops import LOOP, WHILE
from pyptx_transpile.rules.mangled_names import NAMES
from pyptx_transpile.rules.nested_calls import NESTED
from pyptx_transpile.rules.parameters import PARAMETER
from pyptx_transpile.rules.predicated import PREDICATED
from pyptx_transpile.rules.ranges import RANGE
from pyptx_transpile.rules.register_names import REGISTER
from pyptx_transpile.rules.repeats import REPEAT
from pyptx_transpile.rules.shared_addresses import PLACE
from pyptx_transpile.rules.special_registers import SPECIAL
from pyptx_transpile.rules.waits import WAIT

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import SugarRule

RULES: tuple[SugarRule, ...] = (
    *(NAMES, SPECIAL, FORM, LABEL, WAIT, WHILE, RANGE, LOOP, ELIF, IF, BLOCK, EXIT, CONDITION),
    *(PARAMETER, REPEAT, FUNCTION, FRAGMENT, REGISTER, PREDICATED, EXPRESSION, NESTED, PLACE),
)
