"""Contract of a kernel: its array specs, its entry parameters, and its launch dimensions and attributes."""
