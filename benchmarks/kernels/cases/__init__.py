"""Cases of the kernel benchmarks: a file per subject, each with its `CASES`."""
