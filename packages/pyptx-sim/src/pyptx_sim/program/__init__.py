"""From a module to a program: names resolved, variables placed, instructions in basic blocks. Nothing is executed."""
