"""Bank conflicts of a warp's accesses to shared memory."""

from pyptx_ir.banks.conflicts import BankConflicts, bank_conflicts
from pyptx_ir.banks.dimensions import BANKS, WORD

__all__ = ["BANKS", "WORD", "BankConflicts", "bank_conflicts"]
