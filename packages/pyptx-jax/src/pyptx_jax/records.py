"""What a custom call carries of its kernel: the specialisation as text, which any process can read back.

Beside the text, this process remembers what the text leaves out: the lines of Python that an instruction came from, and
the line of the call.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final, cast

from pyptx_dsl.bundles import BundleError, record, restore
from pyptx_jax.numbers import check_operands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Specialization
    from pyptx_jax.numbers import Operand


_OPERANDS: Final = "operands"


class Record(str):
    """The text of a specialisation; shown by the kernel's name, because jaxprs print what their calls carry."""

    __slots__ = ("entry",)

    entry: str

    def __repr__(self) -> str:
        """Return the kernel's name and a digest of the text, PTX included."""
        return f"<{self.entry} {sha256(self.encode()).hexdigest()[:12]}>"


@dataclass(frozen=True, slots=True)
class Origin:
    """A specialization, the user's line that last called for it (None if it came from elsewhere), and its operands."""

    special: Specialization
    place: tuple[str, int] | None = None
    operands: tuple[Operand, ...] = ()


class Records:
    """Writes records, and reads them; those that this process wrote lately come back with their lines."""

    def __init__(self, size: int) -> None:
        """Remember up to `size` specialisations."""
        self._size = size
        self._known: OrderedDict[str, Origin] = OrderedDict()
        self._lock = threading.Lock()

    def write(self, special: Specialization, place: tuple[str, int] | None, operands: Sequence[Operand] = ()) -> Record:
        """Return the record of a specialization; `place` is where it is called, `operands` are its open scalars."""
        named = {_OPERANDS: {each.name: each.dtype for each in operands}} if operands else {}
        text = Record(json.dumps({**record(special), **named}, separators=(",", ":")))
        text.entry = special.entry
        with self._lock:
            self._known[text] = Origin(special, place, tuple(operands))
            self._known.move_to_end(text)
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        return text

    def read(self, text: str) -> Origin:
        """Return the specialisation of a record; raise BundleError for one that is damaged."""
        known = self._known.get(text)
        if known is not None:
            return known
        data = _parsed(text)
        plain = _take_operands(data)
        special = restore(data)
        return Origin(special, operands=check_operands(special, plain))


def _take_operands(data: object) -> object:
    return cast("dict[str, object]", data).pop(_OPERANDS, None) if isinstance(data, dict) else None


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"the record of a kernel is no JSON: {error}", hint="export the program again") from None


RECORDS: Final = Records(256)
"""The records of this process. XLA hands them back as text, so they cannot be passed along any other way."""
