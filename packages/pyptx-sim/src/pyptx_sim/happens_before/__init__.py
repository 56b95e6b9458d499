"""The happens-before order of the PTX manual's "Memory Consistency Model", by vector clocks; README.md explains it."""
