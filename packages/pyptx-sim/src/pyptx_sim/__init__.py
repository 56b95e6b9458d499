"""Run PTX on a CPU, and find its races, deadlocks and stray accesses."""
