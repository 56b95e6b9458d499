"""Benchmarks of the example kernels on a GPU: `python -m benchmarks.kernels [names] --out DIR`.

A kernel joins by a row, a `Case`, in the file of its subject in `cases/`.
"""
