"""Benchmarks of the example kernels on a GPU: `python -m benchmarks.kernels [names] --out DIR`.

To add a kernel, add a `Case` to the file of its subject in `cases/`.
"""
