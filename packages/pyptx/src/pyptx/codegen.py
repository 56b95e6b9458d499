"""Transpile PTX to Python that emits the same bytes.

python -m pyptx.codegen kernel.ptx --sugar --name my_kernel > my_kernel.py
"""

from pyptx_transpile import Transpiled, ptx_to_python, transpile

__all__ = ["Transpiled", "ptx_to_python", "transpile"]

if __name__ == "__main__":
    import sys

    from pyptx_transpile.command import main

    sys.exit(main())
