"""Recording of one kernel, and its completion when the function returns."""
