"""Names of kernels in files, as inputs of commands."""

from __future__ import annotations

import re
from typing import Final

KERNEL_OF_FILE: Final = re.compile(r"(?P<file>.+\.py)(?::(?P<kernel>\w*))?(?::(?P<sizes>.*))?$", re.DOTALL)
"""`FILE.py`, `FILE.py:KERNEL` or `FILE.py:KERNEL:B=16,N=512`."""
