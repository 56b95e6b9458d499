"""Bank conflicts of a warp's accesses to shared memory."""

from pyptx_ir.banks.conflicts import BANKS, WORD, BankConflicts, bank_conflicts

__all__ = ["BANKS", "WORD", "BankConflicts", "bank_conflicts"]
