"""The functions of `ptx`: instructions by group, forms of instructions, and statements other than instructions."""
