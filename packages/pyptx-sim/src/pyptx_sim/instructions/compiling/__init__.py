"""Compilation of PTX instructions to steps: Python closures that execute one instruction on the simulated machine."""
