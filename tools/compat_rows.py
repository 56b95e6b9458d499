"""The interpreters, and releases of torch and jax, that `nox -s compat` tests.

tests/test_bounds.py checks these rows against the bounds of torch and jax and the classifiers in
packages/*/pyproject.toml.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Row:
    """A Python interpreter, and the torch and jax releases that are tested on it."""

    python: str
    torch: str
    jax: str

    def __str__(self) -> str:
        """Return the name of the environment for these releases."""
        return f"python-{self.python}-torch-{self.torch}-jax-{self.jax}".replace(".*", "")

    @property
    def frameworks(self) -> tuple[str, str]:
        """Requirements that install these releases of torch and jax."""
        return (f"torch=={self.torch}", f"jax=={self.jax}")


ROWS: Final = (
    Row("3.11", "2.11.0", "0.10.0"),
    Row("3.11", "2.13.0", "0.10.*"),
    Row("3.12", "2.14.*", "0.12.*"),
    Row("3.13", "2.15.*", "0.11.*"),
)
