"""Execution context of one instruction, for the instructions that an extension implements.

An extension's code never accesses the machine's arrays. It reads and writes operands under the mask of the executing
lanes, and calls methods of an `ExecutionContext` for everything else. The modules group these methods by subject.
"""
