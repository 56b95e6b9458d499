"""Host time of a call: `python -m benchmarks.launch`."""
