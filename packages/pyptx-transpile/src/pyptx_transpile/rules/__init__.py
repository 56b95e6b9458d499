"""The rules that come with this package, in the order in which they are asked."""

from pyptx_transpile.plan import Rule
from pyptx_transpile.rules.branches import IF
from pyptx_transpile.rules.exits import BLOCK, EXIT
from pyptx_transpile.rules.loops import LOOP, WHILE

RULES: tuple[Rule, ...] = (WHILE, LOOP, IF, BLOCK, EXIT)
