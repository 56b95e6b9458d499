"""Proofs that a data race is benign: equal stored values, or loaded values that no thread uses.

After a run with such a race, the launches run again under the same schedule, with the instrumentation of this package.
"""
