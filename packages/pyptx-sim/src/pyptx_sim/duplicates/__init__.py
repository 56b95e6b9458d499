"""Proofs that a race is benign: value numbers of what lanes store, and whether any lane uses what a load returned.

A run that has found such a race runs again, under the same schedule, with what this package adds to its code.
"""
