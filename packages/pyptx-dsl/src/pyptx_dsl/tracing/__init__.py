"""Recording of the PTX that a kernel's Python function emits, and completion of the PTX when it returns."""
