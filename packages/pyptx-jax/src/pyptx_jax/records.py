"""Records of custom calls: the specialization as text, which any process can parse.

This process also stores data that the text omits: the Python lines of the instructions, and the line of the call.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final, cast

from pyptx_bundles import BundleError, record, restore
from pyptx_jax.numbers import check_operands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Specialization
    from pyptx_jax.numbers import Operand


_OPERANDS: Final = "operands"


class Record(str):
    """Record of a custom call: a specialization as text. Its repr is short, because jaxprs print attributes."""

    __slots__ = ("entry",)

    entry: str

    def __repr__(self) -> str:
        """Return the kernel's name and a digest of the record, PTX included."""
        return f"<{self.entry} {sha256(self.encode()).hexdigest()[:12]}>"


@dataclass(frozen=True, slots=True)
class Origin:
    """A specialization, the user's line of its latest call (None in another process), and its scalar operands."""

    special: Specialization
    place: tuple[str, int] | None = None
    operands: tuple[Operand, ...] = ()


class Records:
    """Writes and reads custom-call records; keeps the source lines of this process's recent records."""

    def __init__(self, size: int) -> None:
        """Create an empty store that maps up to `size` recent records to their specializations."""
        self._size = size
        self._known: OrderedDict[str, Origin] = OrderedDict()
        self._lock = threading.Lock()

    def write(self, special: Specialization, place: tuple[str, int] | None, operands: Sequence[Operand] = ()) -> Record:
        """Return a specialization's record. `place`: file and line of the call; `operands`: scalars without a value."""
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
        """Return the specialization of a record; raise BundleError for a damaged record."""
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
        raise BundleError(f"the record of a kernel is not JSON: {error}", help="export the program again") from None


RECORDS: Final = Records(256)
"""Records of this process. XLA returns a record as text only, so the call's source lines are stored here."""
