"""Forms of instructions: the rows, opcodes and operands of a call, and the call that emits an instruction."""
