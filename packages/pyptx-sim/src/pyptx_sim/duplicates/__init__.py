"""Proofs that a race is benign: value numbers of stored values, and uses of loaded values.

After a run with such a race, the launches run again under the same schedule, with the code of this package added.
"""
