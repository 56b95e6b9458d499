"""Entry of `python -m pyptx`, the `pyptx` command; see `pyptx_ir.commands`."""

import sys

from pyptx_ir.commands import main

if __name__ == "__main__":
    sys.exit(main())
