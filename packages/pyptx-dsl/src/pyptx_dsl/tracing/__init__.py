"""The recording of one kernel, and what becomes of it when the function returns."""
