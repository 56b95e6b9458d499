"""The machine: lanes, registers, memory, splits and barriers, independent of the semantics of instructions."""
