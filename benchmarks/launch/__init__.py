"""Benchmark of the host time of a kernel call: `python -m benchmarks.launch`."""
