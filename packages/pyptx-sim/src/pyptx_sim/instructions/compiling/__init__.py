"""Compilation of instructions to steps of the machine."""
